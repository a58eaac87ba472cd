// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension CommandTests {
    /// Golden values: the bytes printed here are the bytes on the wire.
    @Suite struct Values {
        static let golden: [(json: String, hex: String)] = [
            ("{}", "a0"),
            (#"{"a":1}"#, "a1616101"),
            (#"{"Type":"ping"}"#, "a1645479706564" + "70696e67"),
            (#"{"$date":1.5}"#, "c1f93e00"),
            (#"{"$uuid":"00112233-4455-6677-8899-AABBCCDDEEFF"}"#, "d82550" + "00112233445566778899aabbccddeeff"),
            (#"{"$data":"AQID"}"#, "43010203"),
            (#"{"$url":"https://example.com/"}"#, "d8207468747470733a2f2f6578616d706c652e636f6d2f"),
            (#"{"$set":[1,2]}"#, "d90102820102"),
            (#"{"$double":1}"#, "f93c00"),
            (#"[null,true,-1,"é"]"#, "84f6f52062c3a9"),
            (#"{"$$date":1}"#, "a165246461746501"),
            ("18446744073709551615", "1bffffffffffffffff"),
        ]

        @Test(arguments: golden)
        func `JSON and CBOR convert into each other`(json: String, hex: String) async throws {
            try await Sandbox.with { sandbox in
                let encoded = try await sandbox.run("values", "encode", json)
                #expect(encoded.status == 0)
                #expect(encoded.lines == [hex])
                let decoded = try await sandbox.run("values", "decode", hex)
                #expect(decoded.status == 0)
                #expect(decoded.lines == [json])
            }
        }

        @Test func `standard input, base64 and raw bytes are accepted, too`() async throws {
            try await Sandbox.with { sandbox in
                let base64 = try await sandbox.start(
                    ["values", "encode", "--format", "base64"],
                    input: Array(#" {"a": 1} "#.utf8)
                ).finish()
                #expect(base64.lines == ["oWFhAQ=="])
                let decoded = try await sandbox.start(
                    ["values", "decode", "-", "--format", "base64"],
                    input: Array("oWFh\nAQ==\n".utf8)
                ).finish()
                #expect(decoded.lines == [#"{"a":1}"#])
                let raw = try await sandbox.run("values", "decode", "--format", "raw", input: [0xA1, 0x61, 0x61, 0x01])
                #expect(raw.lines == [#"{"a":1}"#])
                let hex = try await sandbox.run("values", "decode", input: Array("a1 61\n61 01\n".utf8))
                #expect(hex.lines == [#"{"a":1}"#])
            }
        }

        @Test func `with --json the value and its size are reported`() async throws {
            try await Sandbox.with { sandbox in
                let encoded = try #require(try await sandbox.run("values", "encode", #"{"a":1}"#, "--json").json.first)
                #expect(encoded["data"] as? String == "a1616101")
                #expect(encoded["bytes"] as? Int == 4)
                #expect(encoded["format"] as? String == "hex")
                let decoded = try #require(try await sandbox.run("values", "decode", "a1616101", "--json").json.first)
                #expect(decoded["value"] as? [String: Int] == ["a": 1])
                #expect(decoded["bytes"] as? Int == 4)
            }
        }

        /// CBOR, the error's reason, its byte offset and its key path.
        static let refused: [(hex: String, reason: String, offset: Int?, keyPath: String?)] = [
            ("a16161", "truncated", 3, "a"),
            ("a1616100ff", "trailingBytes", 4, nil),
            ("a161611801", "notCanonical", 3, "a"),
            ("a2616101616102", "duplicateKey", 4, "a"),
            ("a16161a16162f7", "unsupported", 6, "a.b"),
            ("9f01ff", "unsupported", 0, nil),
            ("a1010", "invalidText", 5, nil),
            ("zz", "invalidText", 0, nil),
        ]

        @Test(arguments: refused)
        func `invalid CBOR is refused with its place`(
            hex: String,
            reason: String,
            offset: Int?,
            keyPath: String?
        ) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.run("values", "decode", hex, "--json")
                #expect(finished.status == 1)
                let failure = try #require(finished.event("failed"))
                #expect(failure["reason"] as? String == reason)
                #expect(failure["byteOffset"] as? Int == offset)
                #expect(failure["keyPath"] as? String == keyPath)
                let plain = try await sandbox.run("values", "decode", hex)
                #expect(plain.status == 1)
                #expect(plain.errors.hasPrefix("remotesystems: "))
                #expect(plain.lines.isEmpty)
            }
        }

        @Test func `broken JSON is refused with its place`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.run("values", "encode", "[1,]", "--json")
                #expect(finished.status == 1)
                #expect(finished.event("failed")?["byteOffset"] as? Int == 3)
                let plain = try await sandbox.run("values", "encode", "[1,]")
                #expect(plain.errors.contains("line 1, column 4"))
            }
        }

        @Test(arguments: ["{", "", "[1,]", "[1,,2]", #"{"$date":"x"}"#, #"{"$uuid":1}"#, #"{"a":{"$nothing":1}}"#])
        func `text that is not a value is refused`(json: String) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.run("values", "encode", "--json", input: Array(json.utf8))
                #expect(finished.status == 1)
                #expect(finished.event("failed") != nil)
            }
        }

        @Test func `a schema reports where a value is not allowed`() async throws {
            try await Sandbox.with { sandbox in
                let json = #"{"a":{"b":{"$data":"AQID"}}}"#
                let refused = try await sandbox.run("values", "encode", json, "--schema", "appService", "--json")
                #expect(refused.status == 1)
                #expect(refused.event("failed")?["keyPath"] as? String == "a.b")
                #expect(try await sandbox.run("values", "encode", json, "--schema", "full").status == 0)
                #expect(try await sandbox.run("values", "encode", "[1]", "--schema", "full").status == 1)
            }
        }
    }
}
