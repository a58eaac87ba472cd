// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

// The fuzzer's findings and its seeds: see Tests/Fuzzing.
@Suite struct CorpusTests {
    @Test func `every input of the fuzzer's corpus of values is refused or reproduced byte for byte`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fuzzing/Corpus/values")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count > 50)
        for file in files {
            let input = [UInt8](try Data(contentsOf: file))
            if let value = try? Value(encoded: input) {
                #expect(try value.encoded() == input, "\(file.lastPathComponent)")
            }
            if let value = try? Value(json: Data(input)), let json = try? value.json() {
                #expect(try Value(json: json) == value, "\(file.lastPathComponent)")
            }
            if file.lastPathComponent.hasPrefix("json-") {
                #expect(throws: Never.self) { try Value(json: Data(input)) }
            }
        }
    }
}
