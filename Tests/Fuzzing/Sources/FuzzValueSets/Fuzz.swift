// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// Feeds the input to every reader. A reader must throw an error or return a valid value, and never crash.
///
/// A broken rule ends the process, which libFuzzer reports as a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    if let value = try? Value(encoded: input) { check(value, encodedAs: input) }
    if let value = try? Value(json: Data(input)) { check(value, readFrom: input) }
    return 0
}

/// Checks that the encoder reproduces every input that the decoder accepts, byte for byte.
private func check(_ value: Value, encodedAs input: [UInt8]) {
    guard (try? value.encoded()) == input else { fatalError("accepted, but not given back") }
    _ = (value.description, value.unredactedDescription.utf8.count)
    guard case .dictionary(let set) = value else { return }
    _ = try? AllowedValueSchema.appService.validate(set)
    _ = try? AllowedValueSchema.userActivity.validate(set)
    guard let schema = try? AllowedValueSchema(set) else { return }
    guard (try? AllowedValueSchema(schema.valueSet)) == schema else { fatalError("schema changed") }
    try? schema.validate(set)
}

/// Checks that a value read from JSON survives writing and reading, as far as JSON can express it, and that Foundation
/// accepts the text as JSON.
private func check(_ value: Value, readFrom input: [UInt8]) {
    if let json = try? value.json() {
        guard (try? Value(json: json)) == value else { fatalError("read, but not the same again") }
    }
    struct Anything: Decodable { init(from decoder: any Decoder) {} }
    guard (try? JSONDecoder().decode(Anything.self, from: Data(input))) != nil else { fatalError("read, but no JSON") }
}
