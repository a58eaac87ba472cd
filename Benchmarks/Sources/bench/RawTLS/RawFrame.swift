// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore

/// What stands before each message of the raw peer: its length and the answer it asks for.
struct RawFrame {
    static let headerBytes = 8
    /// A longer message is a mistake of the benchmark, and nothing is allocated for it.
    static let largestBody = 16 << 20

    var bodyBytes: Int
    var answer: Load.Answer

    /// Bytes of header and body together.
    var bytes: Int { Self.headerBytes + bodyBytes }

    init(bodyBytes: Int, answer: Load.Answer) {
        self.bodyBytes = bodyBytes
        self.answer = answer
    }

    /// The header at the reader's index, which is not moved; nil as long as it is not all there.
    init?(peekingAt buffer: ByteBuffer) throws {
        guard
            let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self),
            let kind = buffer.getInteger(at: buffer.readerIndex + 4, as: UInt32.self)
        else { return nil }
        guard length <= Self.largestBody, kind <= 1 else { throw BenchError("A raw frame of \(length) bytes.") }
        self.init(bodyBytes: Int(length), answer: kind == 0 ? .echo : .acknowledgement)
    }

    /// The header by itself; it is also the whole of an acknowledgement.
    var header: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(UInt32(bodyBytes), UInt32(answer == .echo ? 0 : 1))
        return buffer
    }

    /// A whole message for the load, header and body.
    static func message(for load: Load) -> ByteBuffer {
        var buffer = RawFrame(bodyBytes: load.bytes, answer: load.answer).header
        buffer.writeRepeatingByte(0x5a, count: load.bytes)
        return buffer
    }
}
