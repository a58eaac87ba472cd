// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The output of `notifications list`, `watch` and `history` with `--json`.
struct ListedNotificationOutput: Encodable {
    struct Action: Encodable {
        var id: String
        var title: String
        var takesText: Bool
    }

    let event: String
    let time = Date.now
    let key: String
    let id: String
    let title: String
    let subtitle: String
    let body: String
    let application: String
    let sender: String?
    let systemID: String
    let system: String?
    let isShown: Bool
    let isRead: Bool
    /// `nil` if it is not hidden.
    let snoozedUntil: Date?
    let thread: String?
    /// `nil` for 0.
    let relevance: Double?
    let target: String?
    let filter: String?
    let actions: [Action]
    let attachments: [AttachmentOutput]
    let arrived: Date
    /// How and when it has ended.
    let end: String?
    let ended: Date?
    /// The id of the action with which it was answered on this system.
    let action: String?

    init(_ event: String, _ listed: ListedNotification, _ ended: EndedNotification? = nil) {
        let request = listed.notification.request
        self.event = event
        self.key = listed.key
        self.id = request.identifier
        self.title = request.content.title
        self.subtitle = request.content.subtitle
        self.body = request.content.body
        self.application = listed.application
        self.sender = listed.notification.applicationName
        self.systemID = listed.systemID
        self.system = listed.systemName
        self.isShown = listed.isShown
        self.isRead = listed.isRead
        self.snoozedUntil = listed.snoozedUntil
        self.thread = request.content.threadIdentifier
        self.relevance = request.content.relevanceScore == 0 ? nil : request.content.relevanceScore
        self.target = request.content.targetContentIdentifier
        self.filter = request.content.filterCriteria
        self.actions = listed.actions.map {
            Action(id: $0.identifier.rawValue, title: $0.title, takesText: $0.textInput != nil)
        }
        self.attachments = request.content.attachments.map { AttachmentOutput($0) }
        self.arrived = listed.date
        self.end = ended?.event
        self.ended = ended?.date
        self.action = ended?.action?.rawValue
    }
}

extension ListedNotification {
    var actions: [NotificationAction] { self.notification.category?.actions ?? [] }

    func action(_ id: String) -> NotificationAction? {
        self.actions.first { $0.identifier.rawValue == id }
    }

    /// The texts of the notification in one line.
    var texts: String {
        let content = self.notification.request.content
        return [content.title, content.subtitle, content.body].filter { !$0.isEmpty }.map(\.inOneLine)
            .joined(separator: " – ")
    }

    /// The key, the sender and the texts.
    var line: String { self.line(marks: []) }

    /// The key, the sender, the state and the texts, which are last: they cannot look like another sender.
    private func line(marks: [String]) -> String {
        let system = self.systemName?.quoted ?? "this system"
        let sender = (self.notification.applicationName ?? self.application).quoted
        let source = self.notification.isOfCommand(self.application) ? "from \(system)" : "\(sender) on \(system)"
        let state = marks.isEmpty ? "" : "  [\(marks.joined(separator: ", "))]"
        return "\(self.key)  \(source)\(state): \(self.texts)"
    }

    func report(_ event: String, _ prefix: String, _ output: Output) throws {
        try output.json(ListedNotificationOutput(event, self))
        let lines = self.lines
        try output.line("\(prefix)\(lines[0].printable)")
        for line in lines.dropFirst() { try output.line(line.printable) }
    }

    /// The key, the sender, the state and the texts; the actions and the attachments, a line each.
    var lines: [String] {
        let actions = self.actions.map { action in
            "    \(action.identifier): \(action.title)\(action.textInput == nil ? "" : " (takes --text)")"
        }
        let attachments = self.notification.request.content.attachmentLines
        let until = self.snoozedUntil.map { "snoozed until \(LocalTime.text($0))" }
        let thread = self.notification.request.content.threadIdentifier.map { "thread \($0.quotedUnlessPlain)" }
        let marks = [self.isRead ? "read" : nil, until, thread].compactMap(\.self)
        return [self.line(marks: marks)] + actions + attachments
    }
}

extension NotificationContent {
    /// The attachments, a line each.
    var attachmentLines: [String] {
        self.attachments.map { attachment in
            let missing = attachment.isDamaged ? "damaged, and left out" : "not on this system"
            let place = attachment.url?.path(percentEncoded: false) ?? missing
            return "    \(attachment.type.kind.noun), '\(attachment.identifier)': \(place)"
        }
    }
}
