// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications`.
struct NotificationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "List, answer, snooze and schedule the notifications of this system.",
        discussion: """
            The host daemon of this system keeps the notifications that its user has not answered. On a system without \
            a desktop these commands show them. 'remotesystems notify' sends notifications.
            """,
        subcommands: [
            NotificationsListCommand.self, NotificationsWatchCommand.self, NotificationsAnswerCommand.self,
            NotificationsOpenCommand.self, NotificationsSnoozeCommand.self, NotificationsReadCommand.self,
            NotificationsScheduleCommand.self, NotificationsPendingCommand.self, NotificationsCancelCommand.self,
            NotificationsPermitCommand.self, NotificationsHistoryCommand.self, NotificationsOutboxCommand.self,
        ]
    )
}

/// Options of the commands that read the notifications of this system.
struct LocalNotificationsOptions: ParsableArguments {
    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions

    @Option(
        name: .customLong("search-time"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum time to look for the host daemon, in seconds. Range: 0.1 to 3600.",
            valueName: "seconds"
        )
    )
    var searchTime = 5.0

    func validate() throws {
        guard (0.1...3600).contains(self.searchTime) else {
            throw ValidationError("--search-time takes 0.1 to 3600 seconds.")
        }
    }

    func configuration(_ common: CommonOptions) -> RemoteSystemsConfiguration {
        RemoteSystemsConfiguration("notifications", self.network, self.state, logger: common.logger())
    }

    /// Connects to the host daemon of this system.
    func open(_ common: CommonOptions) async throws -> LocalNotifications {
        try await LocalNotifications.open(self.configuration(common), within: .seconds(self.searchTime))
    }

    /// Runs `body` with a connection to the host daemon of this system, and cancels it on SIGINT or SIGTERM.
    ///
    /// - Throws: as ``interruptible(on:_:)``.
    func withNotifications<Result: Sendable>(
        _ common: CommonOptions,
        _ body: @escaping @Sendable (LocalNotifications) async throws -> Result
    ) async throws -> Result {
        try await interruptible {
            let notifications = try await self.open(common)
            let result = try await body(notifications)
            await notifications.close()
            return result
        }
    }
}

extension LocalNotifications {
    /// Connects to the host daemon of this system.
    static func open(
        _ configuration: RemoteSystemsConfiguration,
        within limit: Duration
    ) async throws -> LocalNotifications {
        let system = try await RemoteSystem.findLocal(
            offering: RemoteNotificationConnection.service,
            within: limit,
            configuration: configuration
        )
        guard let system else {
            throw Failure(
                "\(RemoteSystemError.Code.unreachable)",
                RemoteSystemsDiagnosis.isHostDaemonRunning(configuration)
                    ? "The host daemon of this system was not found, or does not receive notifications. Check its "
                        + "setting 'notifications' and the network options of this command."
                    : "No host daemon runs on this system. Start it with 'remotesystems host run'.",
                canRetry: true
            )
        }
        let notifications = LocalNotifications()
        try await notifications.open(RemoteSystemConnectionRequest(system: system))
        return notifications
    }

    /// The notification with a key that the user has entered.
    func notification(_ key: String) async throws -> ListedNotification {
        guard let notification = try await self.list().first(where: { $0.key == key }) else {
            throw Self.unknown(key)
        }
        return notification
    }

    static func unknown(_ key: String) -> NotificationError {
        NotificationError(
            .requestUnknown,
            "No notification with the key '\(key)' waits on this system. 'remotesystems notifications list' lists "
                + "those that wait."
        )
    }
}

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

/// The command `remotesystems notifications answer`.
struct NotificationsAnswerCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Answer a notification that waits on this system.",
        usage: "remotesystems notifications answer <key> <action> [<options>]",
        discussion: """
            The answer goes to the program that sent the notification, which then disappears everywhere. An action \
            with a text field requires --text.
            """
    )

    @Argument(help: "The key of the notification, as 'notifications list' prints it.")
    var key: String

    @Argument(help: "The id of an action, 'default' for the notification itself, or 'dismiss'.")
    var action: String

    @Option(help: ArgumentHelp("The text, for an action with a text field.", valueName: "text"))
    var text: String?

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let answered = try await self.options.withNotifications(self.common) { notifications in
            let notification = try await notifications.notification(self.key)
            try self.check(notification)
            try await notifications.respond(self.key, NotificationActionIdentifier(self.action), text: self.text)
            return notification
        }
        try output.json(
            AnsweredOutput(
                key: self.key,
                id: answered.notification.request.identifier,
                action: self.action,
                text: self.text
            )
        )
        let title = answered.action(self.action)?.title
        let answer = [self.action, title.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
        try output.line(
            "answered: \(answered.texts) – \(answer)\(self.text.map { ": \($0.inOneLine)" } ?? "")".printable
        )
        return true
    }

    /// Checks the action and the text.
    private func check(_ notification: ListedNotification) throws(Failure) {
        func failure(_ message: String, _ argument: String) -> Failure {
            var failure = Failure("\(NotificationError.Code.invalidContent)", message)
            failure.keyPath = argument
            return failure
        }
        let known = notification.action(self.action)
        let identifier = NotificationActionIdentifier(self.action)
        guard known != nil || identifier == .default || identifier == .dismiss else {
            let names = notification.actions.map(\.identifier.rawValue) + ["default", "dismiss"]
            throw failure(
                "The notification has no action '\(self.action)'. Its actions: \(NameList.text(names))."
                    + SimilarNames.question(for: self.action, among: names),
                "action"
            )
        }
        guard (known?.textInput != nil) == (self.text != nil) else {
            throw failure(
                self.text == nil
                    ? "The action '\(self.action)' takes a text. Give it with --text."
                    : "The action '\(self.action)' takes no text. Omit --text.",
                "text"
            )
        }
    }
}

/// The output of `notifications answer --json`.
private struct AnsweredOutput: Encodable {
    let event = "answered"
    let time = Date.now
    var key: String
    var id: String
    var action: String
    var text: String?
}

extension ListedNotification {
    fileprivate var actions: [NotificationAction] { self.notification.category?.actions ?? [] }

    fileprivate func action(_ id: String) -> NotificationAction? {
        self.actions.first { $0.identifier.rawValue == id }
    }

    /// The texts of the notification in one line.
    var texts: String {
        let content = self.notification.request.content
        return [content.title, content.subtitle, content.body].filter { !$0.isEmpty }.map(\.inOneLine)
            .joined(separator: " – ")
    }

    /// The key, the texts and the sender.
    var line: String {
        let system = self.systemName ?? "this system"
        let sender = self.notification.applicationName ?? self.application
        let source = self.notification.isOfCommand(self.application) ? "from \(system)" : "\(sender) on \(system)"
        return "\(self.key)  \(self.texts)  (\(source))"
    }

    func report(_ event: String, _ prefix: String, _ output: Output) throws {
        try output.json(ListedNotificationOutput(event, self))
        let lines = self.lines
        try output.line("\(prefix)\(lines[0].printable)")
        for line in lines.dropFirst() { try output.line(line.printable) }
    }

    /// The key, the texts, the sender and the state; the actions and the attachments, a line each.
    var lines: [String] {
        let actions = self.actions.map { action in
            "    \(action.identifier): \(action.title)\(action.textInput == nil ? "" : " (takes --text)")"
        }
        let attachments = self.notification.request.content.attachmentLines
        let until = self.snoozedUntil.map { "snoozed until \(LocalTime.text($0))" }
        let thread = self.notification.request.content.threadIdentifier.map { "thread \($0)" }
        let marks = [self.isRead ? "read" : nil, until, thread].compactMap(\.self).joined(separator: ", ")
        return [marks.isEmpty ? self.line : "\(self.line)  [\(marks)]"] + actions + attachments
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
