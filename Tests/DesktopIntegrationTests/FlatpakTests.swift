// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension DesktopTests {
    /// The samples in other languages as real Flatpak applications: in Flatpak's sandbox, and behind its proxy of the
    /// session bus.
    @Suite struct Flatpaks {
        private static let id = "org.example.notes"
        private static let activities = "org.remotesystems.Activities1"
        private static let notifications = "org.remotesystems.Notifications1"

        @Test func `a Flatpak is proven if the signed manifest names it, and its program outside is not (H-05, B-04)`()
            async throws
        {
            try await Desktop.with { builder in
                let flatpak = try await FlatpakApplication(
                    Self.id,
                    packing: TwoBuses.path(ofSample: "note.py"),
                    talkingTo: [Self.activities],
                    in: builder.directory,
                    environment: builder.environment
                )
                try await TwoBuses.with { first, second in
                    let key = "\(builder.directory)/key"
                    try await run([try builtProgram("remotesystems"), "app", "keygen", key])
                    // Flatpak's id is not that which the publisher has signed.
                    try await first.register(Self.id, Self.manifest(flatpak: "org.example.Other"), key: key)
                    try await second.register(Self.id, Self.manifest(flatpak: Self.id), key: key)
                    let offering = try flatpak.start(
                        ["offer", "Shopping", "milk"],
                        environment: first.environment
                    )
                    try await offering.prints("offered: Shopping")
                    try await second.lists("Shopping", proof: "unproven")
                    try await first.register(Self.id, Self.manifest(flatpak: Self.id), key: key)
                    try await second.lists("Shopping", proof: "proven")

                    // The same program outside of the sandbox is a script like any other.
                    let id = try await second.listed("Shopping", with: "note.py")
                    let outside = try second.note("note.py", "receive")
                    try await outside.prints("ready: continuing notes")
                    try await second.attempts(id) { $0.code == 1 && $0.lines.joined().contains("is not proven") }
                    #expect(!outside.lines.contains { $0.hasPrefix("continued:") })
                    await outside.stop()

                    let receiving = try flatpak.start(["receive"], environment: second.environment)
                    try await receiving.prints("ready: continuing notes")
                    try await second.attempts(id) { $0.code == 0 }
                    try await receiving.prints("continued: Shopping: milk")
                    try await offering.prints("handed over to \(Self.id)")
                    await receiving.stop()
                    await offering.stop()
                }
            }
        }

        @Test func `a Flatpak is its own application only, and reaches the daemon only where that is permitted`()
            async throws
        {
            try await Self.withCalendar { flatpak, desktop in
                let ownOnly = ["NotAuthorized", "NotAuthorized", "NotAuthorized", "done", "done"]
                let cases: [(options: [String], lines: [String])] = [
                    ([], ownOnly),
                    // Without the proxy, so that the daemon sees the process of the program itself.
                    (["--socket=session-bus"], ownOnly),
                    (
                        ["--no-talk-name=\(Self.activities)"],
                        ["NotAuthorized", "NotAuthorized", "ServiceUnknown", "done", "ServiceUnknown"]
                    ),
                    (
                        ["--no-talk-name=\(Self.activities)", "--no-talk-name=\(Self.notifications)"],
                        Array(repeating: "ServiceUnknown", count: 5)
                    ),
                ]
                for (options, lines) in cases {
                    let caller = try flatpak.start(
                        ["-c", Self.caller],
                        options: options + ["--command=python3"],
                        environment: desktop.system.environment
                    )
                    #expect(try await caller.exit(within: .seconds(60)) == 0, "\(caller.lines)")
                    #expect(caller.lines == lines, "\(options)")
                }
            }
        }

        @Test
        func `what the user responds to a notification of a Flatpak reaches it in its sandbox (X-59)`() async throws {
            try await Self.withCalendar { flatpak, desktop in
                let environment = desktop.system.environment
                let inviting = try flatpak.start(["invite", "lunch", "Lunch"], environment: environment)
                #expect(try await inviting.exit(within: .seconds(60)) == 0, "\(inviting.lines)")
                _ = try await desktop.notified("Lunch")
                let receiving = try flatpak.start(["receive"], environment: environment)
                try await receiving.prints("ready:")
                desktop.server.send(SIGUSR1)
                try await receiving.prints("lunch: accept")
                await receiving.stop()
            }
        }

        /// Runs `body` with the sample that invites the user, and a system.
        private static func withCalendar(
            _ body: (FlatpakApplication, OneDesktop) async throws -> Void
        ) async throws {
            try await Desktop.with { builder in
                let flatpak = try await FlatpakApplication(
                    "org.example.calendar",
                    packing: OneDesktop.path(ofSample: "invite.py"),
                    talkingTo: [Self.activities, Self.notifications],
                    in: builder.directory,
                    environment: builder.environment
                )
                try await OneDesktop.withBusInterface { desktop in
                    try await run(
                        ["gdbus", "wait", "--session", "--timeout", "60", Self.activities],
                        environment: desktop.system.environment
                    )
                    try await body(flatpak, desktop)
                }
            }
        }

        /// Calls the daemon as another application and as its own, and prints the last part of each error's name.
        private static let caller = """
            from gi.repository import Gio, GLib
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            def attempt(name, method, signature, *values):
                name = "org.remotesystems." + name
                path, values = "/" + name.replace(".", "/"), GLib.Variant(signature, values)
                try:
                    bus.call_sync(name, path, name, method, values, None, 0, 30000, None)
                    print("done")
                except GLib.Error as error:
                    print(Gio.DBusError.get_remote_error(error).rsplit(".", 1)[1])
            attempt("Notifications1", "Register", "(ss)", "org.example.other", "")
            attempt("Notifications1", "Ask", "(sssa(ss)a{sv})", "org.example.other", "T", "", [], {})
            attempt("Activities1", "Register", "(sas)", "org.example.other", [])
            attempt("Notifications1", "Register", "(ss)", "org.example.calendar", "")
            attempt("Activities1", "Register", "(sas)", "org.example.calendar", [])
            """

        private static func manifest(flatpak: String) -> String {
            #""activityTypes": ["org.example.note"], "flatpaks": ["\#(flatpak)"], "start": {"dbus": "\#(Self.id)"}"#
        }
    }
}

extension TwoBuses {
    /// Lets an application continue an activity, again until the result is the wanted one.
    fileprivate func attempts(
        _ id: String,
        until isWanted: ((code: Int32, lines: [String])) -> Bool
    ) async throws {
        var last: [String] = []
        do {
            _ = try await eventually("the result", within: .seconds(60), every: .seconds(1)) {
                () async throws -> Bool? in
                let continuing = try self.note("note.py", "continue", id)
                let code = try await continuing.exit(within: .seconds(60))
                last = continuing.lines
                return isWanted((code, last)) ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); the last one: \(last)")
        }
    }
}
