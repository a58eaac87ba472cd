// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import RemoteSystems
import Testing
import UserNotifications

extension HostDaemonTests.NotificationsCommand {
    /// Times and sounds of notifications, as the user enters them.
    @Suite struct Times {
        @Test func `times have units, and the sound and the level of a scheduled notification are kept`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let schedule = ["notifications", "schedule", "--title", "Tea", "--loopback", "--in"]
                    let (status, lines) = try await daemon.finish(
                        schedule + ["1.5h", "--sound", "default", "--level", "time-sensitive"]
                    )
                    #expect(status == 0, "\(lines)")
                    let center = try await UserNotificationCenter(
                        connectingToDaemonOf: daemon.configuration("remote-systems.command.notifications"),
                        applicationName: "notifications",
                        within: .seconds(60)
                    )
                    let pending = try #require(try await center.pendingNotifications.first)
                    #expect(pending.request.content.sound == .standard)
                    #expect(pending.request.content.interruptionLevel == .timeSensitive)
                    #expect(pending.request.trigger == .timeInterval(.seconds(5400)))
                    await center.close()
                    for (arguments, reason) in [
                        (["10x"], "--in"), (["1h", "--level", "loud"], "--level takes"),
                        (["1h", "--sound", "a\u{7}b"], "--sound"),
                    ] {
                        let (status, lines) = try await daemon.finish(schedule + arguments)
                        #expect(status != 0 && lines.joined().contains(reason), "\(lines)")
                    }
                    let (expired, answer) = try await daemon.finish(
                        ["notify", "--all", "--title", "T", "--wait", "10m", "--expire", "1s", "--json", "--loopback"]
                    )
                    #expect(expired == 1 && answer.last?.contains(#""reason":"expired""#) == true, "\(answer)")
                }
            }
        }

        @Test func `a wrong --wait is refused with the usage of notify`() async throws {
            try await Daemon.with { daemon in
                for wait in [["--wait=10x"], ["--wait", "31d"], ["--wait", "-1m"], ["--wait=-1m"]] {
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--title", "T", "--loopback"] + wait
                    )
                    let text = lines.joined(separator: "\n")
                    #expect(status == 64 && text.contains("--wait takes 1 to 2592000"), "\(text)")
                    #expect(text.contains("Usage: remotesystems notify"), "\(text)")
                }
            }
        }
    }
}
