// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import ValueSets

/// The messages of ``StreamRequests`` in a stream of bytes. A value without I/O.
struct StreamMessages {
    private var unread: [UInt8] = []

    /// Whether no message has begun.
    var isEmpty: Bool { self.unread.isEmpty }

    mutating func append(_ bytes: some Sequence<UInt8>) { self.unread += bytes }

    /// Removes the next message; `nil` if it is not complete.
    ///
    /// A length is refused before its bytes have arrived.
    mutating func next() throws -> (message: ValueSet, bytes: Int)? {
        guard self.unread.count >= 4 else { return nil }
        let count = self.unread.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count <= StreamRequests.maxMessageBytes else {
            throw ContinuationError(
                .streamFailed,
                "A message of \(count) bytes was announced; at most \(StreamRequests.maxMessageBytes) are accepted.",
                side: .remote
            )
        }
        guard self.unread.count >= 4 + count else { return nil }
        defer { self.unread.removeFirst(4 + count) }
        return (try ValueSet(encoded: Array(self.unread[4..<(4 + count)])), count + 4)
    }

    /// - Throws: ``ContinuationError`` if the message is too large or cannot be encoded.
    static func encode(_ message: ValueSet) throws(ContinuationError) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try message.encoded()
        } catch {
            throw ContinuationError(.payloadInvalid, "The message cannot be sent: \(error)", side: .local, cause: error)
        }
        guard bytes.count <= StreamRequests.maxMessageBytes else {
            throw ContinuationError(
                .payloadTooLarge,
                "The message has \(bytes.count) bytes; at most \(StreamRequests.maxMessageBytes) can be sent.",
                side: .local
            )
        }
        return (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * $0)) } + bytes
    }
}
