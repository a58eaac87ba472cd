// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Splits the bytes of a stream's connection into data and other frames.
///
/// The bytes of a DATA frame are passed on as they arrive, as slices of the received buffers, because collecting a
/// frame would copy each byte once more. Other frames are passed on when they are complete (``FrameDecoder``).
struct StreamFrameDecoder {
    /// Bytes of the stream, or a complete frame.
    enum Item: Equatable {
        case data(ByteBuffer)
        case frame(Frame)
    }

    private var frames: FrameDecoder
    /// The number of outstanding bytes of the current DATA frame.
    private var dataLeft = 0

    /// Creates a decoder that continues after the handshake.
    ///
    /// - Parameter frames: contains the bytes that arrived with the handshake.
    init(_ frames: FrameDecoder, limit: Int = StreamLimits.frameBytes) {
        self.frames = frames
        self.frames.limit = limit
    }

    mutating func append(_ bytes: ByteBuffer) {
        self.frames.append(bytes)
    }

    mutating func next() throws(TransportError) -> Item? {
        if self.dataLeft == 0, let head = self.dataHead() {
            self.frames.buffer?.moveReaderIndex(forwardBy: head.bytes)
            self.dataLeft = head.dataBytes
        }
        guard self.dataLeft > 0 else {
            guard let bytes = try self.frames.next() else { return nil }
            let frame = try Frame(bytes)
            if case .data(let data) = frame { return .data(data) }
            return .frame(frame)
        }
        guard var buffer = self.frames.buffer.take() else { return nil }
        let data = buffer.readSlice(length: min(self.dataLeft, buffer.readableBytes))
        self.frames.buffer = buffer.readableBytes > 0 ? buffer : nil
        guard let data, data.readableBytes > 0 else { return nil }
        self.dataLeft -= data.readableBytes
        return .data(data)
    }

    /// Reads the head of a DATA frame in canonical encoding, without further elements: length, array of two, kind, head
    /// of the bytes. Returns `nil` for everything else, and for an incomplete head; ``FrameDecoder`` handles those.
    private func dataHead() -> (bytes: Int, dataBytes: Int)? {
        guard let buffer = self.frames.buffer else { return nil }
        let start = buffer.readerIndex
        guard
            let length = buffer.getInteger(at: start, as: UInt32.self), length <= UInt32(clamping: self.frames.limit),
            buffer.getInteger(at: start + 4, as: UInt16.self) == 0x8209,
            let initial = buffer.getInteger(at: start + 6, as: UInt8.self)
        else { return nil }
        let count: (value: Int?, bytes: Int, least: Int)
        switch initial {
        case 0x41...0x57: count = (Int(initial & 0x1f), 0, 1)
        case 0x58: count = (buffer.getInteger(at: start + 7, as: UInt8.self).map(Int.init), 1, 24)
        case 0x59: count = (buffer.getInteger(at: start + 7, as: UInt16.self).map(Int.init), 2, 1 << 8)
        case 0x5a: count = (buffer.getInteger(at: start + 7, as: UInt32.self).map(Int.init), 4, 1 << 16)
        default: return nil
        }
        guard let dataBytes = count.value, (count.least...Frame.maxDataBytes).contains(dataBytes),
            Int(length) == 3 + count.bytes + dataBytes
        else { return nil }
        return (7 + count.bytes, dataBytes)
    }
}

extension ByteBuffer {
    /// Writes the head of a DATA frame. `count` bytes of the stream must follow.
    mutating func writeDataHead(_ count: Int) {
        switch count {
        case ..<24:
            self.writeMultipleIntegers(UInt32(3 + count), UInt16(0x8209), UInt8(0x40 | count))
        case ..<(1 << 8):
            self.writeMultipleIntegers(UInt32(4 + count), UInt16(0x8209), UInt8(0x58), UInt8(count))
        case ..<(1 << 16):
            self.writeMultipleIntegers(UInt32(5 + count), UInt16(0x8209), UInt8(0x59), UInt16(count))
        default:
            self.writeMultipleIntegers(UInt32(7 + count), UInt16(0x8209), UInt8(0x5a), UInt32(count))
        }
    }

    /// The number of bytes of the head of a frame with 256 to 65 535 bytes of data.
    static var dataHeadBytes: Int { 9 }

    /// The maximum number of a stream's bytes in one frame, for a peer's frame limit.
    static func dataBytes(in limit: Int) -> Int {
        min(Frame.maxDataBytes, limit - 7)
    }
}
