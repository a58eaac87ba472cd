// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension CommandTests {
    /// A joiner that shares no code with ours: Python's `ssl`, cbor2 and cryptography, written from the wire protocol
    /// document alone.
    @Suite struct IndependentJoining {
        private static let interpreter = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"

        /// Why the tests cannot run; nil where `CI` is set, so that missing packages are a failure there.
        static let obstacle: String? = {
            guard ProcessInfo.processInfo.environment["CI"] == nil else { return nil }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [interpreter, "-c", "import cbor2, cryptography"]
            process.standardError = FileHandle.nullDevice
            if (try? process.run()) != nil {
                process.waitUntilExit()
                if process.terminationStatus == 0 { return nil }
            }
            let text = "SKIPPED: joining by an independent client needs python3 with cbor2 and cryptography"
            FileHandle.standardError.write(Data((text + "\n").utf8))
            return text
        }()

        /// - Returns: The lines that the script printed.
        private static func join(_ uri: String, _ sandbox: Sandbox) async throws -> [String] {
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../Independent/join_account.py").path
            let (directory, input) = (sandbox.directory + "/python", sandbox.directory + "/invitation")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data(uri.utf8).write(to: URL(fileURLWithPath: input))
            let process = try ChildProcess(
                ["/bin/sh", "-c", #"exec "$0" "$1" "$2" <"$3""#, Self.interpreter, script, directory, input],
                readsErrors: true
            )
            _ = try await process.exit(within: .seconds(60))
            return try await process.allLines()
        }

        @Test(.enabled(if: obstacle == nil, "needs python3 with cbor2 and cryptography"))
        func `a client written from the wire protocol document alone joins`() async throws {
            try await Sandbox.with { sandbox in
                var printed: [String] = []
                let inviting = try await Account.whileInviting(sandbox) { _, uri in
                    printed = try await Self.join(uri, sandbox)
                }
                #expect(inviting.status == 0)
                #expect(inviting.event("joined")?["systemID"] as? String == printed.last)
            }
        }

        @Test(.enabled(if: obstacle == nil, "needs python3 with cbor2 and cryptography"))
        func `a client with a wrong secret gets that error`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { inviting, uri in
                    let start = try #require(uri.range(of: "secret="))
                    let wrong = String(uri[..<start.upperBound]) + String(repeating: "a", count: 26)
                    #expect(try await Self.join(wrong, sandbox) == ["refused: wrong-secret"])
                    inviting.process.send(SIGINT)
                }
            }
        }
    }
}
