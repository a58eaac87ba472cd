// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications`.
struct NotificationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "List, answer, dismiss, snooze and schedule the notifications of this system.",
        discussion: """
            The host daemon of this system keeps the notifications that its user has not answered. On a system without \
            a desktop these commands show them. 'remotesystems notify' sends notifications.
            """,
        subcommands: [
            NotificationsListCommand.self, NotificationsWatchCommand.self, NotificationsAnswerCommand.self,
            NotificationsDismissCommand.self, NotificationsOpenCommand.self, NotificationsSnoozeCommand.self,
            NotificationsReadCommand.self, NotificationsScheduleCommand.self, NotificationsPendingCommand.self,
            NotificationsCancelCommand.self, NotificationsPermitCommand.self, NotificationsHistoryCommand.self,
            NotificationsOutboxCommand.self,
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
            "The maximum time to look for the host daemon, such as 10 or 500ms. Range: 0.1 to 3600 seconds.",
            valueName: "time"
        )
    )
    var searchTime = EnteredTime(seconds: 5)

    func validate() throws {
        guard (0.1...3600).contains(self.searchTime.seconds) else {
            throw ValidationError("--search-time takes 0.1 to 3600 seconds, not \(self.searchTime).")
        }
    }

    func configuration(_ common: CommonOptions) -> RemoteSystemsConfiguration {
        RemoteSystemsConfiguration("notifications", self.network, self.state, logger: common.logger())
    }

    /// Connects to the host daemon of this system.
    func open(_ common: CommonOptions) async throws -> LocalNotifications {
        try await LocalNotifications.open(self.configuration(common), within: self.searchTime.duration)
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

extension Failure {
    /// The error when the host daemon of this system was not found.
    init(withoutDaemonOf configuration: RemoteSystemsConfiguration) {
        self.init(
            "\(RemoteSystemError.Code.unreachable)",
            RemoteSystemsDiagnosis.isHostDaemonRunning(configuration)
                ? "The host daemon of this system was not found, or does not receive notifications. Check its "
                    + "setting 'notifications' and the network options of this command."
                : "No host daemon runs on this system. Start it with 'remotesystems host run'.",
            canRetry: true
        )
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
            throw Failure(withoutDaemonOf: configuration)
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
