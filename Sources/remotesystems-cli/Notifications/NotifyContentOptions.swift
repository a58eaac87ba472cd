// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The content of the notification of `notify`.
struct NotifyContentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The first line, at most \(NotificationLimits.titleBytes) bytes.", valueName: "text"))
    var title: String?

    @Option(
        help: ArgumentHelp(
            "The line below the title, at most \(NotificationLimits.titleBytes) bytes.",
            valueName: "text"
        )
    )
    var subtitle: String?

    @Option(
        help: ArgumentHelp(
            "The text. The whole notification has at most \(NotificationLimits.remotePayloadBytes) bytes, without its "
                + "attachments.",
            valueName: "text"
        )
    )
    var body: String?

    @Option(
        name: .customLong("action"),
        help: ArgumentHelp(
            "A button. Repeatable. At most \(NotificationLimits.actions) buttons and text fields together.",
            valueName: "id=title"
        )
    )
    var actions: [String] = []

    @Option(
        name: .customLong("text-action"),
        help: ArgumentHelp("A field in which the user enters text. Repeatable.", valueName: "id=title")
    )
    var textActions: [String] = []

    @OptionGroup var style: NotificationStyleOptions

    @Option(help: ArgumentHelp("The name of the sender that is shown.", valueName: "text"))
    var sender: String?

    @OptionGroup var attachments: AttachmentOptions

    @Option(
        help: ArgumentHelp(
            "A file with a payload in the JSON form of Apple's push service, in place of the texts; '-' for standard "
                + "input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var payload: String?

    @Option(
        help: ArgumentHelp(
            "The application on the receiving system for which the notification is. It updates its content "
                + "('content-available' of the payload), its icon shows the number ('badge'), and its extensions may "
                + "change and show the notification. Defaults to this command.",
            valueName: "id"
        )
    )
    var application: String?

    @Option(help: ArgumentHelp("The category, for which the application may have a view.", valueName: "id"))
    var category: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp(
            "The identifier, at most \(NotificationLimits.identifierBytes) bytes. The notification replaces an earlier "
                + "one of this system with the same identifier. Defaults to a new one.",
            valueName: "id"
        )
    )
    var identifier: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time after which the systems withdraw it, \(EnteredTime.form). Range: 1 to 2592000 (30d). Defaults to "
                + "none.",
            valueName: "time"
        )
    )
    var expire: EnteredTime?

    /// Whether it has buttons whose answers only the sender can receive: no application has a view of it.
    var isQuestion: Bool {
        (!self.actions.isEmpty || !self.textActions.isEmpty) && self.application == nil && self.category == nil
    }

    func validate() throws {
        let hasText = self.title?.isEmpty == false || self.body?.isEmpty == false
        guard hasText || self.payload != nil else {
            throw ValidationError("Give the notification a text with --title or --body, or a --payload.")
        }
        guard self.payload == nil || (self.title ?? self.subtitle ?? self.body) == nil else {
            throw ValidationError("--payload and --title, --subtitle, --body cannot be combined.")
        }
        for text in self.actions { _ = try Self.parts(text, "--action") }
        for text in self.textActions { _ = try Self.parts(text, "--text-action") }
        guard (1...2_592_000).contains(self.expire?.seconds ?? 1) else {
            throw ValidationError("--expire takes 1 to 2592000 seconds.")
        }
    }

    /// - Parameter reportsDismissal: whether the sender learns that the user dismissed the notification.
    func notification(reportsDismissal: Bool) throws -> RemoteNotification {
        var content = NotificationContent()
        var isMutable = false
        var isContentAvailable = false
        if let payload {
            let bytes =
                payload == "-"
                ? try Input.read(nil, limit: NotificationLimits.remotePayloadBytes)
                : try Input.file(payload, limit: NotificationLimits.remotePayloadBytes)
            let read = try RemotePayload(json: Data(bytes))
            content = read.content
            isMutable = read.isMutable
            isContentAvailable = read.isContentAvailable
        } else {
            content.title = self.title ?? ""
            content.subtitle = self.subtitle ?? ""
            content.body = self.body ?? ""
        }
        content.attachments = try self.attachments.attachments()
        self.style.apply(to: &content)
        if let category = self.category { content.categoryIdentifier = category }
        var category: NotificationCategory?
        if !self.actions.isEmpty || !self.textActions.isEmpty || reportsDismissal {
            let identifier = content.categoryIdentifier ?? "question"
            content.categoryIdentifier = identifier
            var actions: [NotificationAction] = []
            for text in self.actions {
                let (id, title) = try Self.parts(text, "--action")
                actions.append(NotificationAction(identifier: .init(id), title: title))
            }
            for text in self.textActions {
                let (id, title) = try Self.parts(text, "--text-action")
                actions.append(NotificationAction(TextInputNotificationAction(identifier: .init(id), title: title)))
            }
            category = NotificationCategory(
                identifier: identifier,
                actions: actions,
                options: reportsDismissal ? .customDismissAction : []
            )
        }
        let request = NotificationRequest(
            identifier: self.identifier ?? UUID().uuidString.lowercased(),
            content: content
        )
        var notification = RemoteNotification(request, category: category)
        notification.applicationName = self.sender
        notification.expiration = self.expire.map { .seconds(Int64($0.seconds.rounded(.up))) }
        notification.isMutable = isMutable
        notification.isContentAvailable = isContentAvailable
        notification.targetApplicationID = self.application
        do throws(NotificationError) {
            try notification.validate()
        } catch {
            throw self.namingOption(error)
        }
        return notification
    }

    /// The error with the option that the user has given in place of the field that it became.
    private func namingOption(_ error: NotificationError) -> NotificationError {
        var error = error
        if error.code == .payloadTooLarge {
            error.message =
                "The notification is larger than \(NotificationLimits.remotePayloadBytes) bytes, with all "
                + "texts and actions. Shorten them."
        }
        if let field = error.field, let option = self.option(of: field) { error.field = option }
        return error
    }

    private func option(of field: String) -> String? {
        switch field {
        case "identifier" where self.identifier != nil: return "--id"
        case "content.title" where self.title != nil: return "--title"
        case "content.subtitle" where self.subtitle != nil: return "--subtitle"
        case "content.body" where self.body != nil: return "--body"
        case "content.sound" where self.style.sound != nil: return "--sound"
        case "applicationName": return "--sender"
        case "targetApplicationID": return "--application"
        case "content.categoryIdentifier", "category.identifier": return "--category"
        case "content.attachments": return "--attach"
        case "category.actions": return self.textActions.isEmpty ? "--action" : "--action and --text-action"
        default:
            let options = self.actions.map { "--action '\($0)'" } + self.textActions.map { "--text-action '\($0)'" }
            return options.indices.first { field.hasPrefix("category.actions[\($0)].") }.map { options[$0] }
        }
    }

    private static func parts(_ text: String, _ option: String) throws -> (id: String, title: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw ValidationError("\(option) takes id=title, such as deploy=Deploy, not '\(text)'.")
        }
        return (parts[0], parts[1])
    }
}
