// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// The bytes of a write, on their way into frames.
@Suite struct StreamSourceTests {
    @Test func `an array is copied frame by frame, in order`() {
        var source = StreamSource.array([1, 2, 3, 4, 5][...])
        var frame = ByteBuffer(bytes: [0])
        #expect(source.bytesToCopy(of: 3, untilRecordEndsAfter: 1) == 3)
        source.move(3, to: &frame)
        #expect(source.slice(0) == nil)
        #expect(frame == ByteBuffer(bytes: [0, 1, 2, 3]))
        #expect(source.count == 2)
        source.move(2, to: &frame)
        #expect(frame == ByteBuffer(bytes: [0, 1, 2, 3, 4, 5]))
        #expect(source.count == 0)
    }

    @Test(arguments: [(0, 100, 100), (9, 65_527, 16_375), (16_384, 20_000, 16_384), (16_380, 3, 3), (16_380, 5, 4)])
    func `a buffer is copied until its record is full, and the rest is a slice`(
        precedingBytes: Int,
        count: Int,
        copied: Int
    ) {
        let bytes = ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        var source = StreamSource.buffer(bytes)
        #expect(source.bytesToCopy(of: count, untilRecordEndsAfter: precedingBytes) == copied)
        var frame = ByteBuffer()
        source.move(copied, to: &frame)
        #expect(frame == bytes.getSlice(at: 0, length: copied))
        #expect(
            source.slice(count - copied) == (copied == count ? nil : bytes.getSlice(at: copied, length: count - copied))
        )
        #expect(source.count == 0)
    }
}
