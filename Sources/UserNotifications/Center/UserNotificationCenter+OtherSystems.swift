// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Notifications for other systems of the account, which the host daemon of this system sends.
extension UserNotificationCenter {
    /// Leaves a notification to the host daemon, which sends it in the application's name: at once to systems that are
    /// available, and to the others when they are back. It survives the application, the daemon and this system.
    ///
    /// One with the same identifier for the same system takes its place. It takes no response, because the application
    /// may have ended then: a ``RemoteNotificationConnection`` asks questions.
    ///
    /// - Parameters:
    ///   - notification: The notification. Its expiration counts from now; without one it is given up after 30 days.
    ///   - systemIDs: The ids of other systems of the account. At most 64.
    /// - Throws: ``NotificationError`` if it is not valid, if a system was revoked, or if too many wait;
    ///   `RemoteSystemError` with `unreachable` without a host daemon.
    public func post(_ notification: RemoteNotification, to systemIDs: Set<String>) async throws {
        try notification.validate()
        try await self.keeper.post(notification, to: systemIDs.sorted())
    }

    /// The notifications of the application that wait for systems that are away, one for each system, and those that
    /// have ended with a ``PostedNotification/problem`` within the last day.
    public var postedNotifications: [PostedNotification] { get async throws { try await self.keeper.posted } }

    /// Removes notifications of the application from ``postedNotifications``, and does not send them. Unknown
    /// identifiers are ignored.
    ///
    /// - Parameter identifiers: The identifiers of the requests. At most 64.
    public func removePostedNotifications(withIdentifiers identifiers: [String]) async throws {
        try await self.keeper.removePosted(identifiers)
    }
}
