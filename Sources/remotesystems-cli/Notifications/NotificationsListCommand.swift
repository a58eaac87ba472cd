// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import UserNotifications

/// The command `remotesystems notifications list`.
struct NotificationsListCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the notifications that wait on this system.",
        usage: "remotesystems notifications list [<options>]",
        discussion: """
            The oldest come first. Those of a thread are together, the most relevant first.

            Exit status: 1 if there is none.
            """
    )

    @OptionGroup var selection: NotificationSelection
    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let list = try await self.options.withNotifications(self.common) { try await $0.list() }
            .filter(self.selection.includes)
        guard !list.isEmpty else {
            output.note(self.selection.isEmpty ? "No notification waits." : "No such notification waits.")
            return false
        }
        for notification in list { try notification.report("notification", "", output) }
        return true
    }
}
