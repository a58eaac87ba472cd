// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import UserNotifications

/// Sends many notifications to several systems, or answers many as a user does. Both go on when a host daemon is
/// killed, and started again at the same port.
enum ProbeNotifications {
    /// The pause before something is tried again. Nothing reports that a killed daemon is back, or that a sender may
    /// send again, so the program asks.
    private static let pause = Duration.milliseconds(100)

    /// Sends each notification to each host daemon until that has accepted it, and prints what became of it. Then
    /// prints the responses until the process is ended.
    ///
    /// - Parameters:
    ///   - name: the beginning of the identifiers, which are also the titles.
    ///   - addresses: the hosts.
    static func send(_ count: Int, named name: String, to addresses: [String]) async {
        let configuration = RemoteSystemsConfiguration(applicationID: "test.sender")
        let category = NotificationCategory(
            identifier: "c",
            actions: [NotificationAction(identifier: "yes", title: "Yes")]
        )
        let notifications = (0..<count).map { number in
            let identifier = "\(name)-\(number)"
            let content = NotificationContent(title: identifier, categoryIdentifier: "c")
            var notification = RemoteNotification(
                NotificationRequest(identifier: identifier, content: content),
                category: category
            )
            notification.isShared = true
            return notification
        }
        await withTaskGroup(of: Void.self) { group in
            for address in addresses {
                group.addTask { await Self.send(notifications, to: address, configuration) }
            }
        }
    }

    private static func send(
        _ notifications: [RemoteNotification],
        to address: String,
        _ configuration: RemoteSystemsConfiguration
    ) async {
        var rest = notifications[...]
        while true {
            let connection = RemoteNotificationConnection(
                RemoteSystemConnectionRequest(host: address, configuration: configuration)
            )
            do {
                try await connection.open()
                // Also those to what an earlier connection has sent.
                try await connection.resume()
                async let responses: Void = Self.report(connection.responses, from: address)
                while let notification = rest.first {
                    guard try await Self.isAccepted(notification, over: connection, by: address) else { continue }
                    rest.removeFirst()
                }
                await responses
            } catch {
                Record.say("failed \(address) \(error)")
            }
            await connection.close()
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// - Returns: `false` if the system has accepted too many at once.
    private static func isAccepted(
        _ notification: RemoteNotification,
        over connection: RemoteNotificationConnection,
        by address: String
    ) async throws -> Bool {
        do {
            let delivery = try await connection.deliver(notification)
            Record.say("delivered \(address) \(notification.request.identifier) \(delivery.status.rawValue)")
            return true
        } catch let error as RemoteSystemError where error.code == .serviceFailed && error.canRetry {
            try await Task.sleep(for: Self.pause)
            return false
        }
    }

    private static func report(_ responses: AsyncStream<NotificationResponse>, from address: String) async {
        for await response in responses {
            let action = response.actionIdentifier.rawValue
            Record.say("response \(address) \(response.id) \(response.requestIdentifier) \(action)")
        }
    }

    /// Answers those of the notifications that wait on this system whose number leaves a rest when it is divided.
    static func answer(_ rest: Int, of divisor: Int) async {
        let configuration = RemoteSystemsConfiguration(applicationID: "test.user")
        while true {
            do {
                if try await Self.answerWaiting(configuration, where: { $0 % divisor == rest }) == 0 { return }
            } catch {
                Record.say("failed \(error)")
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// - Returns: the number of those that were answered.
    private static func answerWaiting(
        _ configuration: RemoteSystemsConfiguration,
        where isOwn: (Int) -> Bool
    ) async throws -> Int {
        let system = try await RemoteSystem.findLocal(
            offering: RemoteNotificationConnection.service,
            within: .seconds(5),
            configuration: configuration
        )
        guard let system else {
            throw RemoteSystemError(.unreachable, "No host daemon was found.", side: .local, canRetry: true)
        }
        let notifications = LocalNotifications()
        try await notifications.open(RemoteSystemConnectionRequest(system: system))
        do {
            let own = try await notifications.list().filter { notification in
                let identifier = notification.notification.request.identifier
                return identifier.split(separator: "-").last.flatMap { Int($0) }.map(isOwn) ?? false
            }
            for notification in own {
                try await notifications.respond(notification.key, "yes", text: nil)
                Record.say("answered \(notification.notification.request.identifier)")
            }
            await notifications.close()
            return own.count
        } catch {
            await notifications.close()
            throw error
        }
    }
}
