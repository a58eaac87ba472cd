// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

/// What other systems are sent of the notifications of this desktop.
@Suite struct MirroredNotificationsTests {
    private let now = ContinuousClock.now
    private var mirrored: MirroredNotifications

    init() { self.mirrored = MirroredNotifications(self.now) }

    private static func notification(_ title: String, _ delivery: UUID = UUID()) -> RemoteNotification {
        let content = NotificationContent(title: title)
        var notification = RemoteNotification(NotificationRequest(identifier: "\(delivery)", content: content))
        notification.deliveryID = delivery
        return notification
    }

    private mutating func put(_ notification: RemoteNotification, after time: Duration = .zero) -> Bool {
        self.mirrored.put(notification, of: "mail", self.now + time)
    }

    private mutating func put(_ notifications: [RemoteNotification]) {
        for notification in notifications {
            let isTaken = self.put(notification)
            #expect(isTaken)
        }
    }

    /// Sends everything to a system, and returns the titles.
    private mutating func sent(to system: String) -> [String] {
        var titles: [String] = []
        while let entry = self.mirrored.next(for: system) {
            titles.append(entry.notification.request.content.title)
            self.mirrored.sent(entry, to: system, isOver: true)
        }
        return titles
    }

    @Test mutating func `each system receives each content once, also one that comes later`() {
        let (one, two) = (Self.notification("one"), Self.notification("two"))
        self.put([one, two])
        let all = self.sent(to: "a")
        #expect(all == ["one", "two"])
        let none = self.sent(to: "a")
        #expect(none.isEmpty)
        self.put([Self.notification("one again", one.deliveryID ?? UUID())])
        let changed = self.sent(to: "a")
        #expect(changed == ["one again"])
        let later = self.sent(to: "b")
        #expect(later == ["two", "one again"])
    }

    @Test mutating func `a system receives one at a time, and again what it did not take`() throws {
        let (one, two) = (Self.notification("one"), Self.notification("two"))
        self.put([one, two])
        let first = self.mirrored.next(for: "a")
        let meanwhile = self.mirrored.next(for: "a")
        #expect(meanwhile == nil)
        self.mirrored.sent(try #require(first), to: "a", isOver: false)
        let again = self.sent(to: "a")
        #expect(again == ["one", "two"])
    }

    @Test mutating func `what has ended is not sent, and a change during its way follows`() throws {
        let (one, two) = (Self.notification("one"), Self.notification("two"))
        self.put([one, two])
        let next = self.mirrored.next(for: "a")
        let first = try #require(next)
        self.put([Self.notification("one again", one.deliveryID ?? UUID())])
        self.mirrored.remove(try #require(two.deliveryID))
        self.mirrored.sent(first, to: "a", isOver: true)
        let rest = self.sent(to: "a")
        #expect(rest == ["one again"])
    }

    @Test mutating func `fifteen come at once, and then one every four seconds`() {
        let taken = (0..<100).map { _ in self.put(Self.notification("a")) }.count { $0 }
        #expect(taken == 15)
        let later = (0..<100).map { _ in self.put(Self.notification("a"), after: .seconds(8)) }.count { $0 }
        #expect(later == 2)
    }

    @Test mutating func `at most 24 are mirrored, the newest`() {
        for number in 0..<100 {
            _ = self.put(Self.notification("\(number)"), after: .seconds(number * 10))
            if let excess = self.mirrored.excess { self.mirrored.remove(excess) }
        }
        let followed = self.sent(to: "a")
        #expect(followed == (76..<100).map { "\($0)" })
    }
}
