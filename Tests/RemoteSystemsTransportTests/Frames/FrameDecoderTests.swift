// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct FrameDecoderTests {
    private static let two: [UInt8] = [0, 0, 0, 2, 0xAA, 0xBB, 0, 0, 0, 1, 0xCC]

    @Test func `frames that arrive byte by byte are assembled`() throws {
        var decoder = FrameDecoder(limit: 16)
        var frames: [[UInt8]] = []
        for byte in Self.two {
            decoder.append(ByteBuffer(bytes: [byte]))
            while let frame = try decoder.next() { frames.append(Array(frame.readableBytesView)) }
        }
        #expect(frames == [[0xAA, 0xBB], [0xCC]])
        #expect(decoder.pendingBytes == 0)
    }

    @Test func `frames that arrive together are separated`() throws {
        var decoder = FrameDecoder(limit: 16)
        decoder.append(ByteBuffer(bytes: Self.two + [0, 0]))
        #expect(try decoder.next() == ByteBuffer(bytes: [0xAA, 0xBB]))
        #expect(try decoder.next() == ByteBuffer(bytes: [0xCC]))
        #expect(try decoder.next() == nil)
        #expect(decoder.pendingBytes == 2)
    }

    @Test(arguments: 1...11) func `frames that are cut at any place give the same result`(size: Int) throws {
        var decoder = FrameDecoder(limit: 16)
        var frames: [[UInt8]] = []
        for start in stride(from: 0, to: Self.two.count, by: size) {
            decoder.append(ByteBuffer(bytes: Self.two[start..<min(start + size, Self.two.count)]))
            while let frame = try decoder.next() { frames.append(Array(frame.readableBytesView)) }
        }
        #expect(frames == [[0xAA, 0xBB], [0xCC]])
    }

    @Test func `the rest of a buffer is copied when more arrives, since other code may keep the buffer`() throws {
        var decoder = FrameDecoder(limit: 100)
        decoder.append(ByteBuffer(bytes: [0, 0, 0, 2, 1, 2, 0, 0]))
        let first = try decoder.next() ?? ByteBuffer()
        let none = try decoder.next()
        #expect(none == nil)
        decoder.append(ByteBuffer(bytes: [0, 1, 3, 0]))
        let second = try decoder.next() ?? ByteBuffer()
        #expect(Array(first.readableBytesView) == [1, 2])
        #expect(Array(second.readableBytesView) == [3])
        #expect(second.storageCapacity < 16)
        #expect(decoder.pendingBytes == 1)
    }

    @Test func `a frame of the maximum length is accepted, one byte more is not`() throws {
        var decoder = FrameDecoder(limit: 3)
        decoder.append(ByteBuffer(bytes: [0, 0, 0, 3, 1, 2, 3]))
        #expect(try decoder.next()?.readableBytes == 3)
        decoder.append(ByteBuffer(bytes: [0, 0, 0, 4]))
        let error = #expect(throws: TransportError.self) { try decoder.next() }
        #expect(error?.closeStatus == .resourceLimitsExceeded)
    }

    /// A negative length ended Syncthing's relay and its peers (CVE-2021-21404).
    @Test(arguments: [[0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0]] as [[UInt8]])
    func `a length of zero, or a huge one, is refused after its four bytes (CVE-2021-21404)`(length: [UInt8]) {
        var decoder = FrameDecoder(limit: 1 << 20)
        decoder.append(ByteBuffer(bytes: length))
        #expect(throws: TransportError.self) { try decoder.next() }
    }

    @Test func `the limit can grow between frames`() throws {
        var decoder = FrameDecoder(limit: 1)
        decoder.append(ByteBuffer(bytes: [0, 0, 0, 1, 9, 0, 0, 0, 2, 8, 7]))
        #expect(try decoder.next() == ByteBuffer(bytes: [9]))
        decoder.limit = 2
        #expect(try decoder.next() == ByteBuffer(bytes: [8, 7]))
    }

    @Test func `a long frame in many pieces arrives whole`() throws {
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        var whole = ByteBuffer()
        whole.writeInteger(UInt32(body.count))
        whole.writeBytes(body)
        whole.writeBytes([0, 0, 0, 1, 5])
        var decoder = FrameDecoder(limit: 1 << 20)
        var frames: [ByteBuffer] = []
        while let piece = whole.readSlice(length: min(whole.readableBytes, 1_371)), piece.readableBytes > 0 {
            decoder.append(piece)
            while let frame = try decoder.next() { frames.append(frame) }
        }
        #expect(frames == [ByteBuffer(bytes: body), ByteBuffer(bytes: [5])])
    }
}
