// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Cuts the byte stream into frames: a length of four bytes, most significant first, then that many bytes.
///
/// The length is checked before anything is allocated for it. A frame that arrives whole is handed on as a slice of the
/// buffer it came in.
struct FrameDecoder {
    /// The longest frame taken, without its length field.
    var limit: Int
    /// Bytes that have come and were not taken.
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
            // The end of what frames were read from, who may share its memory: it is theirs to keep.
            var rest = ByteBuffer()
            rest.reserveCapacity(buffer.readableBytes + incoming.readableBytes)
            rest.writeBuffer(&buffer)
            buffer = rest
        }
        buffer.writeBuffer(&incoming)
        self.buffer = buffer
    }

    /// The next whole frame, if there is one.
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

    /// Bytes that have come and are not yet a whole frame.
    var pendingBytes: Int { self.buffer?.readableBytes ?? 0 }
}
