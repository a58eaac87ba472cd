// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore

@testable import RemoteSystemsTransport
@testable import ValueSets

/// Reads the input as one frame, as a byte stream of frames in several reads, and as the bytes of a stream.
func fuzzFrames(_ input: [UInt8]) {
    checkFrame(input)
    checkDecoder(input)
    checkStreamDecoder(input)
}

/// Checks that a frame that is read can be written, and that reading what was written gives the same frame.
private func checkFrame(_ input: [UInt8]) {
    guard let frame = try? Frame(ByteBuffer(bytes: input)) else { return }
    switch frame {
    case .malformed(_, _, let error):
        require(!"\(error)".hasControlCharacters, "the description of an error has control characters")
    case .unknown(let kind):
        require(kind >= 9, "a known kind was read as unknown")
    default:
        var written = ByteBuffer()
        do {
            try written.writeFrame(frame, limit: ConnectionLimits.maxMessageBytes)
        } catch {
            broken("a frame was read, but cannot be written: \(error)")
        }
        let length = written.readInteger(as: UInt32.self)
        require(length == UInt32(written.readableBytes), "a frame's length is wrong")
        guard let again = try? Frame(written) else { broken("a frame was written, but cannot be read: \(frame)") }
        require(again == frame, "a frame changed: \(frame), then \(again)")
        var twice = ByteBuffer()
        try? twice.writeFrame(again, limit: ConnectionLimits.maxMessageBytes)
        twice.moveReaderIndex(forwardBy: FrameDecoder.lengthBytes)
        require(twice == written, "two encodings of one frame differ")
    }
}

/// The outcome of decoding a byte stream.
private struct Decoded<Item: Equatable>: Equatable {
    var items: [Item] = []
    var code: String?
}

/// The sizes of the reads of an input, which the first byte seeds.
private func reads(of input: [UInt8]) -> [ArraySlice<UInt8>] {
    var random = SplitMix64(state: UInt64(input.first ?? 0))
    var rest = input.dropFirst()
    var reads: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
        let count = Int.random(in: 1...(Bool.random(using: &random) ? 5 : 200), using: &random)
        reads.append(rest.prefix(count))
        rest = rest.dropFirst(count)
    }
    return reads
}

/// Checks that the decoder returns the same frames for any division into reads, and holds no more than its limit.
private func checkDecoder(_ input: [UInt8]) {
    let limit = 2048
    func decode(_ reads: [ArraySlice<UInt8>]) -> Decoded<ByteBuffer> {
        var decoder = FrameDecoder(limit: limit)
        var decoded = Decoded<ByteBuffer>()
        for read in reads {
            decoder.append(ByteBuffer(bytes: read))
            do throws(TransportError) {
                while let frame = try decoder.next() { decoded.items.append(frame) }
            } catch {
                decoded.code = error.failureCode
                return decoded
            }
            require(decoder.pendingBytes <= limit + FrameDecoder.lengthBytes, "the decoder holds more than one frame")
        }
        return decoded
    }
    let whole = decode([input.dropFirst()])
    require(decode(reads(of: input)) == whole, "the division into reads changes the frames")
    for frame in whole.items { require((1...limit).contains(frame.readableBytes), "a frame is longer than the limit") }
}

/// Checks that a stream's decoder returns the bytes and the frames that the decoder of whole frames returns.
///
/// A stream's decoder passes on the bytes of a frame before the frame is complete, so it may be ahead at the end.
private func checkStreamDecoder(_ input: [UInt8]) {
    let limit = 2048
    var frames = FrameDecoder(limit: limit)
    frames.append(ByteBuffer(bytes: input.dropFirst()))
    var expected = Decoded<StreamEvent>()
    do throws(TransportError) {
        while let bytes = try frames.next() { expected.append(try StreamEvent(Frame(bytes))) }
    } catch {
        expected.code = error.failureCode
    }

    var decoder = StreamFrameDecoder(FrameDecoder(limit: limit), limit: limit)
    var decoded = Decoded<StreamEvent>()
    reading: for read in reads(of: input) {
        decoder.append(ByteBuffer(bytes: read))
        do throws(TransportError) {
            while let item = try decoder.next() {
                switch item {
                case .data(let data):
                    require(data.readableBytes > 0, "a stream delivered no bytes")
                    decoded.append(.data(Array(data.readableBytesView)))
                case .frame(let frame): decoded.append(StreamEvent(frame))
                }
            }
        } catch {
            decoded.code = error.failureCode
            break reading
        }
    }
    require(decoded.code == expected.code, "a stream ends with \(decoded.code ?? "-"), not \(expected.code ?? "-")")
    if decoded == expected { return }
    guard expected.code == nil, case .data(let ahead)? = decoded.items.last else { broken("a stream's bytes differ") }
    // Only the last bytes may be more than expected.
    var rest = expected.items
    var last: [UInt8] = []
    if case .data(let bytes)? = rest.last {
        last = bytes
        if rest.count == decoded.items.count { rest.removeLast() } else { last = [] }
    }
    require(Array(decoded.items.dropLast()) == rest && ahead.starts(with: last), "a stream's bytes differ")
}

private enum StreamEvent: Equatable {
    case data([UInt8])
    case frame(Frame)

    init(_ frame: Frame) {
        if case .data(let data) = frame { self = .data(Array(data.readableBytesView)) } else { self = .frame(frame) }
    }
}

extension Decoded where Item == StreamEvent {
    /// Appends an event. Adjacent bytes are joined.
    fileprivate mutating func append(_ event: StreamEvent) {
        if case .data(let more) = event, case .data(let bytes)? = self.items.last {
            self.items[self.items.count - 1] = .data(bytes + more)
        } else {
            self.items.append(event)
        }
    }
}
