// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// `pair` on two simulated machines, over the loopback interface. The tests type what a person would.
    @Suite struct Pair {
        /// A command with a standard input to type into.
        private struct Typed {
            let command: RunningCommand
            let keyboard: FileHandle

            /// Waits for the digits of this machine.
            func digits() async throws -> String {
                try #require(try await self.command.event("compare")["digits"] as? String)
            }

            func type(_ text: String) throws { try self.keyboard.write(contentsOf: Data((text + "\n").utf8)) }
        }

        private static func start(
            _ sandbox: Sandbox,
            _ arguments: [String],
            as machine: String = "own"
        ) throws -> Typed {
            let pipe = "\(sandbox.directory)/\(UUID()).keyboard"
            guard unsafe mkfifo(pipe, 0o600) == 0 else { throw IntegrationError("no pipe") }
            // Open for reading, too: a command that opens the pipe does not wait for a writer then.
            let keyboard = try #require(FileHandle(forUpdatingAtPath: pipe))
            let command = try sandbox.start(
                ["pair", "--loopback", "--json"] + arguments,
                as: machine,
                around: ["/bin/sh", "-c", #"exec "$@" <"$0""#, pipe]
            )
            return Typed(command: command, keyboard: keyboard)
        }

        private static func pair(
            _ sandbox: Sandbox,
            waiting: [String] = [],
            connecting: [String] = [],
            wrongly: Bool = false,
            _ body: (_ waiting: Typed, _ connecting: Typed) async throws -> Void
        ) async throws {
            let first = try Self.start(sandbox, waiting)
            do {
                let ready = try await first.command.event("waiting")
                let address = try #require((ready["addresses"] as? [String])?.first)
                let second = try Self.start(sandbox, [address] + connecting, as: "bo")
                do {
                    try second.type(wrongly ? "000" : try await first.digits())
                    try first.type(try await second.digits())
                    try await body(first, second)
                } catch {
                    await second.command.process.stop()
                    throw error
                }
                await second.command.process.stop()
            } catch {
                await first.command.process.stop()
                throw error
            }
            await first.command.process.stop()
        }

        @Test func `a machine joins after the digits of the other one were typed on both`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.pair(sandbox) { first, second in
                    let joined = try await second.command.event("joined")
                    let admitted = try await first.command.event("admitted")
                    #expect(joined["systemID"] as? String == admitted["systemID"] as? String)
                    #expect(try await first.command.finish().status == 0)
                    #expect(try await second.command.finish().status == 0)
                }
                #expect(
                    try await sandbox.account()["accountID"] as? String
                        == (try await sandbox.account("bo"))["accountID"] as? String
                )
            }
        }

        @Test func `wrong digits change nothing, and the other machine waits on`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.pair(sandbox, wrongly: true) { first, second in
                    let ended = try await second.command.finish()
                    #expect(ended.status == 1)
                    #expect(ended.event("failed")?["reason"] as? String == "pairingDenied")
                    _ = try await first.command.event("failed")
                    #expect(first.command.process.exitCode == nil)
                }
                #expect(try await sandbox.account()["joined"] as? [String] == [])
            }
        }

        @Test func `two accounts are linked with rights, which are listed and withdrawn`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.pair(
                    sandbox,
                    waiting: ["--link", "--service", "test.volume", "--days", "7"],
                    connecting: ["--link", "--scheme", "https", "--name", "Bo"]
                ) { first, second in
                    let link = try await first.command.event("linked")
                    #expect(link["name"] as? String == "Bo")
                    _ = try await second.command.event("linked")
                    #expect(try await second.command.finish().status == 0)
                }
                let link = try #require(try await sandbox.run("account", "links", "--json").event("link"))
                #expect((link["granted"] as? [String: Any])?["services"] as? [String] == ["test.volume"])
                #expect((link["received"] as? [String: Any])?["schemes"] as? [String] == ["https"])
                #expect(try await sandbox.run("account", "unlink", "Bo", "--loopback").status == 0)
            }
        }

        @Test func `a machine that is admitted is listed under the name that it gave when it paired`() async throws {
            try await Sandbox.with { sandbox in
                var joined = ""
                try await Self.pair(sandbox, connecting: ["--name", "Bo"]) { first, second in
                    joined = try #require(try await first.command.event("admitted")["systemID"] as? String)
                    #expect(try await second.command.finish().status == 0)
                }
                let listed = try await sandbox.run("account", "systems", "--json")
                let system = try #require(listed.json.first { $0["id"] as? String == joined })
                #expect(system["name"] as? String == "Bo")
            }
        }

        @Test func `the connecting machine gets advice about what it wants, not about links`() async throws {
            try await Sandbox.with { sandbox in
                let waiting = try Self.start(sandbox, ["--leave-account"])
                do {
                    let ready = try await waiting.command.event("waiting")
                    let address = try #require((ready["addresses"] as? [String])?.first)
                    let connecting = try Self.start(sandbox, [address, "--leave-account"], as: "bo")
                    let ended = try await connecting.command.finish()
                    let failure = try #require(ended.event("failed"))
                    #expect(failure["reason"] as? String == "pairingMismatch")
                    let message = try #require(failure["message"] as? String)
                    #expect(message.contains("without '--leave-account'") && !message.contains("link two accounts"))
                } catch {
                    await waiting.command.process.stop()
                    throw error
                }
                await waiting.command.process.stop()
            }
        }

        @Test func `a machine that can neither admit nor join fails at once, and says where to pair`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.pair(sandbox) { first, second in
                    let ended = (try await first.command.finish(), try await second.command.finish())
                    #expect(ended.0.status == 0 && ended.1.status == 0)
                }
                for arguments in [[], ["127.0.0.1:9"], ["--find"]] as [[String]] {
                    let ended = try await sandbox.start(["pair", "--loopback", "--json"] + arguments, as: "bo").finish()
                    let failure = try #require(ended.event("failed"))
                    #expect(ended.status == 2 && ended.event("waiting") == nil)
                    #expect(failure["reason"] as? String == "notAuthority")
                    let message = try #require(failure["message"] as? String)
                    #expect(message.contains("machine with the root key") && message.contains("'--leave-account'"))
                    // The machine that waits may be the one with the root key.
                    #expect(message.contains("nothing to pair") == !arguments.isEmpty)
                }
            }
        }

        @Test func `arguments that make no sense are refused`() async throws {
            try await Sandbox.with { sandbox in
                for arguments in [
                    ["--service", "test.volume"], ["--link", "--leave-account"], ["127.0.0.1"], ["127.0.0.1:0"],
                    ["127.0.0.1:9", "--port", "9"], ["--port", "70000"], ["--link", "--days", "0"],
                    ["--link", "--service", "*"], ["--link", "--scheme", "https:"],
                    ["--link", "--days", "5"],
                ] {
                    let ended = try await sandbox.start(["pair", "--loopback"] + arguments).finish()
                    #expect(ended.status == 64, "\(arguments)")
                }
            }
        }
    }
}
