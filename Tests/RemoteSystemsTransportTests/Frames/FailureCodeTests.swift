// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct FailureCodeTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Docs/wire-protocol.md")

    /// The codes of the page's one table: rows that begin with a code and have its five columns.
    private static func documented() throws -> [String] {
        try String(contentsOf: self.page, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: "|", omittingEmptySubsequences: false) }
            .filter { $0.count == 7 && $0[1].hasPrefix(" `") }
            .map { $0[1].trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
    }

    @Test func `the page's table has every code, and no other, once each`() throws {
        #expect(try Self.documented().sorted() == FailureCode.allCases.map(\.rawValue).sorted())
    }

    @Test func `every code has the form that receivers take, and is none of a service's own`() {
        for code in FailureCode.allCases {
            #expect(WireFailure(WireFailure("", code: code).valueSet).code == code.rawValue)
            #expect(!code.rawValue.contains("."))
        }
    }

    @Test func `a code that is not known here is kept`() {
        #expect(WireFailure(["code": "out-of-paper"]).code == "out-of-paper")
        #expect(WireFailure(["code": "com.example.out-of-paper"]).code == "com.example.out-of-paper")
    }

    @Test(
        arguments: [
            "", "Out of paper", "out_of_paper", "a\n", "é", .string(String(repeating: "x", count: 65)), 7, .null,
        ]
            as [Value]
    )
    func `what has not the form of a code counts as none`(value: Value) {
        #expect(WireFailure(["code": value]).code == nil)
    }

    @Test func `a failure without a code does not say one`() {
        #expect(WireFailure("No.").valueSet == ["text": "No.", "retry": false])
    }
}
