// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// Changes one part of an encoded value, and encodes it again; `nil` if the bytes are no encoded value.
///
/// Almost every change of single bytes breaks the canonical encoding, and the decoder then ends early. This mutation
/// reaches the code behind the decoder.
func mutateValue(_ input: [UInt8], _ random: inout SplitMix64) -> [UInt8]? {
    guard let value = try? Value(encoded: input) else { return nil }
    return try? changed(value, &random).encoded()
}

private func changed(_ value: Value, _ random: inout SplitMix64) -> Value {
    // Collections are entered more often than replaced.
    switch value {
    case .array(var array) where !array.isEmpty && Int.random(in: 0..<8, using: &random) > 0:
        let index = Int.random(in: 0..<array.count, using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: array.remove(at: index)
        case 1: array.insert(array[index], at: index)
        case 2: array.append(interesting(&random))
        default: array[index] = changed(array[index], &random)
        }
        return .array(array)
    case .dictionary(var set) where !set.isEmpty && Int.random(in: 0..<8, using: &random) > 0:
        guard let key = set.map(\.key).sorted().randomElement(using: &random), let old = set[key] else {
            return value
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: set[key] = nil
        case 1: set[key + "x"] = old
        case 2: set[words.randomElement(using: &random) ?? "x"] = interesting(&random)
        default: set[key] = changed(old, &random)
        }
        return .dictionary(set)
    case .string(let text) where Bool.random(using: &random):
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .string(text + text)
        case 1: return .string(String(text.dropLast()))
        case 2: return .string(text + "\u{1B}[2J")
        default: return .string(text + (words.randomElement(using: &random) ?? ""))
        }
    case .data(let data) where Bool.random(using: &random):
        var data = data
        if let index = data.indices.randomElement(using: &random) {
            data[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        }
        return .data(data)
    case .integer(let number) where Bool.random(using: &random):
        return .integer(number &+ Int64.random(in: -2...2, using: &random))
    default:
        return interesting(&random)
    }
}

private func interesting(_ random: inout SplitMix64) -> Value {
    switch Int.random(in: 0..<14, using: &random) {
    case 0: .null
    case 1: .bool(Bool.random(using: &random))
    case 2: .integer(0)
    case 3: .integer(numbers.randomElement(using: &random) ?? 1)
    case 4: .integer(Bool.random(using: &random) ? .min : .max)
    case 5: .unsigned(.max)
    case 6: .double(doubles.randomElement(using: &random) ?? 0)
    case 7: .string(words.randomElement(using: &random) ?? "")
    case 8: .string(String(repeating: "a", count: Int.random(in: 0...1400, using: &random)))
    case 9: .data(Data(repeating: 7, count: Int.random(in: 0...600, using: &random)))
    case 10: .array([])
    case 11: .dictionary([:])
    case 12: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
    default: .date(secondsSince1970: 1e9)
    }
}

private let numbers: [Int64] = [1, -1, 9, 12, 255, 256, 1023, 1024, 65_535, 65_536, 1 << 31, 1 << 32]
private let doubles: [Double] = [0, -0.0, .nan, .infinity, 1e300, 0.5]

/// Keys and names of the protocol, and texts that are unusual.
private let words = [
    "version", "service", "application", "target", "limit", "window", "window-bytes", "features", "requires", "stream",
    "ticket", "purpose", "text", "code", "retry", "port", "topic", "schema", "credit", "epoch", "after", "from", "to",
    "part", "put", "drop", "reason", "nonce", "request", "certificate", "root-certificate", "discovery-key",
    "request-schema", "base", "fields", "furtherKeys", "type", "of", "required", "system", "application", "attribute/a",
    "service/a", "installed/a", "running/a", "process/0/application", "DisplayName", "Kind", "Platform", "Id", "Value",
    "Schemes", "Number", "Port", "Epoch", "Bytes", "presence", "trust", "list/0", "roots/0", "notes", "note/1",
    "note/2", "remote-systems.stream", "remote-systems.presence", "", "\u{0}", "\u{202E}", "a\u{301}", "\u{FFFD}", "é",
]
