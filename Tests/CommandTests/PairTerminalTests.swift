// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import Testing

extension CommandTests {
    /// `pair` on two simulated machines with a terminal each, as two persons see it.
    @Suite struct PairTerminal {
        private struct Machine {
            let terminal: Terminal
            let command: RunningCommand

            static func start(_ sandbox: Sandbox, _ arguments: [String], as machine: String) throws -> Machine {
                let terminal = try Terminal()
                let command = try sandbox.start(arguments, as: machine, around: terminal.around)
                return Machine(terminal: terminal, command: command)
            }

            static let question = "Does the other machine show the same digits? [y/N] "

            /// Waits for the question, and returns the digits above it.
            func digits() async throws -> String {
                let shown = try await self.terminal.wait(for: Self.question)
                let digits = shown.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
                    .last { $0.wholeMatch(of: /\d{3} \d{3}/) != nil }
                return try #require(digits, "\(shown)")
            }
        }

        private static func with(
            _ sandbox: Sandbox,
            options: [String] = [],
            typedBefore early: String? = nil,
            _ body: (_ waiting: Machine, _ connecting: Machine) async throws -> Void
        ) async throws {
            let waiting = try Machine.start(sandbox, ["pair", "--loopback"] + options, as: "own")
            do {
                let shown = try await waiting.terminal.wait(for: "Ctrl-C stops.")
                // As a person copies it.
                let command = /remotesystems (pair 127\.0\.0\.1:\d+(?: --link)? --loopback)\n/
                let line = try #require(shown.firstMatch(of: command)?.1)
                if let early { try waiting.terminal.type(early) }
                let connecting = try Machine.start(sandbox, line.split(separator: " ").map(String.init), as: "bo")
                do {
                    try await body(waiting, connecting)
                } catch {
                    await connecting.command.process.stop()
                    throw error
                }
                await connecting.command.process.stop()
            } catch {
                await waiting.command.process.stop()
                throw error
            }
            await waiting.command.process.stop()
        }

        @Test(arguments: ["y", "YES"])
        func `two persons who type yes at the same digits pair their machines`(yes: String) async throws {
            try await Sandbox.with { sandbox in
                try await Self.with(sandbox) { waiting, connecting in
                    #expect(try await waiting.digits() == connecting.digits())
                    try waiting.terminal.type(yes)
                    try await waiting.terminal.wait(for: "Confirmed here. Waiting for the other machine.")
                    #expect(connecting.command.process.exitCode == nil)
                    try connecting.terminal.type(yes)
                    #expect(try await connecting.command.finish().status == 0, "\(connecting.terminal.shown)")
                    #expect(try await waiting.command.finish().status == 0, "\(waiting.terminal.shown)")
                    try await waiting.terminal.wait(for: "has joined the account.")
                }
                let accounts = (try await sandbox.account(), try await sandbox.account("bo"))
                #expect(accounts.0["accountID"] as? String == accounts.1["accountID"] as? String)
            }
        }

        @Test(arguments: ["", "n", "yess", "\u{1B}[Ay"], [true, false])
        func `every other answer is no, on either machine`(answer: String, isWaiting: Bool) async throws {
            try await Sandbox.with { sandbox in
                try await Self.with(sandbox) { waiting, connecting in
                    _ = (try await waiting.digits(), try await connecting.digits())
                    try (isWaiting ? connecting : waiting).terminal.type("y")
                    try (isWaiting ? waiting : connecting).terminal.type(answer)
                    #expect(try await connecting.command.finish().status == 1)
                    // The waiting machine waits on.
                    try await waiting.terminal.wait(for: "Still waiting. Ctrl-C stops.")
                    #expect(waiting.command.process.exitCode == nil)
                    let here = "The digits were not confirmed on this machine"
                    let there = "The digits were not confirmed on the other machine"
                    try await waiting.terminal.wait(for: isWaiting ? here : there)
                    try await connecting.terminal.wait(for: isWaiting ? there : here)
                }
                #expect(try await sandbox.account()["joined"] as? [String] == [])
            }
        }

        @Test(arguments: [true, false])
        func `Ctrl-C at the digits is reported as such on the other machine`(isWaiting: Bool) async throws {
            try await Sandbox.with { sandbox in
                try await Self.with(sandbox) { waiting, connecting in
                    _ = (try await waiting.digits(), try await connecting.digits())
                    (isWaiting ? waiting : connecting).command.process.send(SIGINT)
                    let stopped = try await (isWaiting ? waiting : connecting).command.finish()
                    #expect(stopped.status == 1)
                    let other = isWaiting ? connecting : waiting
                    try await other.terminal.wait(for: "was stopped there before the digits were confirmed")
                    if isWaiting {
                        let ended = try await other.command.finish()
                        #expect(ended.status == 1)
                    } else {
                        try await other.terminal.wait(for: "Still waiting. Ctrl-C stops.")
                        #expect(other.command.process.exitCode == nil)
                    }
                    #expect(!other.terminal.shown.contains("not confirmed on"))
                }
                // A stop is no failed comparison.
                #expect(!FileManager.default.fileExists(atPath: "\(sandbox.state("bo"))/pairing-failures"))
            }
        }

        @Test func `the links that end are named before the question, on the machine that joins only`() async throws {
            try await Sandbox.with { sandbox in
                let (bo, cara) = (
                    AccountStore(directory: sandbox.state("bo")), AccountStore(directory: sandbox.state("cara"))
                )
                let now = Date()
                _ = (try bo.identity(), try cara.identity())
                let ours = try bo.linkOffer(name: "Bo", granting: Grants(), now: now)
                let theirs = try cara.linkOffer(name: "Cara", granting: Grants(), now: now)
                try bo.link(ours, with: theirs, now: now)
                try await Self.with(sandbox) { waiting, connecting in
                    _ = (try await waiting.digits(), try await connecting.digits())
                    let shown = connecting.terminal.shown
                    let question = try #require(shown.range(of: Machine.question))
                    #expect(shown[..<question.lowerBound].contains("Cara"), "\(shown)")
                    #expect(!waiting.terminal.shown.contains("Cara"))
                    try connecting.terminal.type("n")
                    #expect(try await connecting.command.finish().status == 1)
                }
                #expect(try bo.links().links.first?.state == .active)
            }
        }

        @Test func `each machine states before the question what it grants by a link`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.with(sandbox, options: ["--link", "--service", "test.volume"]) { waiting, connecting in
                    _ = (try await waiting.digits(), try await connecting.digits())
                    for (machine, rights) in [(waiting, "services test.volume."), (connecting, "nothing.")] {
                        let shown = machine.terminal.shown
                        let question = try #require(shown.range(of: Machine.question))
                        let before = shown[..<question.lowerBound]
                        #expect(before.contains("then grants to the other one: \(rights)"), "\(shown)")
                    }
                    try connecting.terminal.type("n")
                    #expect(try await connecting.command.finish().status == 1)
                }
            }
        }

        @Test func `a machine that leaves its account says before it waits that it admits none`() async throws {
            try await Sandbox.with { sandbox in
                let waiting = try Machine.start(sandbox, ["pair", "--loopback", "--leave-account"], as: "own")
                do {
                    let shown = try await waiting.terminal.wait(for: "Ctrl-C stops.")
                    #expect(shown.contains("joins the other one's account") && shown.contains("It admits no machine."))
                } catch {
                    await waiting.command.process.stop()
                    throw error
                }
                await waiting.command.process.stop()
            }
        }

        @Test func `a yes that was typed before the question is no answer to it`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.with(sandbox, typedBefore: "y") { waiting, connecting in
                    _ = (try await waiting.digits(), try await connecting.digits())
                    try connecting.terminal.type("y")
                    try await connecting.terminal.wait(for: "Confirmed here.")
                    try waiting.terminal.type("n")
                    #expect(try await connecting.command.finish().status == 1)
                    #expect(!waiting.terminal.shown.contains("Confirmed here."))
                }
                #expect(try await sandbox.account()["joined"] as? [String] == [])
            }
        }
    }
}
