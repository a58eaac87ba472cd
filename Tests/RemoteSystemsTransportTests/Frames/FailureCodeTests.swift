// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct FailureCodeTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Docs/wire-protocol.md")

    /// The codes of the document's only table: rows that begin with a code and have its five columns.
    private static func documented() throws -> [String] {
        try String(contentsOf: self.page, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: "|", omittingEmptySubsequences: false) }
            .filter { $0.count == 7 && $0[1].hasPrefix(" `") }
            .map { $0[1].trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
    }

    @Test func `the document's table has every code exactly once, and no other`() throws {
        #expect(try Self.documented().sorted() == FailureCode.allCases.map(\.rawValue).sorted())
    }

    @Test func `every code has the form that receivers accept, and is not in the services' namespace`() {
        for code in FailureCode.allCases {
            #expect(WireFailure(WireFailure("", code: code).valueSet).code == code.rawValue)
            #expect(!code.rawValue.contains("."))
        }
    }

    @Test func `an unknown code is kept`() {
        #expect(WireFailure(["code": "out-of-paper"]).code == "out-of-paper")
        #expect(WireFailure(["code": "com.example.out-of-paper"]).code == "com.example.out-of-paper")
    }

    @Test(
        arguments: [
            "", "Out of paper", "out_of_paper", "a\n", "é", .string(String(repeating: "x", count: 65)), 7, .null,
        ]
            as [Value]
    )
    func `a code of another form is treated as missing`(value: Value) {
        #expect(WireFailure(["code": value]).code == nil)
    }

    @Test func `a failure without a code contains none`() {
        #expect(WireFailure("No.").valueSet == ["text": "No.", "retry": false])
    }
}
