// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications snooze`.
struct NotificationsSnoozeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "snooze",
        abstract: "Hide a notification of this system until later.",
        usage: "remotesystems notifications snooze <key> --for <time> [<options>]",
        discussion: """
            It disappears from the screens of all systems of the account that have it, and is shown again on all of \
            them at the same time, unless it has ended before. Meanwhile, 'notifications list' has it. To snooze it \
            again only makes it later.

              remotesystems notifications snooze 3 --for 10m
              remotesystems notifications snooze 3 --for 2h
            """
    )

    @Argument(help: "The key of the notification, as 'notifications list' prints it.")
    var key: String

    @Option(
        name: .customLong("for"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time from now, \(EnteredTime.form). Range: 1m to 30d.",
            valueName: "time"
        )
    )
    var time: String

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard Self.seconds(self.time).map({ LocalNotifications.snoozeSeconds.contains($0) }) == true else {
            throw ValidationError("--for takes 1m to 30d, such as 90s, 10m, 2h or 1d.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let (id, date) = try await self.options.withNotifications(self.common) { notifications in
            let notification = try await notifications.notification(self.key)
            do {
                let date = try await notifications.snooze(self.key, for: Self.seconds(self.time) ?? 0)
                return (notification.notification.request.identifier, date)
            } catch let error as NotificationError {
                throw error.naming(["Seconds": "--for"])
            }
        }
        try output.json(SnoozedOutput(key: self.key, id: id, snoozedUntil: date))
        try output.line("snoozed: \(self.key) until \(date.map { LocalTime.text($0) } ?? "-")".printable)
        return true
    }

    /// The seconds of a time, rounded up.
    private static func seconds(_ text: String) -> Int? {
        EnteredTime(argument: text).flatMap { Int(exactly: $0.seconds.rounded(.up)) }
    }
}

/// The output of `notifications snooze --json`.
private struct SnoozedOutput: Encodable {
    let event = "snoozed"
    let time = Date.now
    var key: String
    var id: String
    var snoozedUntil: Date?
}
