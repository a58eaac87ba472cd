// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// There is no literal for null: with one, `isPresent ? value : nil` would silently become null.

extension Value: ExpressibleByBooleanLiteral {
    /// Creates a ``bool(_:)`` value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension Value: ExpressibleByIntegerLiteral {
    /// Creates an ``integer(_:)`` value. Write literals above `Int64.max` as ``unsigned(_:)``.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value: ExpressibleByFloatLiteral {
    /// Creates a ``double(_:)`` value.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension Value: ExpressibleByStringInterpolation {
    /// Creates a ``string(_:)`` value.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension Value: ExpressibleByArrayLiteral {
    /// Creates an ``array(_:)`` value.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
}

extension Value: ExpressibleByDictionaryLiteral {
    /// Creates a ``dictionary(_:)`` value. If a key occurs twice, the last value is kept.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .dictionary(ValueSet(elements))
    }
}
