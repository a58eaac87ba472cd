// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// There is no literal for null: with one, `isThere ? value : nil` would quietly be null where nothing was meant.

extension Value: ExpressibleByBooleanLiteral {
    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension Value: ExpressibleByIntegerLiteral {
    /// An integer. Write literals above `Int64.max` as ``unsigned(_:)``.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value: ExpressibleByFloatLiteral {
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension Value: ExpressibleByStringInterpolation {
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension Value: ExpressibleByArrayLiteral {
    /// Values in order.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
}

extension Value: ExpressibleByDictionaryLiteral {
    /// A nested dictionary; if a key is written twice, the last wins.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .dictionary(ValueSet(elements))
    }
}
