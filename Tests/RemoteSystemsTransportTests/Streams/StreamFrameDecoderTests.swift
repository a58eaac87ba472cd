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

    // MARK: Compared with whole frames

    private struct Outcome: Equatable {
        var data: [UInt8] = []
        var frames: [Frame] = []
        var failureCode: String?
    }

    /// What a decoder of whole frames makes of the bytes.
    private static func decodeWhole(_ wire: ByteBuffer, limit: Int) -> Outcome {
        var outcome = Outcome()
        var decoder = FrameDecoder(limit: limit)
        decoder.append(wire)
        do {
            while let bytes = try decoder.next() {
                let frame = try Frame(bytes)
                if case .data(let data) = frame {
                    outcome.data += Array(buffer: data)
                } else {
                    outcome.frames.append(frame)
                }
            }
        } catch {
            outcome.failureCode = error.failureCode
        }
        return outcome
    }

    /// A sequence of frames with up to three changed, removed or added bytes.
    private static func damagedFrames(_ random: inout SplitMix64) throws -> ByteBuffer {
        var wire = ByteBuffer()
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            switch Int.random(in: 0...5, using: &random) {
            case 0: try wire.writeFrame(.fin, limit: 1 << 20)
            case 1: try wire.writeFrame(.ping(token: random.next()), limit: 1 << 20)
            default:
                let count = [1, 5, 23, 24, 255, 256, 700].randomElement(using: &random) ?? 1
                wire.writeDataHead(count)
                wire.writeRepeatingByte(UInt8.random(in: 0...255, using: &random), count: count)
            }
        }
        var bytes = Array(buffer: wire)
        for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
            // The heads of frames are where damage matters, and the first is always at the same place.
            let index = Int.random(
                in: 0..<min(bytes.count, Bool.random(using: &random) ? 12 : bytes.count),
                using: &random
            )
            switch Int.random(in: 0...2, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: index)
            default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            }
        }
        return ByteBuffer(bytes: bytes)
    }

    @Test func `damaged frames have the same outcome as with a decoder of whole frames`() throws {
        var random = SplitMix64(state: 0x5eed)
        for _ in 0..<3000 {
            var wire = try Self.damagedFrames(&random)
            let whole = Self.decodeWhole(wire, limit: 1024)
            var outcome = Outcome()
            var decoder = StreamFrameDecoder(FrameDecoder(limit: 1024), limit: 1024)
            do throws(TransportError) {
                while let piece = wire.readSlice(
                    length: min(wire.readableBytes, Int.random(in: 1...300, using: &random))
                ), piece.readableBytes > 0 {
                    decoder.append(piece)
                    while let item = try decoder.next() {
                        switch item {
                        case .data(let data): outcome.data += Array(buffer: data)
                        case .frame(let frame): outcome.frames.append(frame)
                        }
                    }
                }
            } catch {
                outcome.failureCode = error.failureCode
            }
            // The bytes of an incomplete last frame are passed on already.
            #expect(outcome.data.starts(with: whole.data))
            #expect(outcome.data.count - whole.data.count < 1024)
            outcome.data = whole.data
            #expect(outcome == whole)
        }
    }
}
