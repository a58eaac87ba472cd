// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

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
