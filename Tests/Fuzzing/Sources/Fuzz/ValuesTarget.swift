// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// Feeds the input to every reader. A reader must throw an error or return a valid value, and never crash.
///
/// A broken rule ends the process, which libFuzzer reports as a finding.
func fuzzValues(_ input: [UInt8]) {
    if let value = try? Value(encoded: input) { check(value, encodedAs: input) }
    if let value = try? Value(json: Data(input)) { check(value, readFrom: input) }
}

/// Checks that the encoder reproduces every input that the decoder accepts, byte for byte.
private func check(_ value: Value, encodedAs input: [UInt8]) {
    guard (try? value.encoded()) == input else { broken("accepted, but not given back") }
    _ = (value.description, value.unredactedDescription.utf8.count)
    guard case .dictionary(let set) = value else { return }
    _ = try? AllowedValueSchema.appService.validate(set)
    _ = try? AllowedValueSchema.userActivity.validate(set)
    guard let schema = try? AllowedValueSchema(set) else { return }
    guard (try? AllowedValueSchema(schema.valueSet)) == schema else { broken("schema changed") }
    try? schema.validate(set)
}

/// Checks that a value read from JSON survives writing and reading, as far as JSON can express it, and that Foundation
/// accepts the text as JSON.
private func check(_ value: Value, readFrom input: [UInt8]) {
    if let json = try? value.json() {
        guard (try? Value(json: json)) == value else { broken("read, but not the same again") }
    }
    struct Anything: Decodable { init(from decoder: any Decoder) {} }
    guard (try? JSONDecoder().decode(Anything.self, from: Data(input))) != nil else { broken("read, but no JSON") }
}
