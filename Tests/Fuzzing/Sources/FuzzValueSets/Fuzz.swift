// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ValueSets

/// What the decoder accepts, the encoder must give back byte for byte; everything else must be an error, never a crash.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    if let value = try? Value(encoded: input) {
        guard (try? value.encoded()) == input else { fatalError("accepted, but not given back") }
        _ = (value.description, value.unredactedDescription.utf8.count)
        if case .dictionary(let set) = value {
            _ = try? AllowedValueSchema.appService.validate(set)
            _ = try? AllowedValueSchema.userActivity.validate(set)
            if let schema = try? AllowedValueSchema(set) {
                guard (try? AllowedValueSchema(schema.valueSet)) == schema else { fatalError("schema changed") }
                try? schema.validate(set)
            }
        }
    }
    return 0
}
