// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import UserNotifications

/// The command `remotesystems notifications open`.
struct NotificationsOpenCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open the view of a notification that waits on this system.",
        usage: "remotesystems notifications open <key> [<options>]",
        discussion: """
            The view is a window on the desktop of the host daemon. The button 'Details' of the notification opens the \
            same. It is that of the application's content extension for the category of the notification.
            """
    )

    @Argument(help: "The key of the notification, as 'notifications list' prints it.")
    var key: String

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let opened = try await self.options.withNotifications(self.common) { notifications in
            let notification = try await notifications.notification(self.key)
            do {
                try await notifications.openView(self.key)
            } catch var error as NotificationError where error.code == .notShown {
                // The text of the host daemon has the time in another form than 'snooze' and 'list'.
                if let until = notification.snoozedUntil {
                    error.message = "The notification is snoozed until \(LocalTime.text(until))."
                }
                throw error
            }
            return notification
        }
        try output.json(OpenedOutput(key: self.key, id: opened.notification.request.identifier))
        try output.line("opened: \(opened.texts)".printable)
        return true
    }
}

/// The output of `notifications open --json`.
private struct OpenedOutput: Encodable {
    let event = "opened"
    let time = Date.now
    var key: String
    var id: String
}
