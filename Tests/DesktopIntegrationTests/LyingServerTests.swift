// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notification servers whose capabilities or reports are not true. The question is still shown, and is answered
    /// with the command.
    @Suite struct LyingServers {
        private static let question = [
            "--title", "Deploy?", "--category", "question", "--action", "yes=Deploy", "--text-action", "why=Comment",
        ]

        /// Answers the question, and waits until the server was asked to close it.
        private static func answer(_ asking: ChildProcess, _ desktop: OneDesktop) async throws {
            let key = try await desktop.listedKey(of: "Deploy?")
            #expect(asking.exitCode == nil)
            _ = try await desktop.system.command("notifications", "answer", key, "why", "--text", "Because")
            #expect(try await asking.exit(within: .seconds(60)) == 0)
            #expect(try await asking.allLines().suffix(2) == ["why", "Because"])
            try await desktop.eventually("it is closed") { Self.hasClosed(desktop) }
            #expect(desktop.daemon.exitCode == nil)
        }

        private static func hasClosed(_ desktop: OneDesktop) -> Bool {
            desktop.server.lines.contains { $0.hasPrefix(#"{"close": "#) }
        }

        @Test func `of thousands of capabilities and very long names, a small part is read (X-73)`() async throws {
            try await OneDesktop.with(server: "names") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                let call = try await desktop.notified()
                #expect(call.contains(#""actions": ["yes", "Deploy", "default", "Open"]"#), "\(call)")
                // The text field is the last capability.
                #expect(!call.contains("inline-reply") && call.contains("Respond with: remotesystems notifications"))
                let finding = try await desktop.doctor()
                #expect(finding.contains("nnn… 1 (specification 1.3) shows notifications"), "\(finding.prefix(1000))")
                #expect(finding.utf8.count < 1000)
                try await Self.answer(asking, desktop)
            }
        }

        @Test func `a server whose capabilities are no list counts as one that states none (X-73)`() async throws {
            try await OneDesktop.with(server: "text") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                let call = try await desktop.notified()
                #expect(call.contains(#""yes", "Deploy""#) && !call.contains("inline-reply"), "\(call)")
                let finding = try await desktop.doctor()
                #expect(finding.contains("test 1 (specification 1.3) shows notifications"), "\(finding)")
                try await Self.answer(asking, desktop)
            }
        }

        @Test func `a text that a server does not report can be given with the command (N-12, X-77)`() async throws {
            try await OneDesktop.with(server: "mute") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                let call = try await desktop.notified()
                #expect(call.contains(#""inline-reply", "Comment""#), "\(call)")
                desktop.server.send(SIGUSR1)
                try await desktop.eventually("a text is entered") {
                    desktop.server.lines.contains { $0.hasPrefix(#"{"entered": "#) }
                }
                try await Self.answer(asking, desktop)
            }
        }

        @Test func `reports of numbers and actions that a server never got change nothing (X-75)`() async throws {
            try await OneDesktop.with(server: "lie") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                // The server has responded before it handles the signal.
                _ = try await desktop.notified()
                desktop.server.send(SIGUSR1)
                try await desktop.eventually("the reports") {
                    desktop.server.lines.contains { $0.hasPrefix(#"{"lied": "#) }
                }
                // The server responds to a second notification after all of its reports.
                let last = try desktop.ask(["--title", "Last"])
                #expect(try await last.exit(within: .seconds(60)) == 0)
                #expect(desktop.server.lines.count { $0.contains("Deploy?") } == 1, "\(desktop.server.lines)")
                #expect(!Self.hasClosed(desktop), "\(desktop.server.lines)")
                try await Self.answer(asking, desktop)
            }
        }

        @Test func `a text hides no sender on a server that reads markup and does not state it (N-10, X-73, X-76)`()
            async throws
        {
            try await OneDesktop.with(server: "tags") { desktop in
                let body = "<b>Build</b> 1284 <!-- <img alt='"
                let asking = try desktop.ask(Self.question + ["--body", body, "--wait"])
                let call = try await desktop.notified()
                let parts = call.components(separatedBy: #""seen": "#)
                let seen = try #require(parts.count == 2 ? parts.last : nil)
                #expect(seen.contains("1284") && seen.contains("Respond with"), "\(call)")
                #expect(seen.contains(#"\u2013 from this system"#), "\(call)")
                // It keeps what it has shown, and does not state that either: what was answered is closed.
                try await Self.answer(asking, desktop)
            }
        }
    }
}
