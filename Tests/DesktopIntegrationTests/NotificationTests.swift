// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension DesktopTests {
    /// `remotesystems activities notify` with a real notification server, dunst, and two systems of one account.
    @Suite struct Notifications {
        private static let type = "com.example.writing"

        @Test func `what can be continued is a notification, with which the user continues it (H-95, H-98)`()
            async throws
        {
            try await NotifiedDesktop.with { desktop in
                let server = try await desktop.startServer()
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type, "stop=decide")
                let notifying = try desktop.notify()
                try await desktop.system.shows(1)
                try await desktop.lock(true)
                try await desktop.eventually("a locked screen shows the application only") {
                    // A closed notification is in the server's history.
                    try await desktop.system.control("close-all")
                    return try await desktop.system.control("history").contains("\"Continue on this machine\"")
                }
                try await desktop.lock(false)
                try await desktop.system.shows(1)
                // Repeated because the notification may be replaced at the same moment.
                try await desktop.eventually("the application decides") {
                    try await desktop.system.control("action", "0")
                    return desktop.steps("reader").contains("decide \(Self.type)")
                }
                try await desktop.eventually("the notification says that it continues") {
                    try await desktop.system.control("close-all")
                    return try await desktop.system.control("history").contains("Continuing “A text” …")
                }
                #expect(desktop.steps("reader").count { $0.hasPrefix("decide") } == 1)
                for process in [notifying, receiving, offering, server] { await process.stop() }
            }
        }

        @Test func `the event of a failed continuation names the activity (H-95)`() async throws {
            try await NotifiedDesktop.with { desktop in
                let server = try await desktop.startServer()
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type, "fail=restore")
                let notifying = try desktop.notify()
                try await desktop.system.shows(1)
                let failed = #""event":"failed""#
                // Repeated because the notification may be replaced at the same moment.
                try await desktop.eventually("the failure is reported") {
                    try await desktop.system.control("action", "0")
                    return notifying.lines.contains { $0.contains(failed) }
                }
                let line = try #require(notifying.lines.first { $0.contains(failed) })
                #expect(line.contains(#""type":"\#(Self.type)""#), "\(line)")
                #expect([#""id":""#, #""systemID":""#, #""system":""#].allSatisfy { line.contains($0) }, "\(line)")
                for process in [notifying, receiving, offering, server] { await process.stop() }
            }
        }

        @Test(arguments: [false, true])
        func `a notification survives its server, and ends with the offer, also in the daemon`(inDaemon: Bool)
            async throws
        {
            try await NotifiedDesktop.with { desktop in
                let first = try await desktop.startServer()
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type)
                let notifying = try inDaemon ? desktop.daemon() : desktop.notify()
                try await desktop.system.shows(1)
                await first.stop()
                let second = try await desktop.startServer()
                try await desktop.system.shows(1)
                await offering.stop()
                try await desktop.system.shows(0)
                // A second offer, which is withdrawn with the program that shows it.
                let third = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                try await desktop.system.shows(1)
                await notifying.stop()
                #expect(notifying.exitCode == 0)
                try await desktop.system.shows(0)
                for process in [third, receiving, second] { await process.stop() }
            }
        }

        @Test func `what a killed program has shown is closed by the next one`() async throws {
            try await NotifiedDesktop.with { desktop in
                let server = try await desktop.startServer()
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type)
                let notifying = try desktop.notify()
                try await desktop.system.shows(1)
                try await desktop.eventually("it has noted where it shows it") {
                    let files = try FileManager.default.contentsOfDirectory(atPath: desktop.system.state)
                    return files.contains { $0.hasPrefix("offer-notifications-") }
                }
                kill(notifying.id, SIGKILL)
                _ = try await notifying.exit(within: .seconds(30))
                await offering.stop()
                let next = try desktop.notify()
                try await desktop.system.shows(0)
                for process in [next, receiving, server] { await process.stop() }
            }
        }

        @Test(arguments: [false, true])
        func `of two programs of a system one shows what can be continued, and the other one says so`(
            besideDaemon: Bool
        ) async throws {
            try await NotifiedDesktop.with { desktop in
                let server = try await desktop.startServer()
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type)
                let showing = try besideDaemon ? desktop.daemon() : desktop.notify()
                try await desktop.system.shows(1)
                let second = try desktop.notify()
                #expect(try await second.exit(within: .seconds(60)) == 2, "\(second.lines)")
                let program = besideDaemon ? "the host daemon" : "'remotesystems activities notify'"
                let output = try await second.allLines().joined(separator: "\n")
                #expect(output.contains(#""error":"alreadyRunning""#), "\(output)")
                #expect(output.contains("shown already by \(program), process \(showing.id). One program"), "\(output)")
                #expect(try await desktop.system.shownCount() == 1)
                // The place is free when the first one has ended.
                await showing.stop()
                try await desktop.system.shows(0)
                let next = try desktop.notify()
                try await desktop.system.shows(1)
                for process in [next, receiving, offering, server] { await process.stop() }
            }
        }

        @Test func `a host daemon shows offers when the command that shows them has ended`() async throws {
            try await NotifiedDesktop.with { desktop in
                let server = try await desktop.startServer()
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type)
                let notifying = try desktop.notify()
                try await desktop.system.shows(1)
                let daemon = try desktop.daemon()
                try await desktop.eventually("the daemon leaves it to the command") {
                    daemon.lines.contains { $0.contains("shown already by 'remotesystems activities notify'") }
                }
                #expect(try await desktop.system.shownCount() == 1)
                await notifying.stop()
                // It has withdrawn its notification.
                #expect(notifying.exitCode == 0)
                try await desktop.system.shows(1)
                for process in [daemon, receiving, offering, server] { await process.stop() }
            }
        }

        @Test func `without a notification server, the command warns, and shows everything as soon as one runs`()
            async throws
        {
            try await NotifiedDesktop.withoutStartableServer { desktop in
                let offering = try desktop.probe("author", on: "first", "-", "offer=\(Self.type)")
                let receiving = try desktop.probe("reader", on: "second", Self.type)
                let waiting = try desktop.system.start(
                    [try builtProgram("remotesystems"), "activities", "notify"] + desktop.system.options
                )
                for beginning in ["warning: No notification server runs", "waiting for a notification server"] {
                    try await desktop.eventually(beginning) { waiting.lines.contains { $0.hasPrefix(beginning) } }
                }
                #expect(!waiting.lines.contains { $0.hasPrefix("ready") })
                let server = try await desktop.startServer()
                try await desktop.system.shows(1)
                for process in [waiting, receiving, offering, server] { await process.stop() }
            }
        }

        @Test func `without a session bus, the command says so`() async throws {
            try await Desktop.with { desktop in
                let process = try ChildProcess(
                    [try builtProgram("remotesystems"), "activities", "notify", "--loopback"],
                    environment: desktop.environment,
                    readsErrors: true
                )
                #expect(try await process.exit(within: .seconds(30)) == 2)
                #expect(try await process.allLines().joined().contains("no session bus"))
            }
        }
    }
}

/// A desktop with a screen, a bus and two systems of one account. The notifications are those of the second.
private struct NotifiedDesktop {
    /// The second system.
    let system: QuestionDesktop

    static func with(_ body: (NotifiedDesktop) async throws -> Void) async throws {
        try await Desktop.with { desktop in
            try await desktop.withScreen(startingServer: { _ in [] }) { environment in
                let state = "\(desktop.directory)/second"
                try await createTwoSystems("\(desktop.directory)/first", state)
                let system = QuestionDesktop(desktop: desktop, state: state, environment: environment)
                try await body(NotifiedDesktop(system: system))
            }
        }
    }

    /// Runs a body on a desktop whose bus starts no program.
    static func withoutStartableServer(_ body: (NotifiedDesktop) async throws -> Void) async throws {
        try await Self.with { desktop in
            let directory = desktop.system.desktop.directory
            let address = "unix:path=\(directory)/run/plain-bus"
            try desktop.system.desktop.write(
                """
                <busconfig>
                  <type>session</type><listen>\(address)</listen><auth>EXTERNAL</auth>
                  <policy context="default">
                    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
                  </policy>
                </busconfig>
                """,
                to: "plain-bus.conf"
            )
            let bus = try await startMessageBus(
                ["--config-file=\(directory)/plain-bus.conf"],
                environment: desktop.system.environment
            )
            let system = QuestionDesktop(
                desktop: desktop.system.desktop,
                state: desktop.system.state,
                environment: desktop.system.environment.merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
            )
            do {
                try await body(NotifiedDesktop(system: system))
            } catch {
                await bus.stop()
                throw error
            }
            await bus.stop()
        }
    }

    /// Starts the notification server, and waits until it responds.
    func startServer() async throws -> ChildProcess { try await Desktop.startDunst(self.system.environment)[0] }

    func notify() throws -> ChildProcess {
        try self.system.start(
            [try builtProgram("remotesystems"), "activities", "notify", "--loopback", "--json"]
                + ["--state-directory", self.system.state]
        )
    }

    /// Starts the host daemon of the second system, which shows notifications.
    func daemon() throws -> ChildProcess {
        try ChildProcess(
            [try builtProgram("remotesystems"), "host", "run", "--loopback", "--port", "0"]
                + ["--state-directory", self.system.state],
            environment: self.system.environment.merging(["REMOTE_SYSTEMS_HOST_NOTIFY_OFFERS": "true"]) { $1 },
            readsErrors: true
        )
    }

    /// Starts an application that offers or continues activities.
    func probe(_ name: String, on system: String, _ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            [try builtProgram("activity-probe"), "test.\(name)", self.file(name), "lo"] + arguments,
            environment: self.system.environment.merging(["REMOTE_SYSTEMS_STATE": self.file(system)]) { $1 },
            readsErrors: true
        )
    }

    /// The directory of a system, or the file of an application.
    private func file(_ name: String) -> String { "\(self.system.desktop.directory)/\(name)" }

    /// The steps that an application has recorded.
    func steps(_ probe: String) -> [String] {
        ((try? String(contentsOfFile: self.file(probe), encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// Locks or unlocks the screen, as a screen saver reports it.
    func lock(_ isLocked: Bool) async throws {
        try await run(
            [
                "dbus-send", "--session", "--type=signal", "/org/freedesktop/ScreenSaver",
                "org.freedesktop.ScreenSaver.ActiveChanged", "boolean:\(isLocked)",
            ],
            environment: self.system.environment
        )
    }

    func eventually(_ what: String, _ isTrue: () async throws -> Bool) async throws {
        _ = try await IntegrationSupport.eventually(what, within: .seconds(60), every: .milliseconds(100)) {
            try await isTrue() ? true : nil
        }
    }
}
