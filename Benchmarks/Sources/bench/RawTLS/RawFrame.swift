// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore

/// The header of each message of the raw peer: its length and the kind of response.
struct RawFrame {
    static let headerBytes = 8
    /// The maximum length of a body, in bytes. Longer messages are errors, for which nothing is allocated.
    static let largestBody = 16 << 20

    var bodyBytes: Int
    var answer: Load.Answer

    /// The length of header and body, in bytes.
    var bytes: Int { Self.headerBytes + bodyBytes }

    init(bodyBytes: Int, answer: Load.Answer) {
        self.bodyBytes = bodyBytes
        self.answer = answer
    }

    /// Parses the header at the reader index without moving the index. Returns nil if the header is incomplete.
    init?(peekingAt buffer: ByteBuffer) throws {
        guard
            let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self),
            let kind = buffer.getInteger(at: buffer.readerIndex + 4, as: UInt32.self)
        else { return nil }
        guard length <= Self.largestBody, kind <= 1 else { throw BenchError("Invalid raw frame of \(length) bytes.") }
        self.init(bodyBytes: Int(length), answer: kind == 0 ? .echo : .acknowledgement)
    }

    /// The encoded header. An acknowledgement consists only of it.
    var header: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeMultipleIntegers(UInt32(bodyBytes), UInt32(answer == .echo ? 0 : 1))
        return buffer
    }

    /// A message for the load, with header and body.
    static func message(for load: Load) -> ByteBuffer {
        var buffer = RawFrame(bodyBytes: load.bytes, answer: load.answer).header
        buffer.writeRepeatingByte(0x5a, count: load.bytes)
        return buffer
    }
}
