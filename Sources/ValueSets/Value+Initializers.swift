// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension Value {
    /// Creates a boolean.
    public init(_ bool: Bool) { self = .bool(bool) }

    /// Creates an integer.
    public init(_ integer: Int) { self = .integer(Int64(integer)) }

    /// Creates an integer.
    public init(_ integer: Int64) { self = .integer(integer) }

    /// Creates an integer.
    public init(_ integer: Int32) { self = .integer(Int64(integer)) }

    /// Creates an integer.
    public init(_ integer: Int16) { self = .integer(Int64(integer)) }

    /// Creates an integer.
    public init(_ integer: Int8) { self = .integer(Int64(integer)) }

    /// Creates an integer: ``integer(_:)`` up to `Int64.max`, ``unsigned(_:)`` above.
    public init(_ integer: UInt) { self.init(UInt64(integer)) }

    /// Creates an integer: ``integer(_:)`` up to `Int64.max`, ``unsigned(_:)`` above.
    public init(_ integer: UInt64) {
        if let signed = Int64(exactly: integer) { self = .integer(signed) } else { self = .unsigned(integer) }
    }

    /// Creates an integer.
    public init(_ integer: UInt32) { self = .integer(Int64(integer)) }

    /// Creates an integer.
    public init(_ integer: UInt16) { self = .integer(Int64(integer)) }

    /// Creates an integer.
    public init(_ integer: UInt8) { self = .integer(Int64(integer)) }

    /// Creates an integer from any integer type; `nil` if it is below `Int64.min` or above `UInt64.max`.
    public init?(exactly integer: some BinaryInteger) {
        if let signed = Int64(exactly: integer) {
            self = .integer(signed)
        } else if let unsigned = UInt64(exactly: integer) {
            self = .unsigned(unsigned)
        } else {
            return nil
        }
    }

    /// Creates a floating-point number.
    public init(_ double: Double) { self = .double(double) }

    /// Creates a floating-point number.
    public init(_ float: Float) { self = .double(Double(float)) }

    /// Creates a string.
    public init(_ string: String) { self = .string(string) }

    /// Creates a string.
    public init(_ substring: Substring) { self = .string(String(substring)) }

    /// Creates a value with these bytes.
    public init(_ data: Data) { self = .data(data) }

    /// Creates a value with these bytes.
    public init(_ bytes: [UInt8]) { self = .data(Data(bytes)) }

    /// Creates a point in time, rounded as described at ``date(secondsSince1970:)``.
    public init(_ date: Date) { self = .date(date) }

    /// Creates a value with a universally unique identifier.
    public init(_ uuid: UUID) { self = .uuid(uuid) }

    /// Creates a URL. A URL without a scheme cannot be encoded (``ValueSetError/Code/notRepresentable``).
    public init(_ url: URL) { self = .url(url) }

    /// Creates an array.
    public init(_ array: [Value]) { self = .array(array) }

    /// Creates a set.
    public init(_ set: Set<Value>) { self = .set(set) }

    /// Creates a nested dictionary.
    public init(_ dictionary: ValueSet) { self = .dictionary(dictionary) }
}
