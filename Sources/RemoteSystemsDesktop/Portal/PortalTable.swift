// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import UserNotifications

/// Which notifications the portal is to show, and which it was asked to show. A value type: its owner makes the calls.
struct PortalTable {
    enum Step: Hashable {
        case add(PresentedNotification, number: UInt64)
        case remove(String)
    }

    private struct Sent {
        var notification: PresentedNotification
        var number: UInt64
    }

    private var screen = NotificationScreen()
    private var sent: [String: Sent] = [:]
    private var lastNumber: UInt64 = 0

    /// Wants a notification, in place of the one with the same identifier.
    mutating func want(_ notification: PresentedNotification) { self.screen.insert(notification) }

    mutating func close(_ identifier: String) { self.screen.remove(identifier) }
    mutating func closeAll() { self.screen.removeAll() }

    /// Another portal runs, which knows of no notification.
    mutating func forget() { self.sent = [:] }

    /// The portal does not show a content, or not any more. It is sent again.
    mutating func forget(_ number: UInt64) { self.sent = self.sent.filter { $0.value.number != number } }

    /// Whether a notification has a place on the screen.
    func hasPlace(_ notification: PresentedNotification) -> Bool { self.screen.shown.contains(notification) }

    /// Whether the portal was asked to show exactly this.
    func isSent(_ notification: PresentedNotification) -> Bool {
        self.sent[notification.identifier]?.notification == notification
    }

    /// The notification whose present content has a number.
    func notification(_ number: UInt64) -> PresentedNotification? {
        self.sent.values.first { $0.number == number }?.notification
    }

    /// What the portal is asked for next. It does not say when a notification is closed, so only the newest ones stay,
    /// as at a notification server.
    mutating func nextSteps() -> [Step] {
        let sent = self.sent
        _ = self.screen.removeDisplaced { sent[$0] != nil }
        let newest = self.screen.shown
        let kept = Set(newest.map(\.identifier))
        var steps: [Step] = []
        for identifier in self.sent.keys.sorted() where !kept.contains(identifier) {
            self.sent[identifier] = nil
            steps.append(.remove(identifier))
        }
        for notification in newest where self.sent[notification.identifier]?.notification != notification {
            self.lastNumber += 1
            self.sent[notification.identifier] = Sent(notification: notification, number: self.lastNumber)
            steps.append(.add(notification, number: self.lastNumber))
        }
        return steps
    }
}
