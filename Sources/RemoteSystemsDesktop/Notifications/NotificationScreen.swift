// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import UserNotifications

/// The notifications that a presenter is to show, and which of them have a place on the screen.
///
/// Messages and notifications that wait for a response have separate places: a message takes none from a question. A
/// message whose place a newer one takes is over, and is not shown again. A question is shown again as others end.
struct NotificationScreen {
    /// The maximum number of messages of one sender, and of all, on the screen. There are as many places again for
    /// notifications that wait for a response.
    static let (maxOfSender, max) = (4, 16)

    /// Whose places a notification takes, and which: those of a system, whose applications are only claimed, of a
    /// linked account, which can certify any number of systems, or of an application of this system. Two systems may
    /// have one name.
    private struct Share: Hashable {
        let holder: String?
        let application: String?
        /// Whether they are the places of what waits for a response.
        let waits: Bool

        init(_ notification: PresentedNotification) {
            self.holder = notification.quotaHolder ?? notification.systemID
            self.application =
                notification.systemID == nil ? notification.desktopEntry ?? notification.applicationName : nil
            self.waits = notification.waitsForResponse
        }
    }

    /// All notifications, in the order of their arrival.
    private var notifications: [PresentedNotification] = []

    subscript(identifier: String) -> PresentedNotification? {
        self.notifications.first { $0.identifier == identifier }
    }

    /// Those with a place on the screen, in the order of their arrival.
    var shown: [PresentedNotification] { Self.shown(of: self.notifications) }

    /// Adds a notification, in place of the one with the same identifier.
    mutating func insert(_ notification: PresentedNotification) {
        if let index = self.notifications.firstIndex(where: { $0.identifier == notification.identifier }) {
            self.notifications[index] = notification
        } else {
            self.notifications.append(notification)
        }
    }

    mutating func remove(_ identifier: String) { self.notifications.removeAll { $0.identifier == identifier } }
    mutating func removeAll() { self.notifications = [] }

    /// Removes the messages without a place that were on the screen. One that was not, for example because no server
    /// ran, is shown as others end.
    ///
    /// - Parameter wasShown: whether the notification with an identifier was on the screen.
    /// - Returns: their identifiers.
    mutating func removeDisplaced(_ wasShown: (String) -> Bool) -> [String] {
        let kept = Set(self.shown.map(\.identifier))
        let displaced = self.notifications.filter {
            !$0.waitsForResponse && !kept.contains($0.identifier) && wasShown($0.identifier)
        }.map(\.identifier)
        for identifier in displaced { self.remove(identifier) }
        return displaced
    }

    /// Those of some notifications, in the order of their arrival, that have a place: the newest of each sender, and
    /// critical ones before questions. One sender cannot fill the screen.
    static func shown(of notifications: [PresentedNotification]) -> [PresentedNotification] {
        let newest = notifications.reversed()
        var ofSenders: [Share: Int] = [:]
        var ofAll: [Bool: Int] = [:]
        var kept: Set<String> = []
        for notification in newest.filter(\.isCritical) + newest.filter({ !$0.isCritical }) {
            let share = Share(notification)
            guard ofSenders[share, default: 0] < Self.maxOfSender, ofAll[share.waits, default: 0] < Self.max else {
                continue
            }
            ofSenders[share, default: 0] += 1
            ofAll[share.waits, default: 0] += 1
            kept.insert(notification.identifier)
        }
        return notifications.filter { kept.contains($0.identifier) }
    }
}

extension PresentedNotification {
    fileprivate var isCritical: Bool { self.content.interruptionLevel == .critical }

    /// Whether it is a question or a critical one. The buttons that the host daemon adds ask nothing.
    fileprivate var waitsForResponse: Bool {
        let actions = self.category?.actions ?? []
        return self.isCritical || actions.contains { $0.identifier != .openCard && $0.identifier != .snooze }
    }
}
