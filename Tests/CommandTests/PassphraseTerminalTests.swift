// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension CommandTests {
    /// The question for a passphrase, as a person sees it.
    @Suite struct PassphraseTerminal {
        private static func with(
            _ command: String,
            _ file: String,
            _ sandbox: Sandbox,
            around: [String] = [],
            _ body: (Terminal, RunningCommand) async throws -> Void
        ) async throws {
            let terminal = try Terminal()
            #expect(terminal.echoes)
            let running = try sandbox.start(["account", command, file], around: terminal.aroundSession + around)
            do {
                try await body(terminal, running)
            } catch {
                await running.process.stop()
                throw error
            }
        }

        @Test(arguments: ["export", "import"], [SIGTERM, SIGHUP, SIGINT])
        func `a signal at the question ends the command, and the terminal shows again what is typed`(
            command: String,
            signal: Int32
        ) async throws {
            try await Sandbox.with { sandbox in
                let file = sandbox.directory + "/recovery"
                try await Self.with(command, file, sandbox) { terminal, running in
                    try await terminal.wait(for: "Passphrase: ")
                    #expect(!terminal.echoes)
                    running.process.send(signal)
                    let finished = try await running.finish()
                    #expect(finished.status == 128 + signal)
                    #expect(terminal.echoes)
                    #expect(!FileManager.default.fileExists(atPath: file))
                }
            }
        }

        @Test func `a signal that the command was started to ignore does not end it at the question`() async throws {
            try await Sandbox.with { sandbox in
                let file = sandbox.directory + "/recovery"
                let ignoring = ["/bin/sh", "-c", #"trap "" HUP; exec "$@""#, "sh"]
                try await Self.with("export", file, sandbox, around: ignoring) { terminal, running in
                    try await terminal.wait(for: "Passphrase: ")
                    running.process.send(SIGHUP)
                    try terminal.type("correct horse battery")
                    try await terminal.wait(for: "Repeat the passphrase: ")
                    try terminal.type("correct horse battery")
                    let finished = try await running.finish()
                    #expect(finished.status == 0, "\(terminal.shown)")
                    #expect(FileManager.default.fileExists(atPath: file))
                }
            }
        }

        @Test func `the passphrase is not shown, and the terminal shows what is typed afterwards`() async throws {
            try await Sandbox.with { sandbox in
                let file = sandbox.directory + "/recovery"
                try await Self.with("export", file, sandbox) { terminal, running in
                    for question in ["Passphrase: ", "Repeat the passphrase: "] {
                        try await terminal.wait(for: question)
                        try terminal.type("correct horse battery")
                    }
                    let finished = try await running.finish()
                    #expect(finished.status == 0, "\(terminal.shown)")
                    #expect(!terminal.shown.contains("horse"))
                    #expect(terminal.echoes)
                    #expect(FileManager.default.fileExists(atPath: file))
                }
            }
        }
    }
}
