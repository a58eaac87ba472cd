// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension HostDaemonTests {
    /// `remotesystems notifications schedule`, `pending` and `cancel`.
    @Suite struct ScheduleCommand {
        @Test func `what is scheduled is listed with its sender and its attachments`() async throws {
            try await Daemon.with { daemon in
                let file = "\(daemon.directory)/song.mp3"
                try Data("ID3\u{3} music".utf8).write(to: URL(filePath: file))
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notifications", "schedule", "--loopback", "--in", "3600", "--title", "Tea", "--attach", file]
                            + ["--sender", "Kitchen"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, text) = try await NotificationsCommand.run(daemon, "pending")
                    #expect(
                        text.contains("Tea  (Kitchen, remote-systems.command.notifications)\n    a sound, '"),
                        "\(text)"
                    )
                    let (_, json) = try await NotificationsCommand.run(daemon, "pending", "--json")
                    #expect(json.contains(#""sender":"Kitchen""#), "\(json)")
                }
            }
        }

        @Test func `a scheduled notification is cancelled by the beginning of its id`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    for id in ["tea-green", "tea-black", "coffee"] {
                        let (status, text) = try await NotificationsCommand.run(
                            daemon,
                            "schedule",
                            "--in",
                            "3600",
                            "--title",
                            "Ready",
                            "--id",
                            id
                        )
                        #expect(status == 0, "\(text)")
                    }
                    let (ambiguous, text) = try await NotificationsCommand.run(daemon, "cancel", "tea-")
                    #expect(ambiguous == 2 && text.contains("tea-black and tea-green"), "\(text)")
                    #expect(try await NotificationsCommand.run(daemon, "cancel", "cof").0 == 1)
                    #expect(try await NotificationsCommand.run(daemon, "cancel", "coff", "tea-g").0 == 0)
                    let (_, pending) = try await NotificationsCommand.run(daemon, "pending")
                    #expect(pending.contains("tea-black") && !pending.contains("tea-green"))
                    #expect(!pending.contains("coffee"))
                    // As of another system, which is named.
                    let own = try await daemon.finish(["account", "show", "--json"]).1.joined()
                    let id = String(try #require(own.firstMatch(of: /"systemID":"([^"]+)"/)).output.1)
                    let (status, named) = try await NotificationsCommand.run(daemon, "pending", id)
                    #expect(status == 0 && named.contains("tea-black"), "\(named)")
                    #expect(try await NotificationsCommand.run(daemon, "pending", "").0 == 64)
                }
            }
        }

        @Test(
            arguments: [
                (["--in", "60", "--title", ""], "--title, --subtitle or --body"),
                (["--at", "2020-01-01T10:00", "--title", "Over"], "--at: There is no such date in the future."),
                (["--at", "9999-12-31T10:00", "--title", "Far"], "--at: The next date is more than 10 years away."),
                (["--in", "0", "--title", "Now"], "--in: The interval must be"),
                (["--near", "1,2", "--radius", "5", "--title", "Near"], "--radius: The radius must be from 10"),
                (["--near", "91,2", "--title", "Far"], "--near: The latitude must be from -90"),
            ]
        )
        func `what cannot be shown is refused, and the option is named`(options: [String], reason: String) async throws
        {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(["notifications", "schedule", "--loopback"] + options)
                #expect(status == 64 && lines.joined().contains(reason), "\(lines)")
            }
        }
    }
}
