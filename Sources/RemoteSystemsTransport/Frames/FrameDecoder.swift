// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Splits the byte stream into frames: a big-endian length of four bytes, then that many bytes.
///
/// The length is checked before memory is allocated for it. A frame that arrives complete is returned as a slice of the
/// received buffer.
struct FrameDecoder {
    /// The maximum length of a frame, without its length field, in bytes.
    var limit: Int
    /// The received bytes that are not consumed yet.
    var buffer: ByteBuffer?

    static let lengthBytes = 4

    init(limit: Int) {
        self.limit = limit
    }

    mutating func append(_ incoming: ByteBuffer) {
        guard var buffer = self.buffer.take(), buffer.readableBytes > 0 else {
            self.buffer = incoming
            return
        }
        var incoming = incoming
        if buffer.readerIndex > 0 {
            // The buffer's storage may be shared with slices of earlier frames, so the remaining bytes are copied.
            var rest = ByteBuffer()
            rest.reserveCapacity(buffer.readableBytes + incoming.readableBytes)
            rest.writeBuffer(&buffer)
            buffer = rest
        }
        buffer.writeBuffer(&incoming)
        self.buffer = buffer
    }

    /// Returns the next complete frame, or `nil` if more bytes are needed.
    mutating func next() throws(TransportError) -> ByteBuffer? {
        guard var buffer = self.buffer.take() else { return nil }
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else {
            self.buffer = buffer.readableBytes > 0 ? buffer : nil
            return nil
        }
        guard length > 0, length <= UInt32(clamping: self.limit) else {
            throw .violation(
                "a frame of \(length) bytes came where 1 to \(self.limit) are allowed",
                length > 0 ? .frameTooLong : .frameEmpty,
                closing: .resourceLimitsExceeded
            )
        }
        let total = Self.lengthBytes + Int(length)
        guard buffer.readableBytes >= total else {
            if buffer.writableBytes + buffer.readableBytes < total {
                var whole = ByteBuffer()
                whole.reserveCapacity(total)
                whole.writeBuffer(&buffer)
                self.buffer = whole
            } else {
                self.buffer = buffer
            }
            return nil
        }
        buffer.moveReaderIndex(forwardBy: Self.lengthBytes)
        let frame = buffer.readSlice(length: Int(length))
        self.buffer = buffer.readableBytes > 0 ? buffer : nil
        return frame
    }

    /// The number of received bytes that do not form a complete frame yet.
    var pendingBytes: Int { self.buffer?.readableBytes ?? 0 }

    /// The length of the incomplete frame with its length field; `nil` if the length field is incomplete, too.
    var announcedBytes: Int? {
        self.buffer.flatMap { $0.getInteger(at: $0.readerIndex, as: UInt32.self) }.map { Self.lengthBytes + Int($0) }
    }
}
