// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import RemoteSystems
import Testing
import UserNotifications

extension HostDaemonTests {
    /// `remotesystems notify` when systems do not receive it.
    @Suite struct NotifyLater {
        /// Leaves notifications of `remotesystems notify` in the outbox.
        private static func fill(_ daemon: Daemon, _ identifiers: [String], for system: String) async throws {
            let center = try await UserNotificationCenter(
                connectingToDaemonOf: daemon.configuration("remote-systems.command.notify"),
                applicationName: "notify",
                within: .seconds(60)
            )
            for identifier in identifiers {
                let content = NotificationContent(title: "Backup \(identifier)")
                let request = NotificationRequest(identifier: identifier, content: content)
                try await center.post(RemoteNotification(request), to: [system])
            }
            await center.close()
        }

        @Test func `a full outbox is the only error of notify --later, and names what deletes some`() async throws {
            try await Daemon.with { daemon in
                let away = try await daemon.addSystem()
                try await daemon.whileRunning { _, _ in
                    try await Self.fill(daemon, (1...32).map { "\($0)" }, for: away)
                    let (status, lines) = try await daemon.finish(
                        ["notify", away, "--later", "--title", "T", "--loopback"]
                    )
                    #expect(status == 2)
                    #expect(lines.last?.contains("notifications outbox --delete") == true, "\(lines)")
                    #expect(lines.count { $0.contains("32 notifications") } == 1, "\(lines)")
                    #expect(!lines.joined().contains("With --later"), "\(lines)")
                }
            }
        }

        @Test func `notify --all --later succeeds without a daemon here if another system receives it`() async throws {
            try await Daemon.with { daemon in
                _ = try await daemon.addSystem()
                _ = try await daemon.addSystem("attic")
                let other = try daemon.command(
                    ["host", "run", "--loopback", "--port", "0"],
                    environment: ["REMOTE_SYSTEMS_STATE": "\(daemon.directory)/state-of-cellar"]
                )
                do {
                    let lines = try await eventually("the cellar receives it", within: .seconds(60)) {
                        let (status, lines) = try await daemon.finish(
                            ["notify", "--all", "--later", "--title", "T", "--loopback"]
                        )
                        return status == 0 ? lines : nil
                    }
                    let line = lines.first { $0.contains(": not kept. ") }
                    #expect(line?.contains("No host daemon runs on this system.") == true, "\(lines)")
                } catch {
                    await other.stop()
                    throw error
                }
                await other.stop()
            }
        }

        @Test func `what waits is listed with its date, and deleted by the beginnings of ids`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    func outbox(_ arguments: String...) async throws -> (Int32, [String]) {
                        try await daemon.finish(["notifications", "outbox", "--loopback"] + arguments)
                    }
                    // The ids are in another order.
                    let identifiers = ["tea-green", "coffee", "backup", "tea-black"]
                    // A system of no account is never there.
                    try await Self.fill(daemon, identifiers, for: String(repeating: "a", count: 52))
                    let (_, list) = try await outbox()
                    let dated = list.compactMap { $0.firstMatch(of: /^\d{4}-\S+ \S+  (\S+)  Backup/)?.output.1 }
                    #expect(dated.map { String($0) } == identifiers, "\(list)")
                    for (text, reason) in [("zz", "at least four"), ("unknown", "No notification 'unknown' waits.")] {
                        let (status, lines) = try await outbox("--delete", text)
                        #expect(status == 1 && lines.joined().contains(reason), "\(lines)")
                    }
                    let (ambiguous, lines) = try await outbox("--delete", "tea-")
                    #expect(ambiguous == 2 && lines.joined().contains("tea-black and tea-green"), "\(lines)")
                    #expect(try await outbox("--delete", "tea-g", "--delete", "coffee").0 == 0)
                    #expect(try await outbox().1.count == 2)
                }
            }
        }

        @Test(arguments: [[], ["--later"]])
        func `a button that nothing hears is refused, unless an application may handle it`(
            arguments: [String]
        ) async throws {
            try await Daemon.with { daemon in
                for button in ["--action", "--text-action"] {
                    let notify = [
                        "notify", "--all", "--title", "T", button, "a=A", "--search-time", "0.5", "--loopback",
                    ]
                    let (status, lines) = try await daemon.finish(notify + arguments)
                    #expect(status == 64 && lines.joined().contains("without --wait"), "\(lines)")
                    for target in ["--application", "--category"] {
                        // No system receives it.
                        #expect(try await daemon.finish(notify + arguments + [target, "test.calendar"]).0 == 2)
                    }
                }
            }
        }

        @Test func `a beginning of an id that is too short is refused with the reason`() async throws {
            try await Daemon.with { daemon in
                let id = try await daemon.addSystem()
                try await daemon.whileRunning { _, _ in
                    for (count, isTooShort) in [(3, true), (4, false)] {
                        let (status, lines) = try await daemon.finish(
                            ["notify", String(id.prefix(count)), "--title", "T", "--search-time", "0.5", "--loopback"]
                        )
                        #expect(status == 2, "\(lines)")
                        #expect(lines.joined().contains("at least 4 characters") == isTooShort, "\(lines)")
                    }
                }
            }
        }

        @Test func `systems with the same name are reported with the beginnings of their ids`() async throws {
            try await Daemon.with { daemon in
                _ = try await daemon.addSystem("vm")
                #expect(try await daemon.finish(["account", "rename", "vm"]).0 == 0)
                try await daemon.whileRunning { _, _ in
                    // They meet.
                    let other = try daemon.command(
                        ["host", "run", "--loopback", "--port", "0"],
                        environment: ["REMOTE_SYSTEMS_STATE": "\(daemon.directory)/state-of-vm"]
                    )
                    do {
                        _ = try await eventually("both are reported", within: .seconds(60)) {
                            let (_, lines) = try await daemon.finish(["notify", "--all", "--title", "T", "--loopback"])
                            return lines.count { $0.contains(/^vm \([a-z2-7]+\): kept/) } == 2 ? true : nil
                        }
                    } catch {
                        await other.stop()
                        throw error
                    }
                    await other.stop()
                }
            }
        }

        @Test func `notify --all reports that this system has no host daemon`() async throws {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(
                    ["notify", "--all", "--title", "T", "--search-time", "0.5", "--loopback"]
                )
                #expect(status == 2)
                #expect(
                    lines.contains { $0.contains("not reached. No host daemon runs on this system.") },
                    "\(lines)"
                )
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(["notify", "--all", "--title", "T", "--loopback"])
                    #expect(status == 0 && !lines.joined().contains("not reached"), "\(lines)")
                }
            }
        }
    }
}
