// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// There is no literal for null: with one, `isPresent ? value : nil` would silently become null.

extension Value: ExpressibleByBooleanLiteral {
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension Value: ExpressibleByIntegerLiteral {
    /// Creates an integer. Write literals above `Int64.max` as ``unsigned(_:)``.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value: ExpressibleByFloatLiteral {
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension Value: ExpressibleByStringInterpolation {
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension Value: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
}

extension Value: ExpressibleByDictionaryLiteral {
    /// Creates a nested dictionary. If a key occurs twice, the last value is kept.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .dictionary(ValueSet(elements))
    }
}
