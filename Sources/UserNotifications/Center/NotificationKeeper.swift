// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Keeps the notifications of one application until they are due, shows them, and reports what the user responds.
protocol NotificationKeeper: Sendable {
    /// Delivers a notification when its trigger fires; at once without a trigger.
    func add(_ notification: RemoteNotification) async throws

    var pending: [PendingNotification] { get async throws }
    var delivered: [DeliveredNotification] { get async throws }

    /// Removes notifications. Unknown identifiers are ignored.
    func removePending(_ identifiers: [String]) async throws
    func removeDelivered(_ identifiers: [String]) async throws

    /// The application comes into the foreground, where it decides how its notifications are shown, or leaves it.
    func setForeground(_ isForeground: Bool) async

    /// Sends a notification to other systems when they are available.
    func post(_ notification: RemoteNotification, to systems: [String]) async throws
    var posted: [PostedNotification] { get async throws }
    func removePosted(_ identifiers: [String]) async throws

    /// Sets the number at the application's icon.
    func setBadge(_ count: Int) async throws

    /// What the user permits the application.
    var permission: NotificationPermission { get async throws }

    /// What the desktop can show; `nil` if that is not known.
    var capabilities: NotificationPresenterCapabilities? { get async }

    /// Stops to report responses.
    func close() async
}

/// The centre of a keeper, which does not keep it alive.
final class NotificationKeeperOwner: Sendable {
    private struct Weak: Sendable {
        weak let center: UserNotificationCenter?
    }

    private let owner = Mutex(Weak(center: nil))

    var center: UserNotificationCenter? { self.owner.withLock { $0.center } }

    func set(_ center: UserNotificationCenter) { self.owner.withLock { $0 = Weak(center: center) } }
}
