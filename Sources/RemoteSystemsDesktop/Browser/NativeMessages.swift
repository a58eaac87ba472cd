// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Splits the bytes of a browser into messages (native messaging): a length of four bytes in the byte order of the
/// machine, and as many bytes of JSON.
struct NativeMessages {
    /// The maximum length of a message, in bytes: 1 MiB. Browsers accept no longer ones from a program either.
    static let maxBytes = 1 << 20

    /// A browser announced a message that is too long. Nothing after it can be read.
    struct TooLong: Error, Hashable {
        var bytes: Int
    }

    private var unread: [UInt8] = []

    mutating func append(_ bytes: some Sequence<UInt8>) { self.unread += bytes }

    /// Removes the next message; `nil` if it is not complete.
    ///
    /// A length is refused before its bytes have arrived.
    mutating func next() throws(TooLong) -> [UInt8]? {
        guard self.unread.count >= 4 else { return nil }
        var length = UInt32(0)
        unsafe withUnsafeMutableBytes(of: &length) { unsafe $0.copyBytes(from: self.unread.prefix(4)) }
        let count = Int(length)
        guard count <= Self.maxBytes else { throw TooLong(bytes: count) }
        guard self.unread.count >= 4 + count else { return nil }
        defer { self.unread.removeFirst(4 + count) }
        return Array(self.unread[4..<(4 + count)])
    }

    /// A message with its length; `nil` if it is too long.
    static func framed(_ message: [UInt8]) -> [UInt8]? {
        guard let length = UInt32(exactly: message.count), message.count <= Self.maxBytes else { return nil }
        return unsafe withUnsafeBytes(of: length) { unsafe Array($0) } + message
    }
}
