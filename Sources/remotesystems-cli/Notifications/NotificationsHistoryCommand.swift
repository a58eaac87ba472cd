// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications history`.
struct NotificationsHistoryCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List or delete the notifications that have ended on this system.",
        usage: "remotesystems notifications history [<options>]",
        discussion: """
            The newest come first. Those of a thread are together, the most relevant first.

            A notification is kept for 30 days after it was answered, dismissed or withdrawn, or its time was over; \
            at most 10 000 are kept.

            Exit status: 1 if there is none to list or to delete.
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The maximum number. Defaults to 20. Range: 1 to 10000.", valueName: "number")
    )
    var limit: Int?

    @Flag(help: "Delete the history, or one notification of it.")
    var delete = false

    @Option(help: ArgumentHelp("The key of the notification to delete.", valueName: "key"))
    var key: String?

    @OptionGroup var selection: NotificationSelection
    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...Self.maxLimit).contains(self.limit ?? 1) else { throw ValidationError("--limit takes 1 to 10000.") }
        guard self.limit == nil || !self.delete else {
            throw ValidationError("--delete deletes the whole history, or with --key one notification of it.")
        }
        guard self.selection.isEmpty || !self.delete else {
            throw ValidationError("--thread and --filter select what is listed. Delete it with --delete and --key.")
        }
        guard self.key == nil || self.delete else { throw ValidationError("--key is used with --delete.") }
    }

    private static let (maxLimit, defaultLimit) = (10_000, 20)

    private func list(_ notifications: LocalNotifications) async throws -> [EndedNotification] {
        let limit = self.limit ?? Self.defaultLimit
        // The daemon does not select.
        let list = try await notifications.history(limit: self.selection.isEmpty ? limit : Self.maxLimit)
        return Array(list.filter { self.selection.includes($0.notification) }.prefix(limit)).grouped
    }

    private static let none = "No notification has ended."

    func perform(_ output: Output) async throws -> Bool {
        let (list, deleted) = try await self.options.withNotifications(self.common) { notifications in
            let deleted = self.delete ? try await notifications.forget(self.key) : 0
            let list = self.delete ? [] : try await self.list(notifications)
            return (list, deleted)
        }
        guard !self.delete else {
            guard deleted > 0 else {
                output.note((self.key.map { "No notification with the key '\($0)' has ended." } ?? Self.none).printable)
                return false
            }
            try output.json(MarkOutput(event: "deleted"))
            try output.line(self.key.map { "deleted: \($0)" } ?? "deleted: the history of this system")
            return true
        }
        guard !list.isEmpty else {
            output.note(Self.none)
            return false
        }
        for ended in list {
            try output.json(ListedNotificationOutput("history", ended.notification, ended))
            let end = [ended.event, ended.action?.rawValue.quotedUnlessPlain].compactMap(\.self).joined(separator: " ")
            try output.line("\(LocalTime.text(ended.date)) \(end)  \(ended.notification.line)".printable)
        }
        return true
    }
}
