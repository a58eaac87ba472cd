// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension CommandTests {
    /// `remotesystems serve --conformance` against Python clients that were written from the wire protocol document
    /// alone.
    @Suite struct Conformance {
        @Test(.enabled(if: IndependentJoining.obstacle == nil, "needs python3 with cbor2 and cryptography"))
        func `a conforming client breaks no rule, and each broken rule is reported`() async throws {
            try await Sandbox.with { sandbox in
                let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                let process = try ChildProcess(
                    [
                        Python.interpreter, "-B",
                        tests.appendingPathComponent("../Independent/conformance_check.py").path,
                        try builtProgram("remotesystems"), sandbox.directory + "/conformance",
                        tests.appendingPathComponent("../../Docs/wire-vectors.json").path,
                    ],
                    readsErrors: true
                )
                do {
                    let status = try await process.exit(within: .seconds(110))
                    let lines = try await process.allLines()
                    for line in lines where line.hasPrefix("FAIL ") { Issue.record("\(line)") }
                    #expect(status == 0, "\(lines.suffix(3))")
                    // Guards against a run that tested nothing.
                    #expect(lines.count(where: { $0.hasPrefix("ok broken: ") }) >= 60)
                    let rules = lines.last?.prefix { $0.isNumber }.description ?? ""
                    #expect((Int(rules) ?? 0) >= 24, "\(lines.last ?? "")")
                } catch {
                    await process.stop()
                    throw error
                }
            }
        }

        /// The rules in the table of the implementers' document, in its order.
        private static func documentedRules() throws -> [String] {
            let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../Docs/implementing-the-protocol.md")
            let text = try String(contentsOf: page, encoding: .utf8)
            let table = try #require(text.range(of: "| rule | section |"))
            return text[table.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| `") }
                .map { String($0.dropFirst(3).prefix { $0 != "`" }) }
        }

        @Test func `--conformance requires a directory and excludes options that reach other systems`() async throws {
            try await Sandbox.with { sandbox in
                for arguments in [
                    ["--conformance"], ["--identity-directory", "x"],
                    ["--conformance", "--identity-directory", "x", "--anyone-nearby"],
                    ["--conformance", "--identity-directory", "x", "--interface", "eth0"],
                ] {
                    let finished = try await sandbox.start(["serve"] + arguments).finish()
                    #expect(finished.status == 64, "\(arguments)")
                    #expect(finished.errors.contains("--conformance"))
                }
            }
        }

        @Test func `the client's identity is readable by its owner only, and unexercised rules are listed`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let directory = sandbox.directory + "/identity"
                let running = try sandbox.start([
                    "serve", "--conformance", "--identity-directory", directory, "--port", "0", "--json",
                ])
                let ready = try await running.event("ready")
                #expect(ready["directory"] as? String == directory)
                for name in ["key.pem", "certificate.pem", "certificate.der", "root.pem", "root.der", "discovery-key"] {
                    let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
                    #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
                }
                running.process.send(SIGINT)
                let finished = try await running.finish()
                #expect(finished.status == 0)
                let summary = finished.event("stopped")
                #expect((summary?["kept"] as? [String])?.isEmpty == true)
                let rules = summary?["neverExercised"] as? [String] ?? []
                #expect(rules.contains("window-exceeded"))
                #expect(try Self.documentedRules() == rules)
            }
        }
    }
}
