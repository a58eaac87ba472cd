// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `Docs/wire-protocol.cddl` is valid for other CDDL tools (RFC 8610). ``WireVectorTests`` checks that it fits the
/// vectors.
@Suite struct GrammarTests {
    private static let root = (1...4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    private static let grammar = Self.root.appending(path: "Docs/wire-protocol.cddl")

    /// The names that RFC 8610, appendix D, defines. A rule with such a name makes tools refuse the file.
    private static let prelude = Set(
        """
        any uint nint int bstr bytes tstr text tdate time number biguint bignint bigint integer unsigned decfrac \
        bigfloat \
        eb64url eb64legacy eb16 encoded-cbor uri b64url b64legacy regexp mime-message cbor-any float16 float32 float64 \
        float16-32 float32-64 float false true bool nil null undefined
        """.split(separator: " ").map(String.init)
    )

    /// The grammar without comments and text literals.
    private static func lines() throws -> [String] {
        try String(contentsOf: self.grammar, encoding: .utf8).split(separator: "\n").map { line in
            line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                .map { $0.offset.isMultiple(of: 2) ? String($0.element) : "" }.joined(separator: " ")
                .split(separator: ";", omittingEmptySubsequences: false).first.map(String.init) ?? ""
        }
    }

    private static func rules() throws -> [String] {
        try self.lines().compactMap { $0.firstMatch(of: /^([A-Za-z][A-Za-z0-9-]*) =/).map { String($0.1) } }
    }

    @Test func `no rule has a name of the prelude, and none is defined twice`() throws {
        let rules = try Self.rules()
        #expect(rules.count > 40)
        #expect(rules.filter { Self.prelude.contains($0) } == [])
        #expect(Set(rules).count == rules.count)
    }

    @Test func `every name in use is defined, and every rule is used or is a whole message`() throws {
        let defined = try Set(Self.rules())
        // Names of map keys come before a colon.
        let used = try Set(
            Self.lines().flatMap { line in
                line.replacing(/[A-Za-z][A-Za-z0-9-]*:/, with: " ").replacing(/\.[a-z]+\s/, with: " ")
                    .replacing(/^[A-Za-z][A-Za-z0-9-]* =/, with: " ")
                    .matches(of: /[A-Za-z][A-Za-z0-9-]*/).map { String($0.output) }
            }
        )
        #expect(used.subtracting(defined).subtracting(Self.prelude) == [])
        let whole = ["frame", "join-message", "schema", "ping-request", "ping-response"]
        let messages = defined.subtracting(used)
        #expect(messages.allSatisfy { whole.contains($0) || $0.contains("-") }, "\(messages.sorted())")
    }

    @Test func `each type of a notification request has a rule among the requests of its sender`() throws {
        let messages = Self.root.appending(path: "Sources/UserNotifications/Remote/NotificationMessage.swift")
        let types = try String(contentsOf: messages, encoding: .utf8)
            .matches(of: /static let [a-z]+ = "([a-z]+)"/).map { String($0.1) }
        #expect(types.count > 20)
        let grammar = try String(contentsOf: Self.grammar, encoding: .utf8)
        let choices = grammar.matches(of: /notification-(?:request|pushed) = ([a-z\s\/-]+)\n[a-z-]+ =/)
            .map { String($0.1) }.joined(separator: " ").split { $0 == "/" || $0.isWhitespace }.map(String.init)
        let rules = grammar.replacing("{\n  Type:", with: "{ Type:")
        for type in types {
            #expect(rules.contains("\nnotification-\(type) = { Type: \"\(type)\""), "\(type)")
            #expect(choices.contains("notification-\(type)"), "\(type)")
        }
    }

    @Test func `a second tool accepts the grammar, and validates all sent messages with it`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let python = environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"
        do {
            try await runProcess("/usr/bin/env", [python, "-c", "import cbor2, pycddl"])
        } catch {
            // In CI all modules must be installed, so a missing one is a failure and no reason to skip.
            guard environment["CI"] == nil else { throw error }
            print("SKIPPED: \(python) has no pycddl. The grammar is not checked with it; Scripts/test has it.")
            return
        }
        let complaints = try await runProcess(
            "/bin/sh",
            [
                "-c", "\"$0\" \"$@\" || true", python,
                Self.root.appending(path: "Tests/Independent/grammar_check.py").path,
                Self.grammar.path, Self.root.appending(path: "Docs/wire-vectors.json").path,
            ]
        )
        #expect(String(decoding: complaints, as: UTF8.self) == "all right\n")
    }
}
