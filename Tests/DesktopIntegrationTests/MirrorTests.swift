// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Ordinary programs that show notifications on the desktop of one system, and the desktop of another system.
    @Suite struct Mirroring {
        private static let settings = ["REMOTE_SYSTEMS_HOST_MIRRORED_APPLICATIONS": "*"]

        /// Shows a notification as any program does, and returns its number.
        private static func show(
            _ title: String,
            of program: String = "Mail",
            body: String = "",
            replacing id: String = "0",
            hints: String = "{}",
            on desktop: QuestionDesktop
        ) async throws -> String {
            let calling = try desktop.start(
                ["gdbus", "call", "--session", "--dest", "org.freedesktop.Notifications"]
                    + ["--object-path", "/org/freedesktop/Notifications"]
                    + ["--method", "org.freedesktop.Notifications.Notify", "--"]
                    + [program, id, "", title, body, "[]", hints, "0"]
            )
            #expect(try await calling.exit(within: .seconds(60)) == 0, "\(calling.lines)")
            let output = try await calling.allLines().joined()
            return String(try #require(output.firstMatch(of: /uint32 ([0-9]+)/)).output.1)
        }

        /// Shows a notification until the other system lists it, because a daemon that has just started may not follow
        /// the bus yet.
        private static func begin(_ desktops: QuestionDesktops) async throws {
            var id = "0"
            try await desktops.eventually("the first one is listed") {
                id = try await Self.show("First", replacing: id, on: desktops.first)
                return try await desktops.second.command("notifications", "list").contains("First")
            }
        }

        @Test func `an ordinary notification is on both systems, and dismissed on either it is gone from both (X-40)`()
            async throws
        {
            try await QuestionDesktops.with(settings: Self.settings) { desktops in
                try await Self.begin(desktops)
                try await desktops.second.shows(1)
                #expect(try await desktops.second.command("notifications", "list").contains("“Mail” on “"))

                // Dismissed there, gone here.
                try await desktops.second.control("close-all")
                try await desktops.first.shows(0)

                // Its text changes. Dismissed here, gone there.
                let id = try await Self.show("Two &amp; <b>more</b>", body: "a <i>b</i> &lt; c", on: desktops.first)
                try await desktops.second.shows(1)
                let replaced = try await Self.show("Three", replacing: id, on: desktops.first)
                #expect(replaced == id)
                try await desktops.eventually("the changed text, in place of the first") {
                    let list = try await desktops.second.command("notifications", "list")
                    return list.contains("Three") && !list.contains("Two")
                }
                try await desktops.first.control("close-all")
                try await desktops.second.shows(0)
                #expect(try await !desktops.second.command("notifications", "list").contains("Three"))
            }
        }

        @Test func `codes, password managers, states and what this SDK shows stay on their system`() async throws {
            try await QuestionDesktops.with(settings: Self.settings) { desktops in
                try await Self.begin(desktops)
                _ = try await Self.show("Your code is 482 913", on: desktops.first)
                _ = try await Self.show("Copied", of: "KeePassXC", on: desktops.first)
                _ = try await Self.show("Volume", hints: "{'value': <int32 40>}", on: desktops.first)
                _ = try await Self.show("Moment", hints: "{'transient': <true>}", on: desktops.first)
                // A notification of the second system, which the first one shows, does not come back.
                let sending = try desktops.second.start(
                    [try builtProgram("remotesystems"), "notify", "--loopback", "--state-directory"]
                        + [desktops.second.state, "--all", "--title", "Back"]
                )
                #expect(try await sending.exit(within: .seconds(60)) == 0)
                _ = try await Self.show("Last", on: desktops.first)
                // They are sent in their order.
                try await desktops.eventually("the last one is listed") {
                    try await desktops.second.command("notifications", "list").contains("Last")
                }
                let list = try await desktops.second.command("notifications", "list")
                for text in ["482", "Copied", "Volume", "Moment"] { #expect(!list.contains(text), "\(list)") }
                #expect(list.components(separatedBy: "Back").count == 2, "\(list)")
            }
        }

        @Test func `a program that closes its notification, and a server that ends, remove it from the other system`()
            async throws
        {
            try await QuestionDesktops.with(settings: Self.settings) { desktops in
                try await Self.begin(desktops)
                let id = try await Self.show("Second", on: desktops.first)
                try await desktops.second.shows(2)
                try await run(
                    ["gdbus", "call", "--session", "--dest", "org.freedesktop.Notifications"]
                        + ["--object-path", "/org/freedesktop/Notifications"]
                        + ["--method", "org.freedesktop.Notifications.CloseNotification", id],
                    environment: desktops.first.environment
                )
                try await desktops.second.shows(1)
                let answer = try await run(
                    ["gdbus", "call", "--session", "--dest", "org.freedesktop.DBus"]
                        + ["--object-path", "/org/freedesktop/DBus"]
                        + ["--method", "org.freedesktop.DBus.GetConnectionUnixProcessID"]
                        + ["org.freedesktop.Notifications"],
                    environment: desktops.first.environment
                )
                let process = try #require(answer.firstMatch(of: /uint32 ([0-9]+)/).flatMap { Int32($0.output.1) })
                #expect(kill(process, SIGKILL) == 0)
                try await desktops.second.shows(0)
            }
        }
    }
}
