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
        abstract: "List or delete the notifications of this system that wait for systems that are away.",
        usage: "remotesystems notifications outbox [<options>]",
        discussion: """
            'remotesystems notify --later' puts them there. Each is sent when its system is back, and given up after \
            30 days or its own expiration.

            Exit status: 1 if there is none.
            """
    )

    @Option(help: ArgumentHelp("Delete the notifications with this identifier.", valueName: "id"))
    var delete: String?

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.delete?.isEmpty != true else { throw ValidationError("The identifier is empty.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let (list, count) = try await self.options.withNotifications(self.common) { notifications in
            let count = if let delete { try await notifications.unpost([delete]) } else { 0 }
            let list = self.delete == nil ? try await notifications.posted() : []
            return (list, count)
        }
        if self.delete != nil {
            if count > 0 { try output.json(MarkOutput(event: "deleted")) }
            output.note("Deleted: \(count)")
            return count > 0
        }
        guard !list.isEmpty else {
            output.note("No notification waits for a system that is away.")
            return false
        }
        let account = RemoteSystemsAccount(self.options.configuration(self.common))
        let names = Dictionary(uniqueKeysWithValues: try account.systems().map { ("\($0.id)", $0.name) })
        for posted in list {
            let system = names[posted.systemID].flatMap(\.self)
            try output.json(PostedOutput(posted, system: system))
            let content = posted.notification.request.content
            let texts = [content.title, content.body].filter { !$0.isEmpty }.joined(separator: ": ")
            let place = system ?? SystemID(posted.systemID)?.short ?? posted.systemID
            try output.line("\(posted.notification.request.identifier)  \(texts)  (for \(place))".printable)
            for line in content.attachmentLines { try output.line(line.printable) }
        }
        return true
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
    }
}
