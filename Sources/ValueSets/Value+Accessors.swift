// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

// Each accessor is `nil` if the value is of another type. Numbers convert between integer and double if the conversion
// is exact, because a sender in another language may not distinguish 5 from 5.0.
extension Value {
    /// Whether this value is ``null``.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean, or `nil` if this value is of another type.
    public var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// The number as an `Int`, or `nil` if this value is not a number or the conversion would not be exact.
    public var int: Int? {
        switch self {
        case .integer(let integer): Int(exactly: integer)
        case .unsigned(let unsigned): Int(exactly: unsigned)
        case .double(let double): Int(exactly: double)
        default: nil
        }
    }

    /// The number as an `Int64`, or `nil` if this value is not a number or the conversion would not be exact.
    public var int64: Int64? {
        switch self {
        case .integer(let integer): integer
        case .unsigned(let unsigned): Int64(exactly: unsigned)
        case .double(let double): Int64(exactly: double)
        default: nil
        }
    }

    /// The number as a `UInt64`, or `nil` if this value is not a number or the conversion would not be exact.
    public var uint64: UInt64? {
        switch self {
        case .integer(let integer): UInt64(exactly: integer)
        case .unsigned(let unsigned): unsigned
        case .double(let double): UInt64(exactly: double)
        default: nil
        }
    }

    /// The integer as a `UInt64`, or `nil` if it is negative or of another type, also for a whole double.
    ///
    /// For fields that permit one type only.
    package var unsignedInteger: UInt64? {
        switch self {
        case .integer(let integer): UInt64(exactly: integer)
        case .unsigned(let unsigned): unsigned
        default: nil
        }
    }

    /// The number as a `Double`, or `nil` if this value is not a number or the conversion would not be exact.
    public var double: Double? {
        switch self {
        case .integer(let integer): Double(exactly: integer)
        case .unsigned(let unsigned): Double(exactly: unsigned)
        case .double(let double): double
        default: nil
        }
    }

    /// The text, or `nil` if this value is of another type.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The bytes, or `nil` if this value is of another type.
    public var data: Data? {
        if case .data(let data) = self { data } else { nil }
    }

    /// The point in time, or `nil` if this value is of another type. ``date(secondsSince1970:)`` describes the
    /// rounding.
    public var date: Date? {
        if case .date(let seconds) = self { Date(timeIntervalSince1970: seconds) } else { nil }
    }

    /// The identifier, or `nil` if this value is of another type.
    public var uuid: UUID? {
        if case .uuid(let uuid) = self { uuid } else { nil }
    }

    /// The URL, or `nil` if this value is of another type.
    public var url: URL? {
        if case .url(let url) = self { url } else { nil }
    }

    /// The elements of an array in order, or `nil` if this value is of another type.
    public var array: [Value]? {
        if case .array(let array) = self { array } else { nil }
    }

    /// The elements of a set, or `nil` if this value is of another type.
    public var set: Set<Value>? {
        if case .set(let set) = self { set } else { nil }
    }

    /// The nested dictionary, or `nil` if this value is of another type.
    public var dictionary: ValueSet? {
        if case .dictionary(let dictionary) = self { dictionary } else { nil }
    }

    /// The value for a key of a nested dictionary, or `nil` if this value is not a dictionary or has no such key.
    public subscript(key: String) -> Value? {
        dictionary?[key]
    }

    /// The element of an array at an index counted from 0, or `nil` if this value is not an array or has no such
    /// element.
    public subscript(index: Int) -> Value? {
        guard case .array(let array) = self, array.indices.contains(index) else { return nil }
        return array[index]
    }
}
