// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notifications that wait for a place, with the real GeoClue and a receiver of positions that the test moves.
    @Suite struct Locations {
        @Test func `a notification comes at its place, also after GeoClue was killed (N-02, X-54)`() async throws {
            try await LocatedSystem.with { system in
                var geoClue = try await system.startGeoClue()
                #expect(try await system.schedule("Return the book") == 0)
                #expect(try await system.schedule("Post the letter", "--on-exit", "--repeat") == 0)
                let pending = try await system.run("notifications", "pending")
                #expect(pending.contains("on entering 52.53,13.405 (500 m)"), "\(pending)")
                #expect(
                    pending.contains("on leaving 52.53,13.405 (500 m)") && pending.contains("repeats"),
                    "\(pending)"
                )
                let json = try await system.run("notifications", "pending", "--json")
                let region = try #require(json.firstMatch(of: /"region":\{[^}]*\}/)).output
                for text in [#""latitude":52.53"#, #""radius":500"#, #""notifiesOnEntry""#, #""notifiesOnExit""#] {
                    #expect(region.contains(text), "\(region)")
                }
                #expect(try await !system.run("notifications", "list").contains("book"))
                try system.move(52.53, 13.405)
                try await system.lists("Return the book")
                await geoClue.stop()
                try await system.logs("GeoClue has ended.")
                geoClue = try await system.startGeoClue()
                try system.move(52.60, 13.405)
                try await system.lists("Post the letter")
                await geoClue.stop()
            }
        }

        @Test func `without GeoClue, scheduling says so and what to do (X-54)`() async throws {
            try await LocatedSystem.with { system in
                let scheduling = try system.scheduling("Return the book")
                #expect(try await scheduling.exit(within: .seconds(60)) == 2)
                let text = try await scheduling.allLines().joined(separator: " ")
                #expect(text.contains("GeoClue is not installed") && text.contains("Check that"), "\(text)")
            }
        }
    }
}

/// A system with a daemon, a system bus, and a receiver of positions.
private struct LocatedSystem {
    let desktop: Desktop
    let environment: [String: String]
    private var daemon: ChildProcess?
    private var state: String { "\(self.desktop.directory)/system" }

    static func with(_ body: (LocatedSystem) async throws -> Void) async throws {
        try await Desktop.with { desktop in
            try await desktop.withBus { bus in
                var environment = desktop.environment
                environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus["DBUS_SESSION_BUS_ADDRESS"]
                var system = LocatedSystem(desktop: desktop, environment: environment)
                var processes: [ChildProcess] = []
                do {
                    try await createTwoSystems(system.state, "\(desktop.directory)/other")
                    try system.move(52.52, 13.405)
                    processes.append(try await system.start("gps.py", desktop.directory))
                    processes.append(try await system.start("geoclue_agent.py"))
                    let daemon = try ChildProcess(
                        [try builtProgram("remotesystems"), "host", "run", "--loopback", "--port", "0"]
                            + ["--state-directory", system.state],
                        environment: environment,
                        readsErrors: true
                    )
                    processes.append(daemon)
                    system.daemon = daemon
                    _ = try await eventually("the daemon", within: .seconds(60)) {
                        daemon.lines.contains { $0.hasPrefix("ready:") } ? true : nil
                    }
                    try await body(system)
                } catch {
                    for process in processes.reversed() { await process.stop() }
                    throw IntegrationError("\(error); printed: \(processes.map(\.lines))")
                }
                for process in processes.reversed() { await process.stop() }
            }
        }
    }

    /// Starts a script, and waits until it prints its first line.
    private func start(_ script: String, _ arguments: String...) async throws -> ChildProcess {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(script)").path
        let process = try ChildProcess(
            ["/usr/bin/python3", path] + arguments,
            environment: self.environment,
            readsErrors: true
        )
        _ = try await eventually(script, within: .seconds(60)) {
            guard process.exitCode == nil else { throw IntegrationError("\(script) has ended: \(process.lines)") }
            return process.lines.isEmpty ? nil : true
        }
        return process
    }

    /// Starts GeoClue without a network: it would ask a server on the Internet where it is.
    func startGeoClue() async throws -> ChildProcess {
        let off = ["3g", "cdma", "modem-gps", "wifi", "compass"].map { "[\($0)]\nenable=false\n" }.joined()
        try self.desktop.write(
            "[agent]\nwhitelist=geoclue-demo-agent\n[network-nmea]\nenable=true\n"
                + "nmea-socket=\(self.desktop.directory)/gps.sock\n\(off)",
            to: "geoclue.conf"
        )
        let command = "mount --bind '\(self.desktop.directory)/geoclue.conf' /etc/geoclue/geoclue.conf"
        return try ChildProcess(
            ["unshare", "--mount", "--net", "sh", "-c", "\(command) && exec /usr/libexec/geoclue"],
            environment: self.environment,
            readsErrors: true
        )
    }

    /// The receiver of positions is at a place from now on.
    func move(_ latitude: Double, _ longitude: Double) throws {
        try self.desktop.write("\(latitude) \(longitude)", to: "place")
    }

    /// Schedules a notification for a place in Berlin.
    func scheduling(_ title: String, _ arguments: String...) throws -> ChildProcess {
        try self.scheduling(title, arguments)
    }

    private func scheduling(_ title: String, _ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(
            [try builtProgram("remotesystems"), "notifications", "schedule", "--near", "52.53,13.405"]
                + ["--radius", "500", "--title", title, "--loopback", "--state-directory", self.state] + arguments,
            environment: self.environment,
            readsErrors: true
        )
    }

    func schedule(_ title: String, _ arguments: String...) async throws -> Int32 {
        let process = try self.scheduling(title, arguments)
        let code = try await process.exit(within: .seconds(60))
        if code != 0 { Issue.record("\(try await process.allLines())") }
        return code
    }

    func run(_ arguments: String...) async throws -> String {
        let process = try ChildProcess(
            [try builtProgram("remotesystems")] + arguments + ["--loopback", "--state-directory", self.state],
            environment: self.environment
        )
        _ = try await process.exit(within: .seconds(60))
        return try await process.allLines().joined(separator: "\n")
    }

    /// Waits until the daemon has logged a text.
    func logs(_ text: String) async throws {
        _ = try await eventually("the log has '\(text)'", within: .seconds(60)) {
            self.daemon?.lines.contains { $0.contains(text) } == true ? true : nil
        }
    }

    func lists(_ title: String) async throws {
        _ = try await eventually("\(title) is listed", within: .seconds(60), every: .milliseconds(200)) {
            try await self.run("notifications", "list").contains(title) ? true : nil
        }
    }
}
