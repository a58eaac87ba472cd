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
        /// Whether it is to be sent again: the connection was lost, or the attempt failed and may succeed later.
        var isLost = false
        /// Whether the user of the system could respond, after this or an earlier attempt.
        var wasKept = false
        /// Whether the system does not keep the notification any more, and is not to receive it again: it has reported
        /// that, or has not accepted it a second time.
        var hasEnded = false
        /// When the system withdraws the notification; `nil` if never, or if it has not received it.
        var expires: ContinuousClock.Instant?
    }

    /// The answers. For one reader.
    package nonisolated let responses: AsyncStream<NotificationResponse>
    private let feed: AsyncStream<NotificationResponse>.Continuation
    /// The systems whose connection was lost, or to which a later attempt may succeed. For one reader, which sends
    /// again.
    package nonisolated let losses: AsyncStream<SystemID>
    private let lossFeed: AsyncStream<SystemID>.Continuation
    private let notification: RemoteNotification
    private var recipients: [SystemID: Recipient] = [:] {
        didSet { self.changeReaders.yield(()) }
    }
    private var changeReaders = StreamReaders<Void>()
    private var readers: [Task<Void, Never>] = []
    private var isOver = false

    package init(_ notification: RemoteNotification) {
        (self.responses, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(64))
        (self.losses, self.lossFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1024))
        var shared = notification
        shared.isShared = true
        self.notification = shared
    }

    /// Whether the system has received the notification, or is receiving it.
    package func includes(_ system: SystemID) -> Bool { self.recipients[system] != nil }

    /// Reports at once, and whenever ``expiration`` or ``hasEnded`` may have changed, until the broadcast is over.
    package func changes() -> AsyncStream<Void> {
        let (changes, id) = self.changeReaders.add(())
        if self.isOver { self.changeReaders.finish(id) }
        return changes
    }

    /// Whether the systems withdraw the notification after a time.
    package nonisolated var hasExpiration: Bool { self.notification.expiration != nil }

    /// When the last system withdraws the notification.
    ///
    /// `nil` if it has no expiration, no system has received it, or one is receiving it. Also while the connection to a
    /// system is lost: an answer may wait there.
    package var expiration: ContinuousClock.Instant? {
        let recipients = self.recipients.values
        guard !recipients.contains(where: { $0.outcome == nil || ($0.isLost && $0.expires != nil) }) else { return nil }
        return recipients.compactMap(\.expires).max()
    }

    /// Whether no system that had the notification keeps it any more: it was replaced, or the user has denied it.
    package var hasEnded: Bool {
        let recipients = self.recipients.values
        guard !recipients.contains(where: { $0.outcome == nil || $0.isLost }) else { return false }
        let received = recipients.filter { recipient in
            if case .delivered(let delivery)? = recipient.outcome, delivery.waitsForUser { return true }
            return recipient.hasEnded
        }
        return !received.isEmpty && received.allSatisfy(\.hasEnded)
    }

    private func ended(_ delivery: UUID, on system: SystemID) {
        guard delivery == self.notification.deliveryID else { return }
        self.recipients[system]?.hasEnded = true
    }

    /// A system does not accept the notification again after its connection was lost.
    private func refused(by system: SystemID) {
        guard self.recipients[system]?.wasKept == true else { return }
        self.recipients[system]?.hasEnded = true
        self.recipients[system]?.expires = nil
    }

    /// Sends the notification to a system. One that has it already is left as it is.
    ///
    /// A refusal by the system fails with a ``NotificationError``.
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
        let previous = self.recipients[system]
        self.recipients[system] = Recipient(
            name: name,
            wasKept: previous?.wasKept ?? false,
            expires: previous?.expires
        )
        await previous?.connection?.close()
        let connection = RemoteNotificationConnection(request, systemName: name)
        let outcome: Outcome
        do {
            try await connection.open()
            self.recipients[system]?.connection = connection
            outcome = .delivered(try await self.deliver(to: system, over: connection, isAgain: isAgain))
        } catch {
            let (reason, canRetry) = Self.reason(error)
            outcome = .failed(reason)
            let isRefused = reason is NotificationError && !canRetry
            self.recipients[system]?.isLost = canRetry || (isAgain && !isRefused)
            if isRefused { self.refused(by: system) }
            // The caller that sends again has the outcome.
            if canRetry, !isAgain { self.lossFeed.yield(system) }
        }
        self.recipients[system]?.outcome = outcome
        if self.isOver {
            // It was answered meanwhile.
            await Self.end(connection, self.notification)
            return outcome
        }
        if case .delivered(let delivery) = outcome, delivery.waitsForUser {
            self.recipients[system]?.wasKept = true
            self.readers.append(
                Task { [weak self] in
                    for await delivery in connection.ends { await self?.ended(delivery, on: system) }
                }
            )
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

    private func deliver(
        to system: SystemID,
        over connection: RemoteNotificationConnection,
        isAgain: Bool
    ) async throws -> NotificationDelivery {
        var notification = self.notification
        if isAgain {
            let resumption = try await connection.resume(notification)
            guard resumption.waiting.isEmpty, resumption.responseCount == 0 else { return NotificationDelivery(.kept) }
            if let expires = self.recipients[system]?.expires {
                let rest = expires - .now
                guard rest > .zero else {
                    return NotificationDelivery(.withheld, reason: "The notification has expired.")
                }
                // Whole seconds, rounded up.
                notification.expiration = .seconds(rest.components.seconds + 1)
            }
        }
        let delivery = try await connection.deliver(notification)
        guard delivery.waitsForUser else {
            self.refused(by: system)
            return delivery
        }
        if let expiration = notification.expiration { self.recipients[system]?.expires = .now + expiration }
        return delivery
    }

    /// The reason that a system sent for a refusal, and whether a later attempt may succeed.
    private static func reason(_ error: any Error) -> (any Error, canRetry: Bool) {
        guard let error = error as? RemoteSystemError else {
            return (error, (error as? NotificationError)?.canRetry ?? false)
        }
        guard let code = error.failureCode.flatMap(NotificationMessage.code(ofFailure:)) else {
            return (error, error.canRetry)
        }
        let refusal = NotificationError(code, error.message)
        return (refusal, refusal.canRetry)
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
        await withDiscardingTaskGroup { group in
            for connection in self.recipients.values.compactMap(\.connection) {
                group.addTask { [notification] in await Self.end(connection, notification) }
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
        self.changeReaders.finish()
    }

    private static func end(_ connection: RemoteNotificationConnection, _ notification: RemoteNotification) async {
        // A system that has gone withdraws it when its time is over.
        try? await connection.withdraw(notification)
        await connection.close()
    }
}
