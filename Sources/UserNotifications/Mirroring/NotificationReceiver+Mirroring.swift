// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Logging
internal import RemoteSystems
package import RemoteSystemsIdentity
internal import ValueSets

/// Notifications that programs of this system show on its desktop by themselves, and that the user's other systems
/// show, too.
extension NotificationReceiver {
    /// The pauses after which a system is tried again that has not accepted something: the first, and the longest.
    private static let (firstPause, longestPause) = (Duration.seconds(30), Duration.seconds(600))

    /// Begins to send what ``mirror(_:of:)`` gets.
    ///
    /// - Parameter system: the id of this system.
    /// - Returns: the deliveries that have ended on another system. For one reader.
    package func beginMirroring(as system: SystemID) -> AsyncStream<UUID> {
        // As many as can be mirrored.
        let (ends, feed) = AsyncStream.makeStream(
            of: UUID.self,
            bufferingPolicy: .bufferingNewest(MirroredNotifications.max)
        )
        self.mirror = Mirror(systemID: "\(system)", ends: feed, notifications: MirroredNotifications(self.clock.now))
        self.watchStates()
        return ends
    }

    /// Sends a notification to the user's other systems: to those that are available, and to those that become
    /// available while it is shown here. After many others, it waits for its turn.
    ///
    /// - Parameters:
    ///   - notification: its identifier stays the same while its content changes; each content has a delivery id of its
    ///     own.
    ///   - application: the application of this system that has shown it.
    package func mirror(_ notification: RemoteNotification, of application: String) async {
        var notification = notification
        // Another system has no program to send a response to. What the user does is known from the states.
        notification.isOneWay = true
        notification.isShared = true
        notification.expiration = MirroredNotifications.life
        let ended = self.mirror?.notifications.put(notification, of: application, self.clock.now) ?? []
        await self.settleMirrored(notification.request.identifier, ended, .withdrawn)
        if let excess = self.mirror?.notifications.excess { await self.endMirrored(excess, isDismissed: false) }
        self.sendMirrored()
        self.setAlarm()
    }

    /// A notification has ended on this system's desktop. The other systems remove it, also those that are away.
    ///
    /// - Parameter isDismissed: whether the user has dismissed it. Otherwise, its program has withdrawn it.
    package func endMirrored(_ identifier: String, isDismissed: Bool) async {
        guard self.mirror?.notifications[identifier] != nil else { return }
        let deliveries = self.mirror?.notifications.remove(identifier) ?? []
        await self.settleMirrored(identifier, deliveries, isDismissed ? .dismissed : .withdrawn)
    }

    /// Ends what other systems may show. What no system has received needs no state.
    ///
    /// - Parameter known: the delivery whose end other systems know. Defaults to `nil`: none.
    private func settleMirrored(
        _ identifier: String,
        _ deliveries: Set<UUID>,
        known: UUID? = nil,
        _ status: NotificationState.Status
    ) async {
        guard let mirror, !deliveries.isEmpty else { return }
        let keys = deliveries.filter { $0 != known }.map { delivery in
            NotificationState.Key(systemID: mirror.systemID, deliveryID: delivery)
        }
        await self.settleMirrored([identifier], keys, status)
    }

    private func settleMirrored(
        _ identifiers: [String],
        _ keys: [NotificationState.Key],
        _ status: NotificationState.Status
    ) async {
        let state = NotificationState(status: status, date: self.clock.date)
        let ends = keys.map { (NotificationState.RecordKey.end($0), state) }
        await self.commitOrLog { () throws(NotificationError) in
            let changes = try self.take(Dictionary(ends) { first, _ in first }, from: NotificationStates.mirror)
            return changes + identifiers.map { NotificationStoreChange.remove(.mirrored, key: $0) }
        }
    }

    /// Ends on the other systems what an earlier process has mirrored. Where the desktop shows it is not known any
    /// more, so that neither follows the other.
    func endRestoredMirrored() async {
        let mirrored = self.restoredMirrored
        guard !mirrored.isEmpty else { return }
        self.restoredMirrored = [:]
        await self.settleMirrored(Array(mirrored.keys), Array(mirrored.values.joined()), .withdrawn)
    }

    /// Stores what other systems may show, so that another process can end it there.
    private func storeMirrored(_ identifier: String) async {
        await self.commitOrLog { () throws(NotificationError) in
            // It may have ended meanwhile.
            guard let mirror = self.mirror else { return [] }
            let keys = mirror.notifications.deliveries(of: identifier).map { delivery in
                NotificationState.Key(systemID: mirror.systemID, deliveryID: delivery)
            }
            guard !keys.isEmpty else { return [] }
            return [.put(try NotificationRecord(mirrored: identifier, keys, at: self.clock.date))]
        }
    }

    /// Another system knows the ends of these notifications. The end of an older content than the present one ends
    /// nothing: the user has not seen the newer one.
    func endMirrored(_ keys: [NotificationState.Key]) async {
        guard let mirror, !mirror.notifications.isEmpty else { return }
        for key in keys where key.systemID == mirror.systemID {
            guard let entry = self.mirror?.notifications.entry(of: key.deliveryID) else { continue }
            let deliveries = self.mirror?.notifications.remove(entry.identifier) ?? []
            mirror.ends.yield(key.deliveryID)
            await self.settleMirrored(entry.identifier, deliveries, known: key.deliveryID, .withdrawn)
        }
    }

    /// Whether this system's desktop shows a notification with a sound that other systems show, too.
    ///
    /// - Parameter delivery: the digest of its key.
    func mirrorsWithSound(_ delivery: String) -> Bool {
        guard let mirror else { return false }
        return mirror.notifications.deliveriesWithSound.contains { id in
            NotificationState.Key(systemID: mirror.systemID, deliveryID: id).digest == delivery
        }
    }

    /// Sends what has waited for its turn, and tries again what systems have not accepted, if it is time.
    func sendMirroredDue() {
        let now = self.clock.now
        var isTime = self.mirror?.notifications.permit(now) == true
        if let retry = self.mirror?.retry, retry <= now {
            self.mirror?.retry = nil
            isTime = true
        }
        if isTime { self.sendMirrored() }
    }

    /// Sends what the systems that are available do not have.
    func sendMirrored() {
        for system in self.otherSystems {
            guard let daemon = system.application(RemoteSystemHost.machineApplicationID),
                let entry = self.mirror?.notifications.next(for: "\(system.id)", self.clock.now)
            else { continue }
            _ = self.clock.task { await self.send(entry, to: daemon, "\(system.id)") }
        }
    }

    /// Sends everything that a system does not have, over one connection.
    private func send(
        _ first: MirroredNotifications.Entry,
        to daemon: RemoteSystemApplication,
        _ system: String
    ) async {
        let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(application: daemon))
        var next: MirroredNotifications.Entry? = first
        var refused: Set<String> = []
        do {
            try await connection.open()
        } catch {
            self.postpone(first, system, error)
            next = nil
        }
        while let entry = next {
            await self.storeMirrored(entry.identifier)
            do {
                _ = try await connection.deliver(entry.notification, onBehalfOf: entry.application)
                self.mirror?.notifications.sent(entry, to: system, isOver: true)
                self.mirror?.pause = nil
            } catch {
                switch Self.end(of: error) {
                case .refused:
                    self.logger.debug(
                        "A system does not show a notification of this desktop",
                        metadata: ["system": "\(system)", "application": "\(entry.application)", "reason": "\(error)"]
                    )
                    self.mirror?.notifications.sent(entry, to: system, isOver: true)
                case .noRoom:
                    // It takes changes of those that it has, and others below the user's limits.
                    if refused.isEmpty {
                        self.postpone(entry, system, error)
                    } else {
                        self.mirror?.notifications.sent(entry, to: system, isOver: false)
                    }
                    refused.insert(entry.identifier)
                case .postponed:
                    self.postpone(entry, system, error)
                    await connection.close()
                    return
                }
            }
            next = self.mirror?.notifications.next(for: system, without: refused, self.clock.now)
        }
        await connection.close()
    }

    private enum SendingEnd { case refused, noRoom, postponed }

    private static func end(of error: any Error) -> SendingEnd {
        guard Self.outcome(of: error) != .refused else { return .refused }
        let code = (error as? RemoteSystemError)?.failureCode.flatMap(NotificationMessage.code(ofFailure:))
        return code == .limitExceeded || code == .rateLimited ? .noRoom : .postponed
    }

    /// It is sent after a pause, with the next notification, or when the system is found again.
    private func postpone(_ entry: MirroredNotifications.Entry, _ system: String, _ error: any Error) {
        self.mirror?.notifications.sent(entry, to: system, isOver: false)
        let pause = min(self.mirror?.pause.map { $0 * 2 } ?? Self.firstPause, Self.longestPause)
        self.mirror?.pause = pause
        self.mirror?.retry = self.clock.now + pause
        self.setAlarm()
        self.logger.info(
            "A notification of this desktop was not sent to a system",
            metadata: ["system": "\(system)", "application": "\(entry.application)", "reason": "\(error)"]
        )
    }

    /// What is needed to send notifications of this desktop.
    struct Mirror {
        var systemID: String
        var ends: AsyncStream<UUID>.Continuation
        var notifications: MirroredNotifications
        /// When systems are tried again that have not accepted something, and the last pause before that.
        var retry: ContinuousClock.Instant?
        var pause: Duration?
    }
}
