// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension Value {
    /// Creates a ``bool(_:)`` value.
    public init(_ bool: Bool) { self = .bool(bool) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: Int) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: Int64) { self = .integer(integer) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: Int32) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: Int16) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: Int8) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` value up to `Int64.max`, and an ``unsigned(_:)`` value above.
    public init(_ integer: UInt) { self.init(UInt64(integer)) }

    /// Creates an ``integer(_:)`` value up to `Int64.max`, and an ``unsigned(_:)`` value above.
    public init(_ integer: UInt64) {
        if let signed = Int64(exactly: integer) { self = .integer(signed) } else { self = .unsigned(integer) }
    }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: UInt32) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: UInt16) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` value.
    public init(_ integer: UInt8) { self = .integer(Int64(integer)) }

    /// Creates an ``integer(_:)`` or ``unsigned(_:)`` value from any integer type.
    ///
    /// - Parameter integer: An integer. If it is below `Int64.min` or above `UInt64.max`, the result is `nil`.
    public init?(exactly integer: some BinaryInteger) {
        if let signed = Int64(exactly: integer) {
            self = .integer(signed)
        } else if let unsigned = UInt64(exactly: integer) {
            self = .unsigned(unsigned)
        } else {
            return nil
        }
    }

    /// Creates a ``double(_:)`` value.
    public init(_ double: Double) { self = .double(double) }

    /// Creates a ``double(_:)`` value.
    public init(_ float: Float) { self = .double(Double(float)) }

    /// Creates a ``string(_:)`` value.
    public init(_ string: String) { self = .string(string) }

    /// Creates a ``string(_:)`` value.
    public init(_ substring: Substring) { self = .string(String(substring)) }

    /// Creates a ``data(_:)`` value.
    public init(_ data: Data) { self = .data(data) }

    /// Creates a ``data(_:)`` value with these bytes.
    public init(_ bytes: [UInt8]) { self = .data(Data(bytes)) }

    /// Creates a ``date(secondsSince1970:)`` value, rounded as described there.
    public init(_ date: Date) { self = .date(date) }

    /// Creates a ``uuid(_:)`` value.
    public init(_ uuid: UUID) { self = .uuid(uuid) }

    /// Creates a ``url(_:)`` value. A URL without a scheme cannot be encoded (``ValueSetError/Code/notRepresentable``).
    public init(_ url: URL) { self = .url(url) }

    /// Creates an ``array(_:)`` value.
    public init(_ array: [Value]) { self = .array(array) }

    /// Creates a ``set(_:)`` value.
    public init(_ set: Set<Value>) { self = .set(set) }

    /// Creates a ``dictionary(_:)`` value.
    public init(_ dictionary: ValueSet) { self = .dictionary(dictionary) }
}
