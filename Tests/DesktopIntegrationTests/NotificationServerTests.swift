// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notifications of one system on notification servers of several kinds, real ones and bad ones.
    @Suite struct NotificationServers {
        private static let question = [
            "--title", "Deploy?", "--action", "yes=Deploy", "--text-action", "why=Comment",
        ]

        @Test func `what a killed daemon has shown is shown once by the next one, and can be answered (N-07)`()
            async throws
        {
            try await OneDesktop.with { desktop in
                _ = try await desktop.system.command("notifications", "schedule", "--in", "0.2", "--title", "Tea")
                try await desktop.system.shows(1)
                let asking = try desktop.ask(Self.question + ["--wait"])
                try await desktop.system.shows(2)
                desktop.daemon.send(SIGKILL)
                let daemon = try await desktop.system.startDaemon()
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

        @Test func `a server without capabilities shows the title with the sender, and no button (X-73)`() async throws
        {
            try await OneDesktop.with(server: "bare") { desktop in
                let asking = try desktop.ask(Self.question)
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let shown = try await desktop.notified()
                #expect(shown.contains(#""notify": "Deploy? \u2013 remote-systems.command.notify"#))
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
                #expect(desktop.server.lines.count { $0.contains(#""notify": "First""#) } <= 2)
            }
        }

        @Test func `doctor names the server and what it lacks, and a store that was replaced`() async throws {
            try await OneDesktop.with(server: "reply") { desktop in
                let first = try await desktop.doctor()
                #expect(first.contains("test shows notifications. It has no list of what was shown."), "\(first)")
                let store = "\(desktop.system.state)/notifications.sqlite"
                await desktop.daemon.stop()
                try "no database".write(toFile: store, atomically: true, encoding: .utf8)
                for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
                let daemon = try await desktop.system.startDaemon()
                let second = try await desktop.doctor()
                #expect(second.contains("was unreadable and was replaced") && second.contains(#""status":"warning""#))
                await daemon.stop()
                await desktop.server.stop()
                #expect(daemon.lines.contains { $0.contains("The store of notifications is unreadable") })
            }
        }

        @Test func `reports of numbers that a server never gave change nothing`() async throws {
            try await OneDesktop.with(server: "lie") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                _ = try await desktop.notified()
                let key = try await desktop.listedKey(of: "Deploy?")
                #expect(asking.exitCode == nil)
                _ = try await desktop.system.command("notifications", "answer", key, "yes")
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().last == "yes")
            }
        }
    }
}

/// One system with its daemon, a session bus and a notification server.
private struct OneDesktop {
    let system: QuestionDesktop
    let daemon: ChildProcess
    let server: ChildProcess

    static func with(
        startingServer start: @escaping ([String: String]) async throws -> [ChildProcess] = Desktop.startDunst,
        _ body: (OneDesktop) async throws -> Void
    ) async throws {
        try await Desktop.with { desktop in
            var server: ChildProcess?
            try await desktop.withScreen { environment in
                let processes = try await start(environment)
                server = processes.first
                return processes
            } _: { environment in
                try await Self.run(desktop, environment, server, body)
            }
        }
    }

    /// - Parameter kind: the kind of server of `notification_server.py`. It needs no screen.
    static func with(server kind: String, _ body: (OneDesktop) async throws -> Void) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Scripts/notification_server.py").path
        try await Desktop.with { desktop in
            try await desktop.withBus { bus in
                let environment = desktop.environment.merging(bus) { $1 }
                let server = try ChildProcess(
                    ["/usr/bin/python3", "-u", script, kind],
                    environment: environment,
                    readsErrors: true
                )
                do {
                    _ = try await IntegrationSupport.eventually("the server", within: .seconds(60)) {
                        guard server.exitCode == nil else { throw IntegrationError("it has ended: \(server.lines)") }
                        return server.lines.contains("ready") ? true : nil
                    }
                    try await Self.run(desktop, environment, server, body)
                } catch {
                    await server.stop()
                    throw error
                }
                await server.stop()
            }
        }
    }

    private static func run(
        _ desktop: Desktop,
        _ environment: [String: String],
        _ server: ChildProcess?,
        _ body: (OneDesktop) async throws -> Void
    ) async throws {
        let system = QuestionDesktop(desktop: desktop, state: "\(desktop.directory)/system", environment: environment)
        let daemon = try await system.startDaemon()
        do {
            guard let server else { throw IntegrationError("no server") }
            try await body(OneDesktop(system: system, daemon: daemon, server: server))
        } catch {
            await daemon.stop()
            throw error
        }
        await daemon.stop()
    }

    /// Starts Xfce's notification server, and waits until it has its name.
    static func startXfce(_ environment: [String: String]) async throws -> [ChildProcess] {
        let paths = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
            .map { "/usr/lib/\($0)/xfce4/notifyd/xfce4-notifyd" }
        guard let path = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw IntegrationError("xfce4-notifyd is not installed")
        }
        let server = try ChildProcess([path], environment: environment, readsErrors: true)
        do {
            _ = try await IntegrationSupport.eventually("Xfce's server", within: .seconds(60)) {
                guard server.exitCode == nil else { throw IntegrationError("it has ended: \(server.lines)") }
                let asking = try ChildProcess(
                    [
                        "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.Notifications",
                        "/org/freedesktop/Notifications", "org.freedesktop.Notifications.GetCapabilities",
                    ],
                    environment: environment
                )
                return try await asking.exit(within: .seconds(60)) == 0 ? true : nil
            }
        } catch {
            await server.stop()
            throw error
        }
        return [server]
    }

    /// Starts `notify` for all systems, which is this one.
    func ask(_ arguments: [String]) throws -> ChildProcess {
        try self.system.start(
            [try builtProgram("remotesystems"), "notify", "--all", "--loopback", "--search-time", "5"]
                + ["--state-directory", self.system.state] + arguments
        )
    }

    /// Waits until the server was asked to show the question, and returns the call.
    func notified() async throws -> String {
        try await self.eventually("a call of Notify") { self.server.lines.last { $0.contains("Deploy?") } }
    }

    /// The finding of `doctor` about notifications.
    func doctor() async throws -> String {
        let output = try await self.system.command("doctor", "--json", "--port", "0")
        return output.split(separator: "\n").first { $0.contains(#""code":"notifications""#) }.map(String.init)
            ?? output
    }

    /// Waits until a notification is listed, and returns its key.
    func listedKey(of title: String) async throws -> String {
        try await self.eventually("\(title) is listed") {
            let list = try await self.system.command("notifications", "list", "--json")
            let line = list.split(separator: "\n").first { $0.contains(title) }
            return line?.firstMatch(of: /"key":"([0-9]+)"/).map { String($0.output.1) }
        }
    }

    /// Clicks into the uppermost window: a part of its width from the left, so many pixels above its end.
    func clickWindow(x: Double, fromBottom: Int) async throws {
        let finding = try self.system.start(["xdotool", "search", "--onlyvisible", "--class", "xfce4-notifyd"])
        guard try await finding.exit(within: .seconds(60)) == 0, let window = try await finding.allLines().last else {
            return
        }
        let measuring = try self.system.start(["xdotool", "getwindowgeometry", "--shell", window])
        _ = try await measuring.exit(within: .seconds(60))
        let values = try await measuring.allLines().reduce(into: [String: Int]()) { values, line in
            let parts = line.split(separator: "=")
            if parts.count == 2 { values[String(parts[0])] = Int(parts[1]) }
        }
        guard let left = values["X"], let top = values["Y"], let width = values["WIDTH"], let height = values["HEIGHT"]
        else { return }
        let point = [left + Int(Double(width) * x), top + height - fromBottom]
        let clicking = try self.system.start(["xdotool", "mousemove"] + point.map { "\($0)" } + ["click", "1"])
        _ = try await clicking.exit(within: .seconds(60))
    }

    func eventually(_ what: String, _ isTrue: () async throws -> Bool) async throws {
        _ = try await self.eventually(what) { try await isTrue() ? true : nil }
    }

    func eventually<Result>(_ what: String, _ ask: () async throws -> Result?) async throws -> Result {
        try await IntegrationSupport.eventually(what, within: .seconds(60), every: .milliseconds(100)) {
            try await ask()
        }
    }
}
