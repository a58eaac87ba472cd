// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// The sounds of two systems, each with its own session bus, notification server, and program that knows since when
    /// the user has not used it.
    @Suite struct Sounds {
        @Test(arguments: ["compositor", "screensaver", "login"])
        func `only the server of the system in use plays the sound of a notification for all (X-40, N-05, X-74)`(
            kind: String
        ) async throws {
            try await Desktop.with { first in
                try await Desktop.with { second in
                    let states = ["\(first.directory)/system", "\(second.directory)/system"]
                    try await createTwoSystems(states[0], states[1])
                    try await Self.withSystem(first, states[0], idle: (kind, 600_000)) { _, idleServer in
                        try await Self.withSystem(second, states[1], idle: ("compositor", 1000)) { used, usedServer in
                            // Repeated because a daemon that has just started does not know the other one yet.
                            let title = try await eventually("one is silent", within: .seconds(60)) {
                                let title = "Tea \(UUID())"
                                try await Self.send(title, from: used)
                                let call = try await Self.notified(idleServer, title)
                                return call.contains(#""sound": null"#) ? title : nil
                            }
                            let loud = try await Self.notified(usedServer, title)
                            #expect(loud.contains(#""sound": "message-new-instant""#), "\(loud)")
                            #expect(!usedServer.lines.contains { $0.contains(#""sound": null"#) })
                        }
                    }
                }
            }
        }

        @Test func `a notification with a sound makes the device vibrate, and one without does not (N-05)`()
            async throws
        {
            try await OneDesktop.with(server: "sound") { desktop in
                try await OneDesktop.withScript("feedback", [], desktop.system.environment) { feedback in
                    try await Self.show("Silent", [], on: desktop)
                    try await Self.show("Loud", ["--sound", "default"], on: desktop)
                    let call = try await eventually("the call", within: .seconds(60)) {
                        feedback.lines.last { $0.contains("event") }
                    }
                    #expect(call.contains(#""event": "message-new-instant""#), "\(call)")
                    // The sound is the server's.
                    #expect(call.contains(#""hints": {"profile": "quiet"}, "timeout": -1"#), "\(call)")
                    #expect(feedback.lines.count { $0.contains("event") } == 1, "\(feedback.lines)")
                }
            }
        }

        private static func show(_ title: String, _ arguments: [String], on desktop: OneDesktop) async throws {
            let asking = try desktop.ask(["--title", title] + arguments)
            #expect(try await asking.exit(within: .seconds(60)) == 0, "\(asking.lines)")
            _ = try await desktop.notified(title)
        }

        private static func send(_ title: String, from desktop: QuestionDesktop) async throws {
            let sending = try desktop.start(
                [try builtProgram("remotesystems"), "notify", "--loopback", "--state-directory", desktop.state]
                    + ["--all", "--title", title, "--sound", "default", "--search-time", "5"]
            )
            #expect(try await sending.exit(within: .seconds(60)) == 0)
        }

        private static func notified(_ server: ChildProcess, _ text: String) async throws -> String {
            try await eventually("a call of Notify", within: .seconds(60)) {
                server.lines.last { $0.contains(text) }
            }
        }

        private static func withSystem(
            _ desktop: Desktop,
            _ state: String,
            idle: (kind: String, milliseconds: Int),
            _ body: (QuestionDesktop, ChildProcess) async throws -> Void
        ) async throws {
            try await desktop.withBus { bus in
                var environment = desktop.environment.merging(bus) { $1 }
                environment["DBUS_SYSTEM_BUS_ADDRESS"] = environment["DBUS_SESSION_BUS_ADDRESS"]
                let arguments = [idle.kind, "\(idle.milliseconds)"]
                try await OneDesktop.withScript("notification_server", ["sound"], environment) { server in
                    try await OneDesktop.withScript("idle_time", arguments, environment) { _ in
                        let system = QuestionDesktop(desktop: desktop, state: state, environment: environment)
                        let daemon = try await system.startDaemon()
                        do {
                            try await body(system, server)
                        } catch {
                            await daemon.stop()
                            throw error
                        }
                        await daemon.stop()
                    }
                }
            }
        }
    }
}
