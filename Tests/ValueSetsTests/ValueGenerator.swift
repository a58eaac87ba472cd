// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// Generates values from a seed, always the same ones for the same seed.
struct ValueGenerator {
    /// SplitMix64: small, and good enough to choose test data.
    struct Randomness: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    private var randomness: Randomness
    /// Python limits dates to microseconds, and treats 1, 1.0 and True as one element of a set.
    private let forPython: Bool

    init(seed: UInt64, forPython: Bool = false) {
        randomness = Randomness(state: seed)
        self.forPython = forPython
    }

    mutating func set(depth: Int = 4) -> ValueSet {
        ValueSet((0..<int(0...8)).map { _ in (string(), value(depth: depth - 1)) })
    }

    mutating func value(depth: Int = 4) -> Value {
        switch int(0...(depth > 0 ? 12 : 9)) {
        case 0: .null
        case 1: .bool(Bool.random(using: &randomness))
        case 2: .integer(integer())
        case 3: Value(UInt64.random(in: 0 ... .max, using: &randomness))
        case 4, 5: .double(double())
        case 6: .string(string())
        case 7: .data(data())
        case 8: .date(secondsSince1970: seconds())
        case 9: uuidOrURL()
        case 10: .array((0..<int(0...6)).map { _ in value(depth: depth - 1) })
        case 11: .set(members(depth: depth - 1))
        default: .dictionary(set(depth: depth))
        }
    }

    private mutating func int(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &randomness)
    }

    private mutating func integer() -> Int64 {
        // Values around every length of the encoding, and any others.
        let edges: [Int64] = [0, 23, 24, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, .max]
        let edge = edges[int(0...(edges.count - 1))]
        switch int(0...2) {
        case 0: return edge
        case 1: return -1 - edge
        default: return Int64.random(in: .min ... .max, using: &randomness)
        }
    }

    private mutating func double() -> Double {
        let edges = [
            0.0, -0.0, 1.0, 65_504, 65_505, 0x1p-24, 0x1p-25, 0x1p-14, 0x1.ffcp-15, 1.1, .infinity, -.infinity, .nan,
            .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0x1p53, Double(Float.greatestFiniteMagnitude),
            Double(Float.leastNonzeroMagnitude),
        ]
        switch int(0...4) {
        case 0: return edges[int(0...(edges.count - 1))]
        case 1: return Double(Float(bitPattern: UInt32.random(in: 0 ... .max, using: &randomness)))
        case 2: return Double(int(-70_000...70_000)) / 32
        default: return Double(bitPattern: UInt64.random(in: 0 ... .max, using: &randomness))
        }
    }

    private mutating func seconds() -> Double {
        if forPython { return Double(int(-60_000_000_000...250_000_000_000)) + Double(int(0...63)) / 64 }
        switch int(0...2) {
        case 0: return Double(int(-10_000_000_000...10_000_000_000))
        case 1: return Double.random(in: 0...4e9, using: &randomness)
        default:
            let double = double()
            return double.isFinite ? double : 0.5
        }
    }

    private mutating func string() -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz$._ 0123456789éüßñ水𐅑👩‍👩‍👧\u{301}\"\\\u{0}\n")
        return String((0..<int(0...(int(0...9) == 0 ? 300 : 12))).map { _ in alphabet[int(0...(alphabet.count - 1))] })
    }

    private mutating func data() -> Data {
        Data((0..<int(0...40)).map { _ in UInt8.random(in: 0...255, using: &randomness) })
    }

    private mutating func uuidOrURL() -> Value {
        if Bool.random(using: &randomness),
            let url = URL(string: "https://example.com/\(int(0...1000))?q=\(int(0...9))")
        {
            return .url(url)
        }
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &randomness) }
        let hex = hex(bytes)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
            hex.dropFirst(range.lowerBound).prefix(range.count)
        }
        return UUID(uuidString: parts.joined(separator: "-")).map(Value.uuid) ?? .null
    }

    private mutating func members(depth: Int) -> Set<Value> {
        guard forPython else { return Set((0..<int(0...6)).map { _ in value(depth: depth) }) }
        // Of one type, since cbor2 orders the elements of a set by length before it compares their bytes.
        return Bool.random(using: &randomness)
            ? Set((0..<int(0...6)).map { _ in .string(string()) })
            : Set((0..<int(0...6)).map { _ in Value(UInt64.random(in: 0 ... .max, using: &randomness)) })
    }
}
