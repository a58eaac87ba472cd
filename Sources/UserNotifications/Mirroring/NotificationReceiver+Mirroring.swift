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
    /// The time after which the other systems withdraw what this one does not withdraw, for example because it was
    /// switched off.
    private static let mirrorTime = Duration.seconds(86_400)

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
    /// available while it is shown here.
    ///
    /// - Parameters:
    ///   - notification: its delivery id stays the same while its content changes.
    ///   - application: the application of this system that has shown it.
    /// - Returns: whether it is sent. Otherwise too many have come.
    package func mirror(_ notification: RemoteNotification, of application: String) async -> Bool {
        var notification = notification
        // Another system has no program to send a response to. What the user does is known from the states.
        notification.isOneWay = true
        notification.isShared = true
        notification.expiration = Self.mirrorTime
        guard self.mirror?.notifications.put(notification, of: application, self.clock.now) == true else {
            return false
        }
        if let excess = self.mirror?.notifications.excess { await self.endMirrored(excess, isDismissed: false) }
        self.sendMirrored()
        return true
    }

    /// A notification has ended on this system's desktop. The other systems remove it, also those that are away.
    ///
    /// - Parameter isDismissed: whether the user has dismissed it. Otherwise, its program has withdrawn it.
    package func endMirrored(_ delivery: UUID, isDismissed: Bool) async {
        guard let mirror, mirror.notifications.contains(delivery) else { return }
        self.mirror?.notifications.remove(delivery)
        let key = NotificationState.Key(systemID: mirror.systemID, deliveryID: delivery)
        await self.commitOrLog { () throws(NotificationError) in
            try self.settle(key, isDismissed ? .dismissed : .withdrawn)
        }
    }

    /// Another system knows the ends of these notifications.
    func endMirrored(_ keys: some Sequence<NotificationState.Key>) {
        guard let mirror, !mirror.notifications.isEmpty else { return }
        for key in keys where key.systemID == mirror.systemID {
            guard self.mirror?.notifications.remove(key.deliveryID) != nil else { continue }
            mirror.ends.yield(key.deliveryID)
        }
    }

    /// Sends what the systems that are available do not have.
    func sendMirrored() {
        for system in self.otherSystems {
            guard let daemon = system.application(RemoteSystemHost.machineApplicationID),
                let entry = self.mirror?.notifications.next(for: "\(system.id)")
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
        do {
            try await connection.open()
        } catch {
            self.postpone(first, system, error)
            next = nil
        }
        while let entry = next {
            do {
                _ = try await connection.deliver(entry.notification, onBehalfOf: entry.application)
            } catch {
                guard Self.outcome(of: error) == .refused else {
                    self.postpone(entry, system, error)
                    break
                }
                self.logger.debug(
                    "A system does not show a notification of this desktop",
                    metadata: ["system": "\(system)", "application": "\(entry.application)", "reason": "\(error)"]
                )
            }
            self.mirror?.notifications.sent(entry, to: system, isOver: true)
            next = self.mirror?.notifications.next(for: system)
        }
        await connection.close()
    }

    /// It is sent with the next notification, or when the system is found again.
    private func postpone(_ entry: MirroredNotifications.Entry, _ system: String, _ error: any Error) {
        self.mirror?.notifications.sent(entry, to: system, isOver: false)
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
    }
}
