// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// How the bytes of a stream are extracted from frames, however they arrive.
@Suite struct StreamFrameDecoderTests {
    private static func decode(_ wire: ByteBuffer, inPiecesOf count: Int) throws -> (data: [UInt8], frames: [Frame]) {
        var decoder = StreamFrameDecoder(FrameDecoder(limit: ConnectionLimits.helloBytes))
        var wire = wire
        var result: (data: [UInt8], frames: [Frame]) = ([], [])
        while wire.readableBytes > 0 {
            // A separate buffer for each piece, as from the network.
            decoder.append(ByteBuffer(bytes: wire.readBytes(length: min(count, wire.readableBytes)) ?? []))
            while let item = try decoder.next() {
                switch item {
                case .data(let bytes): result.data += Array(bytes.readableBytesView)
                case .frame(let frame): result.frames.append(frame)
                }
            }
        }
        return result
    }

    /// Sizes at which the CBOR head of the bytes changes its form.
    private static let sizes = [1, 23, 24, 255, 256, 65_535, 65_536]

    @Test(arguments: [1, 7, 64, 1 << 20], [true, false])
    func `bytes and frames are unchanged for pieces of any size`(piece: Int, writesByHead: Bool) throws {
        var wire = ByteBuffer()
        var expected: [UInt8] = []
        for size in Self.sizes {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
            expected += bytes
            if writesByHead {
                wire.writeDataHead(size)
                wire.writeBytes(bytes)
            } else {
                try wire.writeFrame(.data(ByteBuffer(bytes: bytes)), limit: 1 << 20)
            }
            try wire.writeFrame(.ping(token: UInt64(size)), limit: 1 << 20)
        }
        try wire.writeFrame(.fin, limit: 1 << 20)
        let (data, frames) = try Self.decode(wire, inPiecesOf: piece)
        #expect(data == expected)
        #expect(frames == Self.sizes.map { .ping(token: UInt64($0)) } + [.fin])
    }

    @Test func `elements after the bytes are ignored, as later versions may send some`() throws {
        let (data, frames) = try Self.decode(ByteBuffer(bytes: [0, 0, 0, 6, 0x83, 9, 0x42, 1, 2, 7]), inPiecesOf: 3)
        #expect(data == [1, 2])
        #expect(frames == [])
    }

    @Test(
        arguments: [
            ([0, 0, 0, 3, 0x82, 9, 0x40], FailureCode.frameMalformed),
            ([0, 0, 0, 2, 0x81, 9], .frameMalformed),
            ([0, 0, 0, 3, 0x82, 9, 7], .frameMalformed),
            // A length that is not in its shortest form.
            ([0, 0, 0, 5, 0x82, 9, 0x58, 1, 7], .frameMalformed),
            // Bytes that end before the frame does, or after it.
            ([0, 0, 0, 5, 0x82, 9, 0x41, 1, 7], .frameMalformed),
            ([0, 0, 0, 4, 0x82, 9, 0x42, 1], .frameMalformed),
            ([0, 0, 0, 0], .frameEmpty),
            ([0, 1, 4, 1], .frameTooLong),
            ([0, 1, 0, 8, 0x82, 9, 0x5a, 0, 1, 0, 1] + [UInt8](repeating: 0, count: 65_537), .frameMalformed),
        ] as [([UInt8], FailureCode)]
    )
    func `bytes that are not a frame are refused with their code`(bytes: [UInt8], code: FailureCode) {
        let error = #expect(throws: TransportError.self) {
            try Self.decode(ByteBuffer(bytes: bytes), inPiecesOf: 1 << 20)
        }
        #expect(error?.failureCode == code.rawValue)
    }

    @Test func `a frame that is too long is refused before memory is allocated for it`() {
        var decoder = StreamFrameDecoder(FrameDecoder(limit: 1))
        decoder.append(ByteBuffer(bytes: [0x7f, 0xff, 0xff, 0xff]))
        #expect(throws: TransportError.self) { try decoder.next() }
    }
}
