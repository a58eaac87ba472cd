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
        abstract: "List, answer and schedule the notifications of this system.",
        discussion: """
            The host daemon of this system keeps the notifications that its user has not answered. On a system without \
            a desktop these commands show them. 'remotesystems notify' sends notifications.
            """,
        subcommands: [
            NotificationsListCommand.self, NotificationsWatchCommand.self, NotificationsAnswerCommand.self,
            NotificationsScheduleCommand.self, NotificationsPendingCommand.self, NotificationsCancelCommand.self,
            NotificationsPermitCommand.self, NotificationsHistoryCommand.self,
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

    /// Connects to the host daemon of this system.
    func open(_ common: CommonOptions) async throws -> LocalNotifications {
        let configuration = RemoteSystemsConfiguration(
            "notifications",
            self.network,
            self.state,
            logger: common.logger()
        )
        let id = try RemoteSystemsAccount(configuration).identity().systemID
        let finder = SystemFinder("\(id)", wait: .seconds(self.searchTime), configuration)
        let system = try await finder.find(offering: RemoteNotificationConnection.service)
        let notifications = LocalNotifications()
        try await notifications.open(RemoteSystemConnectionRequest(system: system))
        return notifications
    }
}

/// The command `remotesystems notifications list`.
struct NotificationsListCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the notifications that wait on this system.",
        usage: "remotesystems notifications list [<options>]",
        discussion: "Exit status: 1 if there is none."
    )

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let list = try await untilInterrupted {
            let notifications = try await self.options.open(self.common)
            let list = try await notifications.list()
            await notifications.close()
            return list
        }
        guard let list else { throw CancellationError() }
        guard !list.isEmpty else {
            output.note("No notification waits.")
            return false
        }
        for notification in list { try notification.report("notification", "", output) }
        return true
    }
}

/// The command `remotesystems notifications watch`.
struct NotificationsWatchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the notifications of this system, and every change.",
        usage: "remotesystems notifications watch [<options>]",
        discussion: "Prints each notification that is delivered (+) or gone (-), until Ctrl-C."
    )

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        _ = try await untilInterrupted {
            let notifications = try await self.options.open(self.common)
            for notification in try await notifications.watch() {
                try notification.report("delivered", "\(output.style(.green, "+")) ", output)
            }
            for await change in notifications.changes {
                let sign = change.event == "delivered" ? output.style(.green, "+") : output.style(.red, "-")
                try change.notification.report(change.event, "\(LocalTime.now) \(sign) ", output)
            }
            guard !Task.isCancelled else { return }
            throw Failure(
                "\(RemoteSystemError.Code.connectionLost)",
                "The host daemon has ended.",
                canRetry: true
            )
        }
        return true
    }
}

/// The command `remotesystems notifications answer`.
struct NotificationsAnswerCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Answer a notification that waits on this system.",
        discussion: "The answer goes to the program that sent the notification, which then disappears everywhere."
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
        _ = try await untilInterrupted {
            let notifications = try await self.options.open(self.common)
            try await notifications.respond(self.key, NotificationActionIdentifier(self.action), text: self.text)
            await notifications.close()
        }
        try output.json(MarkOutput(event: "answered"))
        return true
    }
}

extension ListedNotification {
    fileprivate func report(_ event: String, _ prefix: String, _ output: Output) throws {
        let content = self.notification.request.content
        let actions = self.notification.category?.actions ?? []
        try output.json(
            ListedNotificationOutput(
                event: event,
                key: self.key,
                id: self.notification.request.identifier,
                title: content.title,
                subtitle: content.subtitle,
                body: content.body,
                application: self.application,
                sender: self.notification.applicationName,
                systemID: self.systemID,
                system: self.systemName,
                isShown: self.isShown,
                actions: actions.map {
                    .init(id: $0.identifier.rawValue, title: $0.title, takesText: $0.textInput != nil)
                }
            )
        )
        let texts = [content.title, content.subtitle, content.body].filter { !$0.isEmpty }.joined(separator: " – ")
        let source =
            "\(self.notification.applicationName ?? self.application) on \(self.systemName ?? "this system")"
        try output.line("\(prefix)\(self.key)  \(texts)  (\(source))".printable)
        for action in actions {
            let text = action.textInput == nil ? "" : " (takes --text)"
            try output.line("    \(action.identifier): \(action.title)\(text)".printable)
        }
    }
}

/// The output of `notifications list --json` and `notifications watch --json`.
private struct ListedNotificationOutput: Encodable {
    struct Action: Encodable {
        var id: String
        var title: String
        var takesText: Bool
    }

    var event: String
    let time = Date.now
    var key: String
    var id: String
    var title: String
    var subtitle: String
    var body: String
    var application: String
    var sender: String?
    var systemID: String
    var system: String?
    var isShown: Bool
    var actions: [Action]
}
