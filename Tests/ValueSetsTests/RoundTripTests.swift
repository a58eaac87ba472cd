// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import ValueSets

@Suite struct RoundTripTests {
    @Test(arguments: UInt64(0)..<400)
    func `a generated set survives encoding bit by bit`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let set = generator.set()
        let bytes = try set.encoded()
        let decoded = try ValueSet(encoded: bytes)
        #expect(decoded == set, "seed \(seed)")
        #expect(decoded.hashValue == set.hashValue, "seed \(seed)")
        #expect(try decoded.encoded() == bytes, "seed \(seed)")
        #expect(try ValueSet(encoded: Data(bytes)) == set, "seed \(seed)")
    }

    @Test(arguments: UInt64(0)..<60)
    func `values are equal exactly if their encodings are`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let values = (0..<25).map { _ in generator.value(depth: 1) }
        for left in values {
            for right in values {
                let sameBytes = try left.encoded() == right.encoded()
                #expect((left == right) == sameBytes, "seed \(seed)")
                if sameBytes { #expect(left.hashValue == right.hashValue, "seed \(seed)") }
            }
        }
    }

    @Test(arguments: UInt64(0)..<40)
    func `no prefix of an encoding is accepted`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let bytes = try generator.set().encoded()
        for count in 0..<min(bytes.count, 300) {
            let error = #expect(throws: ValueSetError.self, "seed \(seed)") {
                try ValueSet(encoded: Array(bytes.prefix(count)))
            }
            #expect(error?.code == .truncated, "seed \(seed)")
        }
    }

    @Test(arguments: UInt64(0)..<200)
    func `a damaged encoding is refused or is itself canonical`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let bytes = try generator.set().encoded()
        for index in bytes.indices.prefix(120) {
            var damaged = bytes
            damaged[index] ^= UInt8(1 << (seed % 8))
            if let value = try? Value(encoded: damaged) {
                #expect(try value.encoded() == damaged, "seed \(seed), byte \(index)")
            }
        }
    }

    @Test(arguments: UInt64(0)..<200)
    func `a generated set survives JSON bit by bit`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let set = generator.set()
        guard let json = try? set.json() else { return }
        #expect(try ValueSet(json: json) == set, "seed \(seed)")
        #expect(try ValueSet(json: set.json(prettyPrinted: true)) == set, "seed \(seed)")
    }

    @Test(arguments: UInt64(0)..<200)
    func `a generated set survives the bridge to a Swift dictionary`(seed: UInt64) throws {
        var generator = ValueGenerator(seed: seed)
        let set = generator.set(depth: 2)
        guard Set(set.keys).count == set.count else { return }
        #expect(try ValueSet(bridging: set.bridged).keys.elementsEqual(set.keys), "seed \(seed)")
    }

    @Test func `a date is exact to the bit`() throws {
        for seconds in [1_700_000_000.123_456_7, 0.1, -0.1, 1e-300, 0x1p53 + 2, -1.5, 253_402_300_799.999] {
            let decoded = try Value(encoded: Value.date(secondsSince1970: seconds).encoded())
            guard case .date(let result) = decoded else {
                Issue.record("not a date")
                continue
            }
            #expect(result.bitPattern == seconds.bitPattern)
        }
    }

    @Test func `every double with half precision is exact`() throws {
        for bits in UInt16.min ... .max where bits & 0x7c00 != 0x7c00 || bits & 0x3ff == 0 || bits == 0x7e00 {
            let bytes = [0xf9, UInt8(bits >> 8), UInt8(bits & 0xff)]
            #expect(try Value(encoded: bytes).encoded() == bytes)
        }
    }
}
