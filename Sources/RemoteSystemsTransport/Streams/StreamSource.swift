// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The bytes of a write that were not sent yet.
enum StreamSource: Sendable {
    /// Sent without a copy.
    case buffer(ByteBuffer)
    /// Each frame copies its part when it is sent.
    case array(ArraySlice<UInt8>)

    static let empty = StreamSource.buffer(ByteBuffer())

    /// The maximum number of bytes in a record of TLS.
    private static var recordBytes: Int { 16 << 10 }

    var count: Int {
        switch self {
        case .buffer(let bytes): bytes.readableBytes
        case .array(let bytes): bytes.count
        }
    }

    /// The number of the next bytes that are copied behind what precedes them.
    ///
    /// Each record of TLS has a fixed cost. Bytes of a buffer are therefore copied until they and what precedes them
    /// fill a record. The rest fills further records without a copy.
    func bytesToCopy(of count: Int, untilRecordEndsAfter precedingBytes: Int) -> Int {
        guard case .buffer = self else { return count }
        return min(count, Self.recordBytes - precedingBytes % Self.recordBytes)
    }

    /// Moves the first bytes to the end of a buffer.
    ///
    /// - Parameter count: at most ``count``.
    mutating func move(_ count: Int, to buffer: inout ByteBuffer) {
        switch self {
        case .buffer(var bytes):
            self = .empty
            if var part = bytes.readSlice(length: count) { buffer.writeBuffer(&part) }
            self = .buffer(bytes)
        case .array(let bytes):
            buffer.writeBytes(bytes.prefix(count))
            self = .array(bytes.dropFirst(count))
        }
    }

    /// Removes the first bytes without copying them; `nil` for no bytes, or if they can only be copied.
    ///
    /// - Parameter count: at most ``count``.
    mutating func slice(_ count: Int) -> ByteBuffer? {
        guard count > 0, case .buffer(var bytes) = self else { return nil }
        self = .empty
        let slice = bytes.readSlice(length: count)
        self = .buffer(bytes)
        return slice
    }
}
