// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems
package import RemoteSystemsIdentity

/// Sends one notification to several systems, and withdraws it everywhere once it is answered.
package actor NotificationBroadcast {
    /// What became of the notification on one system.
    package enum Outcome: Sendable {
        case delivered(NotificationDelivery)
        case failed(any Error)
    }

    private struct Recipient {
        var name: String
        var outcome: Outcome?
        var connection: RemoteNotificationConnection?
        /// Whether the connection was lost after the system had received the notification.
        var isLost = false
    }

    /// The answers. For one reader.
    package nonisolated let responses: AsyncStream<NotificationResponse>
    private let feed: AsyncStream<NotificationResponse>.Continuation
    /// The systems whose connection was lost. For one reader, which sends again.
    package nonisolated let losses: AsyncStream<SystemID>
    private let lossFeed: AsyncStream<SystemID>.Continuation
    private let notification: RemoteNotification
    private var recipients: [SystemID: Recipient] = [:]
    private var readers: [Task<Void, Never>] = []
    private var isOver = false

    package init(_ notification: RemoteNotification) {
        (self.responses, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(64))
        (self.losses, self.lossFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1024))
        self.notification = notification
    }

    /// Whether the system has received the notification, or is receiving it.
    package func includes(_ system: SystemID) -> Bool { self.recipients[system] != nil }

    /// Sends the notification to a system. One that has it already is left as it is.
    ///
    /// - Parameter isAgain: whether the connection was lost before. A notification that the system still has is then
    ///   not sent, nor one that it has a response to.
    /// - Returns: what became of it; `nil` if the system has it already, or the broadcast is over.
    package func send(
        to system: SystemID,
        named name: String,
        _ request: RemoteSystemConnectionRequest,
        isAgain: Bool = false
    ) async -> Outcome? {
        guard !self.isOver, self.recipients[system].map({ isAgain && $0.isLost }) ?? true else { return nil }
        self.recipients[system] = Recipient(name: name)
        let connection = RemoteNotificationConnection(request, systemName: name)
        let outcome: Outcome
        do {
            try await connection.open()
            self.recipients[system]?.connection = connection
            let resumption = isAgain ? try await connection.resume([self.notification.request.identifier]) : nil
            if let resumption, !resumption.waiting.isEmpty || resumption.responseCount > 0 {
                outcome = .delivered(NotificationDelivery(.kept))
            } else {
                outcome = .delivered(try await connection.deliver(self.notification))
            }
        } catch {
            outcome = .failed(error)
            self.recipients[system]?.isLost = isAgain
        }
        self.recipients[system]?.outcome = outcome
        if self.isOver {
            // It was answered meanwhile.
            await Self.end(connection, self.notification.request.identifier)
            return outcome
        }
        if case .delivered(let delivery) = outcome, delivery.status != .withheld {
            self.readers.append(
                Task { [feed, weak self, identifier = self.notification.request.identifier] in
                    // The system also sends what its user has responded to an earlier notification of this program.
                    for await response in connection.responses where response.requestIdentifier == identifier {
                        feed.yield(response)
                    }
                    await self?.lost(system)
                }
            )
        }
        return outcome
    }

    private func lost(_ system: SystemID) {
        guard !self.isOver else { return }
        self.recipients[system]?.isLost = true
        self.recipients[system]?.connection = nil
        self.lossFeed.yield(system)
    }

    /// Withdraws the notification from all systems, and ends the connections.
    package func withdraw() async {
        self.isOver = true
        let identifier = self.notification.request.identifier
        await withDiscardingTaskGroup { group in
            for connection in self.recipients.values.compactMap(\.connection) {
                group.addTask { await Self.end(connection, identifier) }
            }
        }
        self.finish()
    }

    /// Ends the connections. The notification stays.
    package func close() async {
        self.isOver = true
        for connection in self.recipients.values.compactMap(\.connection) { await connection.close() }
        self.finish()
    }

    private func finish() {
        for reader in self.readers { reader.cancel() }
        self.feed.finish()
        self.lossFeed.finish()
    }

    private static func end(_ connection: RemoteNotificationConnection, _ identifier: String) async {
        // A system that has gone withdraws it when its time is over.
        _ = try? await connection.withdraw([identifier])
        await connection.close()
    }
}
