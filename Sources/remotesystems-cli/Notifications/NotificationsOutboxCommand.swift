// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications outbox`.
struct NotificationsOutboxCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "List or delete this system's notifications for systems that are away.",
        usage: "remotesystems notifications outbox [--delete <id>] ... [<options>]",
        discussion: """
            'remotesystems notify --later' puts them there. Each is sent when its system is back, and given up after \
            30 days or its own expiration. Prints the date, the id and the texts of each, the oldest first, and why \
            the last attempt has failed.

            One that was refused or withheld, that has lost a file, or whose time was over, is listed with the reason \
            for a day, or until the daemon ends.

            Exit status: 1 if none waits, or if none was deleted.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Delete the notifications with this id, or at least the first four characters of it. Repeatable.",
            valueName: "id"
        )
    )
    var delete: [String] = []

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard !self.delete.contains("") else { throw ValidationError("The identifier is empty.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let (list, count) = try await self.options.withNotifications(self.common) { notifications in
            let list = try await notifications.posted()
            let found = try self.delete.isEmpty ? [] : self.identifiers(among: list, output)
            return (list, found.isEmpty ? 0 : try await notifications.unpost(found))
        }
        if !self.delete.isEmpty {
            if count > 0 { try output.json(MarkOutput(event: "deleted")) }
            output.note("Deleted: \(count)")
            return count > 0
        }
        guard !list.isEmpty else {
            output.note("No notification waits for a system that is away, and none has failed within a day.")
            return false
        }
        let account = RemoteSystemsAccount(self.options.configuration(self.common))
        let names = Dictionary(uniqueKeysWithValues: try account.systems().map { ("\($0.id)", $0.name) })
        for posted in list.sorted(by: { $0.date < $1.date }) {
            let system = names[posted.systemID].flatMap(\.self)
            try output.json(PostedOutput(posted, system: system))
            let content = posted.notification.request.content
            let texts = [content.title, content.body].filter { !$0.isEmpty }.joined(separator: ": ")
            let place = system ?? SystemID(posted.systemID)?.short ?? posted.systemID
            let id = posted.notification.request.identifier
            try output.line("\(LocalTime.text(posted.date))  \(id)  \(texts)  (for \(place))".printable)
            for line in content.attachmentLines { try output.line(line.printable) }
            if let problem = posted.problem {
                try output.line("    \(posted.isWaiting ? "Waits" : "Ended"): \(problem)".printable)
            }
        }
        return list.contains(where: \.isWaiting)
    }

    /// The ids that are meant. States which are not.
    private func identifiers(among list: [PostedNotification], _ output: Output) throws(Failure) -> [String] {
        // One waits for several systems.
        let ids = Set(list.map(\.notification.request.identifier)).sorted()
        var found: [String] = []
        for text in self.delete {
            guard let id = try NotificationID.find(text, among: ids, "notifications that wait") else {
                output.note("No notification '\(text)' waits.\(NotificationID.hint(for: text))".printable)
                continue
            }
            found.append(id)
        }
        return found
    }
}

/// The output of `notifications outbox --json`.
private struct PostedOutput: Encodable {
    let event = "posted"
    let time = Date.now
    let id: String
    let title: String
    let body: String
    let attachments: [AttachmentOutput]
    let application: String
    let systemID: String
    let system: String?
    let date: Date
    let expires: Date
    let isWaiting: Bool
    let problem: String?

    init(_ posted: PostedNotification, system: String?) {
        self.id = posted.notification.request.identifier
        self.title = posted.notification.request.content.title
        self.body = posted.notification.request.content.body
        self.attachments = posted.notification.request.content.attachments.map { AttachmentOutput($0) }
        self.application = posted.application
        self.systemID = posted.systemID
        self.system = system
        self.date = posted.date
        self.expires = posted.expires
        self.isWaiting = posted.isWaiting
        self.problem = posted.problem
    }
}
