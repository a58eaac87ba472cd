// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import Testing

@testable import ValueSets

@Suite struct CBORStreamTests {
    @Test func `streams are read item by item`() throws {
        let buffer = ByteBuffer(bytes: bytes("84031a000f4240a1616101820102"))
        try CBORReader.read(buffer) { reader in
            #expect(try reader.readArrayHead() == 4)
            #expect(try reader.readUnsigned() == 3)
            #expect(try reader.readUnsigned() == 1_000_000)
            #expect(try reader.readValueSet() == ["a": 1])
            #expect(try reader.readValue() == [1, 2])
            try reader.finish()
        }
        #expect(buffer.readableBytes == 14)
    }

    @Test func `large data shares the memory of its buffer, and retains it`() throws {
        let sent = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0) })
        var buffer: ByteBuffer? = ByteBuffer(bytes: try ValueSet(dictionaryLiteral: ("Data", .data(sent))).encoded())
        var data = Data()
        if let buffer {
            let set = try CBORReader.read(buffer) { reader throws(ValueSetError) in try reader.readValueSet() }
            data = try #require(set["Data"]?.data)
            #expect(Self.shares(data, buffer))
        }
        // The next write would reuse the memory if it were not retained.
        buffer = nil
        let others = (0..<100).map { Data(repeating: UInt8($0), count: 20_100) }
        #expect(data == sent)
        #expect(others.count == 100)
        data[0] = 7
        #expect(data.dropFirst() == sent.dropFirst())
    }

    @Test func `small data, or a small part of a message, is copied and retains nothing`() throws {
        let small = Data(repeating: 1, count: 1000)
        let part = Data(repeating: 2, count: 20_000)
        let set: ValueSet = ["A": .data(small), "B": .data(part), "C": .data(Data(repeating: 3, count: 100_000))]
        let buffer = ByteBuffer(bytes: try set.encoded())
        let read = try CBORReader.read(buffer) { reader throws(ValueSetError) in try reader.readValueSet() }
        #expect(read == set)
        for (key, isShared) in ["A": false, "B": false, "C": true] {
            let data = try #require(read[key]?.data)
            #expect(Self.shares(data, buffer) == isShared, "\(key)")
        }
    }

    @Test func `a small part of a large receive buffer is copied, too`() throws {
        let set: ValueSet = ["Data": .data(Data(repeating: 1, count: 20_000))]
        var buffer = ByteBuffer(bytes: try set.encoded())
        let count = buffer.readableBytes
        for _ in 0..<3 { buffer.writeBytes(try set.encoded()) }
        let slice = buffer.readSlice(length: count)
        let frame = try #require(slice)
        let read = try CBORReader.read(frame) { reader throws(ValueSetError) in try reader.readValueSet() }
        #expect(read == set)
        #expect(!Self.shares(try #require(read["Data"]?.data), frame))
    }

    private static func shares(_ data: Data, _ buffer: ByteBuffer) -> Bool {
        unsafe buffer.withUnsafeReadableBytes { bytes in
            unsafe data.withUnsafeBytes { part in
                guard let whole = bytes.baseAddress, let start = part.baseAddress else { return false }
                return unsafe start >= whole && start < whole + bytes.count
            }
        }
    }

    @Test(arguments: UInt64(0)..<100)
    func `any item can be skipped`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let value = generator.value()
        let buffer = ByteBuffer(bytes: try value.encoded() + [0x18, 42])
        let last = try CBORReader.read(buffer) { reader throws(ValueSetError) in
            try reader.skipItem()
            return try reader.readUnsigned()
        }
        #expect(last == 42, "seed \(seed)")
    }

    @Test(arguments: [
        "c249010000000000000000", "f7", "f0", "f820", "d9d9f7a0", "fb3ff0000000000000", "a10102", "3bffffffffffffffff",
    ])
    func `unknown items of later versions can be skipped`(_ hex: String) throws {
        try CBORReader.read(ByteBuffer(bytes: bytes(hex))) { reader throws(ValueSetError) in
            try reader.skipItem()
            try reader.finish()
        }
    }

    @Test(arguments: ["9fff", "5fff", "1c", "8201", "62", "fb00", "a1", "ff", "f8", "f800", "f818", "f81f"])
    func `a malformed item is not skipped`(_ hex: String) {
        #expect(throws: ValueSetError.self) {
            try CBORReader.read(ByteBuffer(bytes: bytes(hex))) { reader throws(ValueSetError) in try reader.skipItem() }
        }
    }

    @Test func `skipping is limited in depth`() {
        let buffer = ByteBuffer(bytes: bytes(String(repeating: "81", count: 10_000) + "00"))
        let error = #expect(throws: ValueSetError.self) {
            try CBORReader.read(buffer) { reader throws(ValueSetError) in try reader.skipItem() }
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test(arguments: [(32, true), (33, false)])
    func `skipped items have at most 32 levels, each array, dictionary and tag being one`(depth: Int, isTaken: Bool) {
        for level in ["81", "a100", "c1"] {
            let buffer = ByteBuffer(bytes: bytes(String(repeating: level, count: depth) + "00"))
            let read = Result {
                try CBORReader.read(buffer) { reader throws(ValueSetError) in
                    try reader.skipItem()
                    try reader.finish()
                }
            }
            #expect(((try? read.get()) != nil) == isTaken, "\(level)")
        }
    }

    @Test(arguments: [(32, true), (33, false)])
    func `a message has at most 32 levels: a set is one, the tags of dates, URLs and UUIDs are none`(
        depth: Int,
        isTaken: Bool
    ) {
        let scalars = ["00", "c100", "d82062613a", "d82550" + String(repeating: "00", count: 16)]
        for level in ["81", "a16161", "d9010281"] {
            for scalar in scalars {
                let value = bytes("a16161" + String(repeating: level, count: depth - 1) + scalar)
                #expect(((try? ValueSet(encoded: value)) != nil) == isTaken, "\(level) around \(scalar)")
            }
        }
    }

    @Test func `an item of another kind is refused with its place`() {
        let buffer = ByteBuffer(bytes: bytes("8201f5"))
        let error = #expect(throws: ValueSetError.self) {
            try CBORReader.read(buffer) { reader throws(ValueSetError) in
                _ = try reader.readArrayHead()
                _ = try reader.readUnsigned()
                _ = try reader.readValueSet()
            }
        }
        #expect(error?.code == .typeMismatch)
        #expect(error?.byteOffset == 2)
        #expect(error?.allowed == "a dictionary")
    }
}
