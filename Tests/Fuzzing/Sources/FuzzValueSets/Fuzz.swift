// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// Whatever the bytes, every reader must refuse them with an error or keep the rules of what it gives; never crash.
///
/// Ending the process is how libFuzzer is told that a rule was broken.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    if let value = try? Value(encoded: input) { check(value, encodedAs: input) }
    if let value = try? Value(json: Data(input)) { check(value, readFrom: input) }
    return 0
}

/// What the decoder accepts, the encoder must give back byte for byte.
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

/// What is read from JSON must be the same when it is written and read again, as far as JSON can write it, and Foundation
/// must take the text for JSON, too.
private func check(_ value: Value, readFrom input: [UInt8]) {
    if let json = try? value.json() {
        guard (try? Value(json: json)) == value else { fatalError("read, but not the same again") }
    }
    struct Anything: Decodable { init(from decoder: any Decoder) {} }
    guard (try? JSONDecoder().decode(Anything.self, from: Data(input))) != nil else { fatalError("read, but no JSON") }
}
