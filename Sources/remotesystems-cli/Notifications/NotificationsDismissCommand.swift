// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications dismiss`.
struct NotificationsDismissCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "Dismiss notifications that wait on this system.",
        usage: "remotesystems notifications dismiss <key> ... | --all [<options>]",
        discussion: """
            They disappear from all systems of the account that have them. A program that waits for an answer receives \
            'dismiss', as from 'notifications answer <key> dismiss'.

            Exit status: 1 if none was dismissed; 2 if a key is unknown, and none is dismissed then.
            """
    )

    @Argument(help: ArgumentHelp("The keys, as 'notifications list' prints them.", valueName: "key"))
    var keys: [String] = []

    @Flag(help: "Dismiss all notifications that wait.")
    var all = false

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.all == self.keys.isEmpty else { throw ValidationError("Give keys, or --all.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let count = try await self.options.withNotifications(self.common) { notifications in
            let listed = try await notifications.list().map(\.key)
            if let unknown = self.keys.first(where: { !listed.contains($0) }) {
                throw LocalNotifications.unknown(unknown)
            }
            var count = 0
            for key in self.all ? listed : self.keys {
                do {
                    try await notifications.respond(key, .dismiss, text: nil)
                    count += 1
                } catch let error as NotificationError where error.code == .requestUnknown {
                    // It has ended meanwhile.
                }
            }
            return count
        }
        try output.json(DismissedOutput(count: count))
        output.note("Dismissed: \(count)")
        return count > 0
    }
}

/// The output of `notifications dismiss --json`.
private struct DismissedOutput: Encodable {
    let event = "dismissed"
    let time = Date.now
    var count: Int
}
