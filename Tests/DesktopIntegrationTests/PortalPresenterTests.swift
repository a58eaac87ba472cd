// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notifications over the real desktop portal (version 1), its GTK backend and dunst, and over a stand-in for
    /// version 2.
    @Suite struct Portal {
        private static let directory = "/usr/libexec"

        /// A program that shows notifications with the portal.
        private struct Program {
            let environment: [String: String]
            let process: ChildProcess

            func control(_ arguments: String...) async throws -> String {
                let process = try ChildProcess(["dunstctl"] + arguments, environment: self.environment)
                _ = try await process.exit(within: .seconds(60))
                return try await process.allLines().joined(separator: "\n").trimmingCharacters(in: .whitespaces)
            }

            func shows(_ count: Int, line: Int = #line) async throws {
                try await self.eventually("\(count) notifications at line \(line)") {
                    try await self.control("count", "displayed") == "\(count)"
                }
            }

            func eventually(_ what: String, _ isTrue: () async throws -> Bool) async throws {
                _ = try await IntegrationSupport.eventually(what, within: .seconds(60), every: .milliseconds(100)) {
                    guard self.process.exitCode == nil else { throw IntegrationError("ended: \(self.process.lines)") }
                    return try await isTrue() ? true : nil
                }
            }

            /// Waits until the portal has accepted a notification.
            func show(_ identifier: String, _ title: String, command: String = "show") async throws {
                let count = self.process.lines.count { $0 == "accepted \(identifier)" }
                // Before the connection to the bus is open, it is refused.
                try await self.eventually("\(title) is accepted") {
                    self.process.write("\(command) \(identifier) \(title)")
                    // Not asked again meanwhile: the second acceptance could be taken for that of a later title.
                    for _ in 0..<20 {
                        try await Task.sleep(for: .milliseconds(100))
                        if self.process.lines.count(where: { $0 == "accepted \(identifier)" }) > count { return true }
                    }
                    return false
                }
            }

            var choices: [String] { self.process.lines.filter { $0.hasPrefix("activated") } }
        }

        /// It finds GLib's settings here.
        private static let data = ["XDG_DATA_DIRS": "/usr/share"]

        private static func start(
            _ program: String,
            as name: String,
            _ environment: [String: String]
        ) async throws -> ChildProcess {
            let process = try ChildProcess(
                ["\(Self.directory)/\(program)"],
                environment: environment.merging(Self.data) { $1 },
                readsErrors: true
            )
            let waiting = try ChildProcess(
                ["gdbus", "wait", "--session", "--timeout", "60", name],
                environment: environment
            )
            guard try await waiting.exit(within: .seconds(90)) == 0 else {
                await process.stop()
                throw IntegrationError("no \(program): \(process.lines)")
            }
            return process
        }

        private static func startPortal(_ environment: [String: String]) async throws -> ChildProcess {
            try await Self.start("xdg-desktop-portal", as: "org.freedesktop.portal.Desktop", environment)
        }

        /// Runs `body` with a program and the portal.
        ///
        /// - Parameter isSandboxed: whether the program is a Flatpak. Defaults to `false`.
        private static func with(
            isSandboxed: Bool = false,
            _ body: (Program, ChildProcess) async throws -> Void
        ) async throws {
            try await Desktop.with { desktop in
                let flatpak: FlatpakApplication? =
                    if isSandboxed {
                        try await FlatpakApplication.running(
                            "desktop-probe",
                            as: "org.example.portal",
                            in: desktop.directory,
                            environment: desktop.environment
                        )
                    } else {
                        nil
                    }
                try desktop.installService(
                    "org.freedesktop.impl.portal.PermissionStore",
                    exec: "\(Self.directory)/xdg-permission-store"
                )
                var portal: ChildProcess?
                try await desktop.withScreen { environment in
                    var processes = try await Desktop.startDunst(environment)
                    // The portal asks its backend at its own start.
                    processes.append(
                        try await Self.start(
                            "xdg-desktop-portal-gtk",
                            as: "org.freedesktop.impl.portal.desktop.gtk",
                            environment
                        )
                    )
                    let started = try await Self.startPortal(environment)
                    portal = started
                    return processes + [started]
                } _: { environment in
                    let process = try ChildProcess(
                        flatpak?.command(["portal"]) ?? [desktop.probe, "portal"],
                        environment: environment.merging(flatpak?.installation ?? [:]) { $1 },
                        readsErrors: true
                    )
                    let program = Program(environment: environment, process: process)
                    do {
                        try await body(program, try #require(portal))
                    } catch {
                        await process.stop()
                        throw error
                    }
                    await process.stop()
                }
            }
        }

        @Test func `a notification is shown as plain text, replaced and removed (X-78)`() async throws {
            try await Self.with { program, _ in
                try await program.show("q", "First")
                try await program.shows(1)
                try await program.show("q", "Second")
                try await program.shows(1)
                // Nothing is added after a removal here: the backend of Debian 12 (1.14.1) crashes then.
                program.process.write("close q")
                try await program.shows(0)
                let history = try await program.control("history")
                #expect(history.contains("Second") && history.contains("‹b›1284‹/b›"))
            }
        }

        @Test func `what the user chooses comes back, and dismissals are not known (N-43, X-80)`() async throws {
            try await Self.with { program, _ in
                try await program.show("q", "First")
                try await program.shows(1)
                // Any program can send the portal's signal.
                let list = try await run(
                    ["gdbus", "call", "--session", "--dest", "org.freedesktop.DBus"]
                        + ["--object-path", "/org/freedesktop/DBus", "--method", "org.freedesktop.DBus.ListNames"],
                    environment: program.environment
                )
                let names = list.matches(of: /':1\.[0-9]+'/).map { String($0.output.dropFirst().dropLast()) }
                // At least dunst, the portal, its backend and the program.
                #expect(names.count >= 4, "\(list)")
                for name in names {
                    for number in 1...8 {
                        _ = try await run(
                            ["gdbus", "emit", "--session", "--dest", name]
                                + ["--object-path", "/org/freedesktop/portal/desktop"]
                                + ["--signal", "org.freedesktop.portal.Notification.ActionInvoked"]
                                + ["com.example.portal q", "respond", "[<'\(number) forged'>]"],
                            environment: program.environment
                        )
                    }
                }
                _ = try await program.control("action", "0")
                try await program.eventually("the choice") { !program.choices.isEmpty }
                #expect(program.choices.count == 1 && !program.choices[0].contains("forged"))
                _ = try await program.control("close-all")
                try await program.shows(0)
                #expect(!program.process.lines.contains { $0.hasPrefix("closed") })
            }
        }

        @Test func `a program in a Flatpak is shown as its application, and gets what the user chooses (N-43, X-78)`()
            async throws
        {
            try await Self.with(isSandboxed: true) { program, _ in
                try await program.show("q", "First")
                try await program.shows(1)
                // The portal has read the application's id from the sandbox, and recorded that it may notify.
                let permissions = try await run(
                    ["gdbus", "call", "--session", "--dest", "org.freedesktop.impl.portal.PermissionStore"]
                        + ["--object-path", "/org/freedesktop/impl/portal/PermissionStore"]
                        + ["--method", "org.freedesktop.impl.portal.PermissionStore.Lookup"]
                        + ["notifications", "notification"],
                    environment: program.environment
                )
                #expect(permissions.contains("{'org.example.portal': ['yes']}"), "\(permissions)")
                // The user chooses the button.
                _ = try await program.control("context")
                try await program.eventually("the choice") { !program.choices.isEmpty }
                #expect(program.choices.count == 1 && program.choices[0].contains(#"identifier: "q", action: yes"#))
                _ = try await program.control("close-all")
                try await program.eventually("the notification in the server's history") {
                    try await program.control("history").contains("First")
                }
            }
        }

        @Test(arguments: [false, true])
        func `another portal shows what the one that has ended had shown, and reports choices (X-80)`(
            isSandboxed: Bool
        ) async throws {
            try await Self.with(isSandboxed: isSandboxed) { program, portal in
                try await program.show("q", "First")
                try await program.shows(1)
                portal.send(SIGKILL)
                _ = try await portal.exit(within: .seconds(10))
                let second = try await Self.startPortal(program.environment)
                // It is sent again in its place.
                try await program.eventually("the choice") {
                    _ = try await program.control("action", "0")
                    return !program.choices.isEmpty
                }
                await second.stop()
            }
        }

        @Test(arguments: ["data", "bare"])
        func `a text that the user enters at a portal of version 2 comes back (N-12, X-79)`(kind: String) async throws {
            try await Desktop.with { desktop in
                try await desktop.withBus { bus in
                    let environment = desktop.environment.merging(bus) { $1 }
                    try await OneDesktop.withScript("portal", [kind], environment) { portal in
                        let process = try ChildProcess(
                            [desktop.probe, "portal"],
                            environment: environment,
                            readsErrors: true
                        )
                        let program = Program(environment: environment, process: process)
                        do {
                            try await program.show("q", "Deploy?", command: "ask")
                            try await program.eventually("the text field") {
                                portal.lines.contains { $0.contains(#""purpose": "im.reply-with-text""#) }
                            }
                            portal.send(SIGUSR1)
                            try await program.eventually("the text") { !program.choices.isEmpty }
                            let choice = program.choices[0]
                            #expect(
                                choice.contains("why") && choice.contains(#"text: Optional("Because")"#),
                                "\(choice)"
                            )
                        } catch {
                            await process.stop()
                            throw error
                        }
                        await process.stop()
                    }
                }
            }
        }

        @Test func `without a portal, the error says so`() async throws {
            try await Desktop.with { desktop in
                try await desktop.withBus { bus in
                    let environment = desktop.environment.merging(bus) { $1 }
                    let process = try ChildProcess(
                        [desktop.probe, "portal"],
                        environment: environment,
                        readsErrors: true
                    )
                    let program = Program(environment: environment, process: process)
                    try await program.eventually("the error") {
                        process.write("show q Title")
                        return process.lines.contains { $0.hasPrefix("refused q There is no desktop portal: ") }
                    }
                    await process.stop()
                }
            }
        }
    }
}
