// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications cancel`.
struct NotificationsCancelCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Remove scheduled notifications of this system.",
        usage: "remotesystems notifications cancel <id> ... [<options>]",
        discussion: "Exit status: 1 if none of them was scheduled."
    )

    @Argument(
        help: ArgumentHelp(
            "The ids of the notifications, as 'notifications pending' prints them, or at least the first four "
                + "characters of them.",
            valueName: "id"
        )
    )
    var identifiers: [String]

    @Option(
        help: ArgumentHelp(
            "The application that has scheduled them. Defaults to 'notifications schedule'.",
            valueName: "id"
        )
    )
    var application: String?

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let count = try await self.options.withNotifications(self.common) { notifications in
            let pending = try await notifications.pending()
            var found: [String] = []
            for text in self.identifiers {
                guard let id = try self.identifier(text, among: pending) else {
                    output.note(self.absence(of: text, among: pending).printable)
                    continue
                }
                found.append(id)
            }
            return found.isEmpty ? 0 : try await notifications.cancel(found, of: self.application)
        }
        try output.json(CancelledOutput(count: count))
        output.note("Removed: \(count)")
        return count > 0
    }

    private var owner: String { self.application ?? "remote-systems.command.notifications" }

    /// The id that a text means: itself, or the only one that begins with it.
    private func identifier(_ text: String, among pending: [ScheduledNotification]) throws(Failure) -> String? {
        let ids = pending.filter { $0.application == self.owner }.map(\.notification.request.identifier)
        return try NotificationID.find(text, among: ids, "scheduled notifications")
    }

    private func absence(of text: String, among pending: [ScheduledNotification]) -> String {
        let other = pending.first { $0.application != self.owner && $0.notification.request.identifier == text }
        guard let other else { return "No notification '\(text)' is scheduled.\(NotificationID.hint(for: text))" }
        return "The notification '\(text)' was scheduled by \(other.application). Add --application "
            + "\(other.application)."
    }
}

private struct CancelledOutput: Encodable {
    let event = "cancelled"
    let time = Date.now
    var count: Int
}
