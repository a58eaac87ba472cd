// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension Value {
    /// A boolean.
    public init(_ bool: Bool) { self = .bool(bool) }

    /// An integer.
    public init(_ integer: Int) { self = .integer(Int64(integer)) }

    /// An integer.
    public init(_ integer: Int64) { self = .integer(integer) }

    /// An integer.
    public init(_ integer: Int32) { self = .integer(Int64(integer)) }

    /// An integer.
    public init(_ integer: Int16) { self = .integer(Int64(integer)) }

    /// An integer.
    public init(_ integer: Int8) { self = .integer(Int64(integer)) }

    /// An integer.
    public init(_ integer: UInt) { self.init(UInt64(integer)) }

    /// An integer: ``integer(_:)`` up to `Int64.max`, ``unsigned(_:)`` above.
    public init(_ integer: UInt64) {
        if let signed = Int64(exactly: integer) { self = .integer(signed) } else { self = .unsigned(integer) }
    }

    /// An integer.
    public init(_ integer: UInt32) { self = .integer(Int64(integer)) }

    /// An integer.
    public init(_ integer: UInt16) { self = .integer(Int64(integer)) }

    /// An integer.
    public init(_ integer: UInt8) { self = .integer(Int64(integer)) }

    /// An integer of any type, or `nil` if it is outside `Int64.min ... UInt64.max`.
    public init?(exactly integer: some BinaryInteger) {
        if let signed = Int64(exactly: integer) {
            self = .integer(signed)
        } else if let unsigned = UInt64(exactly: integer) {
            self = .unsigned(unsigned)
        } else {
            return nil
        }
    }

    /// A floating-point number.
    public init(_ double: Double) { self = .double(double) }

    /// A floating-point number.
    public init(_ float: Float) { self = .double(Double(float)) }

    /// Text.
    public init(_ string: String) { self = .string(string) }

    /// Text.
    public init(_ substring: Substring) { self = .string(String(substring)) }

    /// Bytes.
    public init(_ data: Data) { self = .data(data) }

    /// Bytes.
    public init(_ bytes: [UInt8]) { self = .data(Data(bytes)) }

    /// A point in time.
    public init(_ date: Date) { self = .date(date) }

    /// An identifier.
    public init(_ uuid: UUID) { self = .uuid(uuid) }

    /// A URL.
    public init(_ url: URL) { self = .url(url) }

    /// Values in order.
    public init(_ array: [Value]) { self = .array(array) }

    /// Values without order.
    public init(_ set: Set<Value>) { self = .set(set) }

    /// A nested dictionary.
    public init(_ dictionary: ValueSet) { self = .dictionary(dictionary) }
}
