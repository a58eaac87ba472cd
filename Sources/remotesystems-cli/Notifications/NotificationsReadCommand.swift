// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications read`.
struct NotificationsReadCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Mark notifications of this system as read.",
        usage: "remotesystems notifications read <key> ... | --all [<options>]",
        discussion: """
            They still wait, and are marked as read on all systems of the account that have them. 'notifications list' \
            marks none by itself; what is opened in a view is marked.

            Exit status: 1 if none of them was unread; 2 if a key is unknown, and none is marked then.
            """
    )

    @Argument(help: ArgumentHelp("The keys, as 'notifications list' prints them.", valueName: "key"))
    var keys: [String] = []

    @Flag(help: "Mark all notifications that wait.")
    var all = false

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.all == self.keys.isEmpty else { throw ValidationError("Give keys, or --all.") }
        guard self.keys.count <= 512 else { throw ValidationError("At most 512 keys are possible. Use --all.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let count = try await self.options.withNotifications(self.common) { notifications in
            if !self.all {
                let listed = Set(try await notifications.list().map(\.key))
                // Then none of them is marked.
                if let unknown = self.keys.first(where: { !listed.contains($0) }) {
                    throw LocalNotifications.unknown(unknown)
                }
            }
            return try await notifications.markRead(self.all ? nil : self.keys)
        }
        try output.json(ReadOutput(count: count))
        output.note("Marked as read: \(count)")
        return count > 0
    }
}

/// The output of `notifications read --json`.
private struct ReadOutput: Encodable {
    let event = "read"
    let time = Date.now
    var count: Int
}
