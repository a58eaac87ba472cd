// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct FrameArrayTests {
    @Test(arguments: [
        (FrameArray(7), "000000028107"),
        (FrameArray(3, 1_000_000), "0000000782031a000f4240"),
        (FrameArray(4, 24, 256), "00000007830418181901" + "00"),
        (FrameArray(0, set: ["a": 1]), "000000068200a1616101"),
        (FrameArray(3, 1, 2, set: [:], last: .bytes([1, 2])), "0000000885030102a0420102"),
        (FrameArray(4, 1, 2, set: [:], last: .set(["a": 1])), "0000000985040102a0a1616101"),
        (FrameArray(3, 1, 2, set: [:], last: .null, further: ["a": 1]), "0000000a86030102a0f6a1616101"),
        (FrameArray(3, 1, 2, set: [:], last: .bytes([1]), further: [:]), "0000000886030102a04101a0"),
    ])
    func `an array is written after its length`(_ array: FrameArray, _ expected: String) throws {
        var buffer = ByteBuffer(string: "head")
        buffer.writeLengthPrefixed(array, size: try array.size())
        #expect(buffer.readString(length: 4) == "head")
        #expect(buffer.hexDump(format: .compact) == expected)
    }

    @Test func `a value that cannot be written is found before anything is written`() {
        let error = #expect(throws: ValueSetError.self) {
            try FrameArray(3, 1, 2, set: ["when": .date(secondsSince1970: .infinity)]).size()
        }
        #expect(error?.keyPath == "when")
    }

    @Test func `writing does not copy a buffer with enough capacity`() throws {
        var buffer = ByteBufferAllocator().buffer(capacity: 256)
        let before = unsafe buffer.withVeryUnsafeBytes { $0.baseAddress }
        let array = FrameArray(0, set: ["a": "b"])
        buffer.writeLengthPrefixed(array, size: try array.size())
        let after = unsafe buffer.withVeryUnsafeBytes { $0.baseAddress }
        #expect(unsafe before == after)
        #expect(buffer.capacity == 256)
    }
}
