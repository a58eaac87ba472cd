// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// `remotesystems notify` between two systems of one account, each with a host daemon, a session bus, a screen and
    /// a notification server of its own.
    @Suite struct Questions {
        @Test func `a question is asked everywhere, answered on one system, and gone from all (X-40, N-11)`()
            async throws
        {
            try await QuestionDesktops.with { desktops in
                let asking = try desktops.ask(
                    "--all",
                    "--title",
                    "Deploy?",
                    "--body",
                    "<b>Build</b> 1284",
                    "--action",
                    "yes=Deploy",
                    "--action",
                    "no=Wait",
                    waits: true
                )
                try await desktops.first.shows(1)
                try await desktops.second.shows(1)
                // Repeated because the server may not have drawn it yet.
                try await desktops.eventually("the answer") {
                    try await desktops.second.control("context")
                    return asking.exitCode != nil
                }
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().contains("yes"))
                try await desktops.first.shows(0)
                try await desktops.second.shows(0)
                let history = try await desktops.second.control("history")
                #expect(history.contains("Deploy?") && history.contains("&lt;b&gt;Build"))
            }
        }

        @Test func `closing a question is an answer, too (N-43)`() async throws {
            try await QuestionDesktops.with { desktops in
                let asking = try desktops.ask("--all", "--title", "Deploy?", "--action", "yes=Deploy", waits: true)
                try await desktops.first.shows(1)
                try await desktops.second.shows(1)
                try await desktops.eventually("the dismissal") {
                    try await desktops.first.control("close-all")
                    return asking.exitCode != nil
                }
                #expect(try await asking.exit(within: .seconds(60)) == 1)
                #expect(try await asking.allLines().contains("dismiss"))
                try await desktops.second.shows(0)
            }
        }

        @Test func `what is closed on one system is gone from one whose daemon was off, without its sender (X-40)`()
            async throws
        {
            try await QuestionDesktops.with { desktops in
                let sending = try desktops.ask("--all", "--title", "Backup finished", "--search-time", "20")
                try await desktops.first.shows(1)
                try await desktops.second.shows(1)
                #expect(try await sending.exit(within: .seconds(60)) == 0)
                desktops.daemons[1].send(9)
                _ = try await desktops.daemons[1].exit()
                _ = try await desktops.daemons[1].exit(within: .seconds(60))
                // Repeated because the server may not have drawn it yet.
                try await desktops.eventually("it is closed here") {
                    try await desktops.first.control("close-all")
                    return try await desktops.first.command("notifications", "list").isEmpty
                }
                let daemon = try await desktops.second.startDaemon()
                try await desktops.second.shows(0)
                #expect(try await desktops.second.command("notifications", "list").isEmpty)
                await daemon.stop()
            }
        }

        @Test(arguments: [true, false])
        func `a question returns to a daemon that was killed and started again`(asksAll: Bool) async throws {
            try await QuestionDesktops.with(screens: false) { desktops in
                let ready = desktops.daemons[1].lines.joined()
                let id = try #require(ready.firstMatch(of: /as system ([a-z2-7]+)/)?.output.1)
                let asking = try desktops.ask(
                    asksAll ? "--all" : String(id),
                    "--title",
                    "Deploy?",
                    "--action",
                    "yes=Deploy",
                    waits: true
                )
                _ = try await desktops.second.listedKey()
                desktops.daemons[1].send(9)
                _ = try await desktops.daemons[1].exit()
                let daemon = try await desktops.second.startDaemon()
                let key = try await desktops.second.listedKey()
                _ = try await desktops.second.command("notifications", "answer", key, "yes")
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().last == "yes")
                await daemon.stop()
            }
        }

        @Test func `a text is asked of a system without a desktop, and answered there with a command (X-82)`()
            async throws
        {
            try await QuestionDesktops.with(screens: false) { desktops in
                let asking = try desktops.ask("--all", "--title", "Why?", "--text-action", "reason=Reason", waits: true)
                let key = try await desktops.second.listedKey()
                _ = try await desktops.second.command("notifications", "answer", key, "reason", "--text", "Because")
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let lines = try await asking.allLines()
                #expect(lines.suffix(2) == ["reason", "Because"])
                try await desktops.eventually("it is gone from the other system") {
                    try await desktops.first.command("notifications", "list").isEmpty
                }
            }
        }
    }
}
