// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

/// One system with its daemon, a session bus and a notification server.
struct OneDesktop {
    let system: QuestionDesktop
    let daemon: ChildProcess
    let server: ChildProcess
    /// The screen lock or the login manager, in tests with one.
    var lock: ChildProcess?

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

    /// - Parameters:
    ///   - kind: the kind of server. It needs no screen.
    ///   - script: the program that is the server. Defaults to `notification_server.py`.
    ///   - lock: the kind of screen lock of `screen_lock.py`, and its name if it has another one, separated by a space.
    ///     Defaults to `nil`: there is none.
    ///   - login: the kind of login manager of `login_lock.py`, in place of a screen lock. Defaults to `nil`: there is
    ///     none.
    static func with(
        server kind: String,
        script: String = "notification_server",
        lock: String? = nil,
        login: String? = nil,
        _ body: (OneDesktop) async throws -> Void
    ) async throws {
        try await Desktop.with { desktop in
            try await desktop.withBus { bus in
                var environment = desktop.environment.merging(bus) { $1 }
                if login != nil { environment["DBUS_SYSTEM_BUS_ADDRESS"] = environment["DBUS_SESSION_BUS_ADDRESS"] }
                try await Self.withScript(script, [kind], environment) { server in
                    guard let lock = lock ?? login else {
                        return try await Self.run(desktop, environment, server, body)
                    }
                    let arguments = lock.split(separator: " ").map(String.init)
                    let program = login == nil ? "screen_lock" : "login_lock"
                    try await Self.withScript(program, arguments, environment) { lock in
                        try await Self.run(desktop, environment, server, lock: lock, body)
                    }
                }
            }
        }
    }

    /// Runs `body` beside a program of `Scripts` that is ready.
    static func withScript(
        _ name: String,
        _ arguments: [String],
        _ environment: [String: String],
        _ body: (ChildProcess) async throws -> Void
    ) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name).py").path
        let process = try ChildProcess(
            ["/usr/bin/python3", "-u", script] + arguments,
            environment: environment,
            readsErrors: true
        )
        do {
            _ = try await IntegrationSupport.eventually(name, within: .seconds(60)) {
                guard process.exitCode == nil else { throw IntegrationError("it has ended: \(process.lines)") }
                return process.lines.contains("ready") ? true : nil
            }
            try await body(process)
        } catch {
            await process.stop()
            throw error
        }
        await process.stop()
    }

    private static func run(
        _ desktop: Desktop,
        _ environment: [String: String],
        _ server: ChildProcess?,
        lock: ChildProcess? = nil,
        _ body: (OneDesktop) async throws -> Void
    ) async throws {
        let system = QuestionDesktop(desktop: desktop, state: "\(desktop.directory)/system", environment: environment)
        let daemon = try await system.startDaemon()
        do {
            guard let server else { throw IntegrationError("no server") }
            try await body(OneDesktop(system: system, daemon: daemon, server: server, lock: lock))
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

    /// Waits until the server was asked to show a text, and returns the call. Defaults to the question.
    func notified(_ text: String = "Deploy?") async throws -> String {
        try await self.eventually("a call of Notify") { self.server.lines.last { $0.contains(text) } }
    }

    /// Reports that the session was locked, as a screen lock does.
    func reportLocked() async throws {
        try await IntegrationSupport.run(
            [
                "dbus-send", "--session", "--type=signal", "/org/freedesktop/ScreenSaver",
                "org.freedesktop.ScreenSaver.ActiveChanged", "boolean:true",
            ],
            environment: self.system.environment
        )
    }

    /// The finding of `doctor` about notifications.
    func doctor() async throws -> String {
        let output = try await self.system.command("doctor", "--json", "--port", "0")
        let findings = output.split(separator: "\n").filter { $0.contains(#""code":"notifications""#) }
        return findings.isEmpty ? output : findings.joined(separator: "\n")
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
