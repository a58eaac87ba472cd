// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notifications of one system on notification servers of several kinds, real ones and bad ones.
    @Suite struct NotificationServers {
        private static let question = [
            "--title", "Deploy?", "--category", "question", "--action", "yes=Deploy", "--text-action", "why=Comment",
        ]

        @Test func `what a killed daemon has shown is shown once by the next one, and can be answered (N-07)`()
            async throws
        {
            try await OneDesktop.with { desktop in
                _ = try await desktop.system.command("notifications", "schedule", "--in", "0.2", "--title", "Tea")
                try await desktop.system.shows(1)
                let asking = try desktop.ask(Self.question + ["--wait"])
                try await desktop.system.shows(2)
                try await desktop.eventually("both places are stored") {
                    try await desktop.system.storedKeys("place").count == 2
                }
                let daemon = try await desktop.system.restart(desktop.daemon)
                try await desktop.eventually("both are shown again, in place of the first") {
                    let history = try await desktop.system.command("notifications", "list", "--json")
                    return history.components(separatedBy: #""isShown":true"#).count == 3
                }
                #expect(try await desktop.system.control("count", "displayed") == "2")
                try await desktop.eventually("the answer") {
                    try await desktop.system.control("context")
                    return asking.exitCode != nil
                }
                #expect(try await asking.exit() == 0)
                #expect(try await asking.allLines().contains("yes"))
                await daemon.stop()
            }
        }

        @Test func `what a killed daemon has shown on a second server is shown once by the next one (N-07)`()
            async throws
        {
            try await OneDesktop.with { desktop in
                _ = try await desktop.system.command("notifications", "schedule", "--in", "0.2", "--title", "Tea")
                let first = try await desktop.eventually("its place is stored") {
                    try await desktop.system.storedKeys("place").first
                }
                await desktop.server.stop()
                let servers = try await Desktop.startDunst(desktop.system.environment)
                try await desktop.eventually("its new place is stored, and no other one") {
                    let places = try await desktop.system.storedKeys("place")
                    return places.count == 1 && places != [first]
                }
                let daemon = try await desktop.system.restart(desktop.daemon)
                try await desktop.eventually("it is shown again, in place of the first") {
                    try await desktop.system.command("notifications", "list", "--json").contains(#""isShown":true"#)
                }
                #expect(try await desktop.system.control("count", "displayed") == "1")
                #expect(daemon.possiblyShownTwice == 0)
                await daemon.stop()
                for server in servers { await server.stop() }
            }
        }

        @Test func `a button of Xfce's server is clicked, and the question is answered (N-11)`() async throws {
            try await OneDesktop.with(startingServer: OneDesktop.startXfce) { desktop in
                let asking = try desktop.ask(["--title", "Deploy?", "--action", "yes=Deploy", "--wait"])
                // Its window is at the upper right, with its buttons in the lowest row.
                try await desktop.eventually("the answer") {
                    try await desktop.clickWindow(x: 0.17, fromBottom: 30)
                    return asking.exitCode != nil
                }
                #expect(try await asking.exit() == 0)
                #expect(try await asking.allLines().contains("yes"))
            }
        }

        @Test func `a notification that the user has clicked is closed, and not shown a second time`() async throws {
            try await OneDesktop.with(server: "plain") { desktop in
                let asking = try desktop.ask(["--title", "Deploy?", "--wait"])
                _ = try await desktop.notified()
                desktop.server.send(SIGUSR1)
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                // Everything before it was sent to the server by then.
                let last = try desktop.ask(["--title", "Last"])
                #expect(try await last.exit(within: .seconds(60)) == 0)
                _ = try await desktop.notified("Last")
                #expect(desktop.server.lines.count { $0.contains("Deploy?") } == 1, "\(desktop.server.lines)")
            }
        }

        @Test func `a text field of a server that has one is used (N-12, X-77)`() async throws {
            try await OneDesktop.with(server: "reply") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                let shown = try await desktop.notified()
                #expect(shown.contains("inline-reply") && shown.contains("Comment"))
                try await desktop.eventually("the answer") {
                    desktop.server.send(SIGUSR1)
                    return asking.exitCode != nil
                }
                #expect(try await asking.exit() == 0)
                #expect(try await asking.allLines().suffix(2) == ["why", "Because"])
            }
        }

        @Test
        func `the server gets the sender's desktop entry, and a token for its window comes back (X-59, X-74, X-75)`()
            async throws
        {
            try await OneDesktop.with(server: "token") { desktop in
                for (arguments, hasToken) in [([], true), (["--action", "yes=Deploy"], false)] {
                    let asking = try desktop.ask(["--title", "Deploy?", "--wait", "--json"] + arguments)
                    let count = desktop.server.lines.count
                    try await desktop.eventually("a call of Notify") { desktop.server.lines.count > count }
                    let call = try #require(desktop.server.lines.last)
                    #expect(call.contains(#""entry": "remote-systems.command.notify""#), "\(call)")
                    try await desktop.eventually("the answer") {
                        desktop.server.send(SIGUSR1)
                        return asking.exitCode != nil
                    }
                    let answer = try await asking.allLines().last { $0.contains(#""event":"answer""#) }
                    #expect(answer?.contains(#""activationToken":"token-1""#) == hasToken, "\(answer ?? "")")
                }
            }
        }

        @Test func `a server without capabilities shows the title with the sender, and no button (X-73)`() async throws
        {
            try await OneDesktop.with(server: "bare") { desktop in
                let asking = try desktop.ask(Self.question)
                let status = try await asking.exit(within: .seconds(60))
                let said = try await asking.allLines()
                #expect(status == 0, "\(said)")
                let shown = try await desktop.notified()
                #expect(shown.contains(#""notify": "Deploy? \u2013 from this system""#))
                #expect(shown.contains(#""actions": ["default", "Open"]"#))
            }
        }

        @Test(arguments: ["zero", "same", "hang", "crash"])
        func `a server that fails costs nothing but its picture: the notification is kept, listed and answered (X-82)`(
            kind: String
        ) async throws {
            try await OneDesktop.with(server: kind) { desktop in
                // Of the server that gives one number to all, the first notification is shown.
                let first = try desktop.ask(["--title", "First", "--id", "first"])
                #expect(try await first.exit(within: .seconds(60)) == 0)
                let asking = try desktop.ask(Self.question + ["--wait"])
                let state = try await desktop.eventually("its delivery") {
                    asking.lines.first { $0.contains(": kept") || $0.contains(": shown") }
                }
                #expect(state.contains("kept. "), "\(state)")
                let key = try await desktop.listedKey(of: "Deploy?")
                _ = try await desktop.system.command("notifications", "answer", key, "why", "--text", "Because")
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().suffix(2) == ["why", "Because"])
                #expect(desktop.daemon.exitCode == nil)
                // Not asked again and again.
                #expect(desktop.server.lines.count { $0.contains(#""notify": "First""#) } <= (kind == "crash" ? 2 : 1))
            }
        }

        @Test(
            arguments: [
                "hang", "deny", "deny org.cinnamon.ScreenSaver", "deny org.mate.ScreenSaver",
                "deny org.xfce.ScreenSaver",
            ]
        )
        func `a screen lock that does not say that the session is unlocked counts as locked, and is asked again`(
            kind: String
        ) async throws {
            try await OneDesktop.with(server: "plain", lock: kind) { desktop in
                let start = ContinuousClock.now
                let asking = try desktop.ask(Self.question)
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let hidden = try await desktop.notified("Notification from")
                #expect(hidden.contains(#""actions": []"#) && !hidden.contains("Deploy?"))
                let lock = try #require(desktop.lock)
                lock.send(SIGUSR1)
                let shown = try await desktop.notified()
                #expect(shown.contains("yes"))
                try await desktop.eventually("the lock is asked again") {
                    lock.lines.count { $0 == "asked" } > 1
                }
                // After 10 s each, and at the start of the daemon.
                let limit = 3 + Int((ContinuousClock.now - start) / .seconds(10))
                #expect(lock.lines.count { $0 == "asked" } <= limit)
            }
        }

        @Test func `a screen lock that ends while the session is locked locks it no longer`() async throws {
            try await OneDesktop.with(server: "plain", lock: "locked") { desktop in
                let asking = try desktop.ask(Self.question)
                let status = try await asking.exit(within: .seconds(60))
                #expect(status == 0)
                _ = try await desktop.notified("Notification from")
                let lock = try #require(desktop.lock)
                await lock.stop()
                let shown = try await desktop.notified()
                #expect(shown.contains("yes"))
            }
        }

        @Test func `a session that is locked for the login manager alone counts as locked, and follows its changes`()
            async throws
        {
            try await OneDesktop.with(server: "plain", login: "locked") { desktop in
                let asking = try desktop.ask(Self.question)
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let hidden = try await desktop.notified("Notification from")
                #expect(hidden.contains(#""actions": []"#))
                #expect(!desktop.server.lines.contains { $0.contains("Deploy?") })
                let login = try #require(desktop.lock)
                login.send(SIGUSR1)
                let shown = try await desktop.notified()
                #expect(shown.contains("yes"))
                // Locked again.
                login.send(SIGUSR1)
                try await desktop.eventually("the text is hidden again") {
                    desktop.server.lines.last { $0.contains("notify") }?.contains("Notification from") == true
                }
            }
        }

        @Test func `a login manager that says unlocked does not unlock what a screen lock has locked`() async throws {
            try await OneDesktop.with(server: "plain", login: "unlocked") { desktop in
                let asking = try desktop.ask(Self.question)
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                _ = try await desktop.notified()
                try await desktop.reportLocked()
                _ = try await desktop.notified("Notification from")
                // Locked, and unlocked again: the screen lock has not said so.
                let login = try #require(desktop.lock)
                for _ in 0..<2 {
                    let before = login.lines.count { $0 == "asked" }
                    login.send(SIGUSR1)
                    try await desktop.eventually("the property is read") {
                        login.lines.count { $0 == "asked" } > before
                    }
                }
                // Passes through the same connection after what came before.
                let second = try desktop.ask(["--title", "Second", "--category", "q", "--action", "ok=OK"])
                #expect(try await second.exit(within: .seconds(60)) == 0)
                try await desktop.eventually("the second one") {
                    desktop.server.lines.count { $0.contains("Notification from") } >= 2
                }
                #expect(!desktop.server.lines.contains { $0.contains("Second") })
                #expect(desktop.server.lines.count { $0.contains("Deploy?") } == 1)
            }
        }

        @Test func `a replacement for a locked screen that is refused closes the full text`() async throws {
            try await OneDesktop.with(server: "refuse") { desktop in
                let asking = try desktop.ask(Self.question)
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                _ = try await desktop.notified()
                try await desktop.reportLocked()
                _ = try await desktop.notified("Notification from")
                try await desktop.eventually("the full text is closed") {
                    desktop.server.lines.contains(#"{"close": 1}"#)
                }
            }
        }

        @Test func `a click on a text that is being replaced does not answer the new one`() async throws {
            try await OneDesktop.with(server: "click") { desktop in
                let first = try desktop.ask(
                    ["--id", "x", "--title", "Delete the copy?", "--category", "copy", "--action", "yes=Delete"]
                )
                #expect(try await first.exit(within: .seconds(60)) == 0)
                let second = try desktop.ask(
                    ["--id", "x", "--title", "Deploy?", "--action", "yes=Yes", "--action", "no=No", "--wait"]
                )
                // Shown in the place of the first one, and once more after the click.
                try await desktop.eventually("two calls of Notify") {
                    desktop.server.lines.count { $0.contains("Deploy?") } == 2
                }
                #expect(second.exitCode == nil)
                let key = try await desktop.listedKey(of: "Deploy?")
                _ = try await desktop.system.command("notifications", "answer", key, "no")
                #expect(try await second.exit(within: .seconds(60)) == 0)
                #expect(try await second.allLines().last == "no")
            }
        }

        @Test func `what a slow server shows late is shown once, and can be closed`() async throws {
            try await OneDesktop.with(server: "hold") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                _ = try await desktop.notified()
                let isShown = { try await desktop.system.command("notifications", "list", "--json") }
                // The server is given up after 5 s.
                _ = try await desktop.eventually("the daemon gives it up") {
                    desktop.daemon.lines.contains { $0.contains("does not respond") } ? true : nil
                }
                #expect(try await isShown().contains(#""isShown":false"#))
                desktop.server.send(SIGUSR1)
                let key = try await desktop.listedKey(of: "Deploy?")
                _ = try await desktop.system.command("notifications", "answer", key, "yes")
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                // Although it was answered elsewhere, its number is known.
                try await desktop.eventually("it is closed") { desktop.server.lines.contains(#"{"close": 1}"#) }
                #expect(desktop.server.lines.count { $0.contains("Deploy?") } == 1)
            }
        }

        @Test func `a notification does not wait for a server that has not responded to an earlier one`() async throws {
            try await OneDesktop.with(server: "hang") { desktop in
                // The first one waits for 3 s, or on a busy machine until its call has ended.
                for (title, reason) in [("First", " not respond"), ("Second", "to an earlier call")] {
                    let asking = try desktop.ask(["--title", title])
                    #expect(try await asking.exit(within: .seconds(60)) == 0)
                    let lines = try await asking.allLines()
                    #expect(lines.contains { $0.contains("kept. ") && $0.contains(reason) }, "\(lines)")
                }
            }
        }

        @Test func `messages displace no question, and what they have displaced is not shown again (X-76)`()
            async throws
        {
            try await OneDesktop.with(server: "expire") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                _ = try await desktop.notified()
                let show = { (title: String) in
                    let sending = try desktop.ask(["--title", title])
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                    _ = try await desktop.notified(title)
                }
                let titles = (1...7).map { "Build \($0)" }
                for title in titles.dropLast() { try await show(title) }
                try await desktop.eventually("the two oldest messages are closed") {
                    desktop.server.lines.contains(#"{"close": 3}"#)
                }
                // The time of the sixth is over, and the seventh has a place.
                desktop.server.send(SIGUSR1)
                try await desktop.eventually("its end is known") {
                    let list = try await desktop.system.command("notifications", "list", "--json")
                    let line = list.split(separator: "\n").first { $0.contains("Build 6") }
                    return line?.contains(#""isShown":false"#) == true
                }
                try await show("Build 7")
                let lines = desktop.server.lines
                for title in titles + ["Deploy?"] { #expect(lines.count { $0.contains(#""\#(title)""#) } == 1) }
                #expect(lines.filter { $0.contains(#""close""#) } == [#"{"close": 2}"#, #"{"close": 3}"#])
                let key = try await desktop.listedKey(of: "Deploy?")
                _ = try await desktop.system.command("notifications", "answer", key, "yes")
                #expect(try await asking.exit(within: .seconds(60)) == 0)
            }
        }

        @Test func `messages that came while the session was locked are all shown after that, as others end`()
            async throws
        {
            try await OneDesktop.with(server: "expire", login: "locked") { desktop in
                let titles = (1...5).map { "Build \($0)" }
                for title in titles {
                    let sending = try desktop.ask(["--title", title])
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                }
                #expect(!desktop.server.lines.contains { $0.contains("Build ") })
                try #require(desktop.lock).send(SIGUSR1)
                for title in titles.dropFirst() { _ = try await desktop.notified(title) }
                #expect(!desktop.server.lines.contains { $0.contains("Build 1") })
                // The time of one is over.
                desktop.server.send(SIGUSR1)
                _ = try await desktop.notified("Build 1")
            }
        }

        @Test func `doctor names the server and what it lacks, and a store that was replaced`() async throws {
            try await OneDesktop.with(server: "reply") { desktop in
                let first = try await desktop.doctor()
                #expect(
                    first.contains("test 1 (specification 1.3) shows notifications. It has no list of what was shown."),
                    "\(first)"
                )
                let store = "\(desktop.system.state)/notifications.sqlite"
                await desktop.daemon.stop()
                try "no database".write(toFile: store, atomically: true, encoding: .utf8)
                for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
                let daemon = try await desktop.system.startDaemon()
                let second = try await desktop.doctor()
                #expect(second.contains("was unreadable and was replaced") && second.contains(#""status":"warning""#))
                // It hides nothing else.
                #expect(second.contains("shows notifications."), "\(second)")
                await daemon.stop()
                await desktop.server.stop()
                #expect(daemon.lines.contains { $0.contains("The store of notifications is unreadable") })
            }
        }

        @Test func `doctor warns that dunst is paused, and says how it is resumed`() async throws {
            try await OneDesktop.with { desktop in
                try await desktop.system.control("set-paused", "true")
                let paused = try await desktop.doctor()
                #expect(paused.contains("dunst does not disturb the user now, because it is paused"), "\(paused)")
                #expect(paused.contains("dunstctl set-paused false") && paused.contains(#""status":"warning""#))
                try await desktop.system.control("set-paused", "false")
                let resumed = try await desktop.doctor()
                #expect(resumed.contains("dunst ") && resumed.contains(") shows notifications"), "\(resumed)")
                #expect(resumed.contains(#""status":"ok""#))
            }
        }

        @Test(arguments: [("paused", true), ("paused-other", false), ("paused-text", false), ("paused-hang", false)])
        func `doctor asks dunst alone whether it is paused, and is not stopped by a bad response`(
            kind: String,
            isPaused: Bool
        ) async throws {
            try await OneDesktop.with(server: kind) { desktop in
                let finding = try await desktop.doctor()
                #expect(finding.contains("because it is paused") == isPaused, "\(finding)")
                #expect(finding.contains(/"what":"(dunst|test) 1 .* shows notifications/) == !isPaused, "\(finding)")
                let isAsked = desktop.server.lines.contains { $0.hasPrefix(#"{"read": "#) }
                #expect(isAsked == (kind != "paused-other"))
            }
        }
    }
}
