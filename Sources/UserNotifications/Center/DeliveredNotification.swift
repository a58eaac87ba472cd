// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A notification that was delivered to the user.
public struct DeliveredNotification: Sendable, Hashable {
    /// The notification.
    public var request: NotificationRequest
    /// The category at the time of the delivery; `nil` for none.
    public var category: NotificationCategory?
    /// The time of the delivery.
    public var date: Date

    /// Creates a delivered notification.
    ///
    /// - Parameters:
    ///   - request: The notification.
    ///   - category: The category at the time of the delivery. Defaults to `nil`.
    ///   - date: The time of the delivery.
    public init(request: NotificationRequest, category: NotificationCategory? = nil, date: Date) {
        self.request = request
        self.category = category
        self.date = date
    }
}

/// A notification that waits for its trigger.
public struct PendingNotification: Sendable, Hashable {
    /// The notification.
    public var request: NotificationRequest
    /// The date at which it will be delivered next; `nil` for one that waits for a region.
    public var date: Date?

    /// Creates a pending notification.
    ///
    /// - Parameters:
    ///   - request: The notification.
    ///   - date: The date at which it will be delivered next; `nil` for one that waits for a region.
    public init(request: NotificationRequest, date: Date?) {
        self.request = request
        self.date = date
    }
}

/// How a notification is shown while its application is in the foreground.
public struct NotificationPresentation: OptionSet, Sendable, Hashable {
    /// The options as a number.
    public var rawValue: Int
    /// Creates options from their number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The badge is changed.
    public static let badge = NotificationPresentation(rawValue: 1)
    /// The sound is made.
    public static let sound = NotificationPresentation(rawValue: 2)
    /// The notification is added to the desktop's list.
    public static let list = NotificationPresentation(rawValue: 8)
    /// The notification is shown on the screen.
    public static let banner = NotificationPresentation(rawValue: 16)

    /// Everything, as in the background.
    public static let all: NotificationPresentation = [.badge, .sound, .list, .banner]
}
