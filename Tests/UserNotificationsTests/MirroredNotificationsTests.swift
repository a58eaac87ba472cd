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

    /// A content with a delivery id of its own.
    private static func notification(_ title: String, _ identifier: String = "\(UUID())") -> RemoteNotification {
        let content = NotificationContent(title: title, sound: .standard)
        var notification = RemoteNotification(NotificationRequest(identifier: identifier, content: content))
        notification.deliveryID = UUID()
        return notification
    }

    private mutating func put(_ notification: RemoteNotification, after time: Duration = .zero) -> Set<UUID> {
        self.mirrored.put(notification, of: "mail", self.now + time)
    }

    private mutating func put(_ notifications: [RemoteNotification]) {
        for notification in notifications { _ = self.put(notification) }
    }

    /// Sends to a system what may be sent, and returns the titles.
    private mutating func sent(to system: String, after time: Duration = .zero) -> [String] {
        var titles: [String] = []
        self.mirrored.permit(self.now + time)
        while let entry = self.mirrored.next(for: system, self.now + time) {
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
        self.put([Self.notification("one again", one.request.identifier)])
        let changed = self.sent(to: "a")
        #expect(changed == ["one again"])
        let later = self.sent(to: "b")
        #expect(later == ["two", "one again"])
    }

    @Test mutating func `a system receives one at a time, and again what it did not take`() throws {
        let (one, two) = (Self.notification("one"), Self.notification("two"))
        self.put([one, two])
        let first = self.mirrored.next(for: "a", self.now)
        let meanwhile = self.mirrored.next(for: "a", self.now)
        #expect(meanwhile == nil)
        self.mirrored.sent(try #require(first), to: "a", isOver: false)
        let again = self.sent(to: "a")
        #expect(again == ["one", "two"])
    }

    @Test mutating func `what has ended is not sent, and a change during its way follows`() throws {
        let (one, two) = (Self.notification("one"), Self.notification("two"))
        self.put([one, two])
        let next = self.mirrored.next(for: "a", self.now)
        let first = try #require(next)
        self.put([Self.notification("one again", one.request.identifier)])
        self.mirrored.remove(two.request.identifier)
        self.mirrored.sent(first, to: "a", isOver: true)
        let rest = self.sent(to: "a")
        #expect(rest == ["one again"])
    }

    @Test mutating func `fifteen come at once, and then one every four seconds, in their order`() {
        let titles = (1...20).map { "\($0)" }
        self.put(titles.map { Self.notification($0) })
        let first = self.sent(to: "a")
        #expect(first == Array(titles[..<15]))
        let turn = self.mirrored.nextTurn(after: self.now) ?? self.now
        #expect(turn >= self.now + .seconds(4) && turn < self.now + .milliseconds(4001))
        let early = self.sent(to: "a", after: .milliseconds(3999))
        #expect(early.isEmpty)
        let later = self.sent(to: "a", after: .seconds(8))
        #expect(later == ["16", "17"])
        // Another system gets what has had its turn.
        let other = self.sent(to: "b", after: .seconds(8))
        #expect(other == Array(titles[..<17]))
        let rest = self.sent(to: "a", after: .seconds(60))
        #expect(rest == ["18", "19", "20"])
        let none = self.mirrored.nextTurn(after: self.now + .seconds(60))
        #expect(none == nil)
    }

    @Test mutating func `a text that waits for its turn ends the one before, once`() {
        let one = Self.notification("one")
        self.put([one] + (2...15).map { Self.notification("\($0)") })
        _ = self.sent(to: "a")
        let ended = self.put(Self.notification("one again", one.request.identifier))
        #expect(ended == Set([one.deliveryID].compactMap(\.self)))
        let twice = self.put(Self.notification("one more time", one.request.identifier))
        #expect(twice.isEmpty)
        let sent = self.sent(to: "a", after: .seconds(5))
        #expect(sent == ["one more time"])
    }

    @Test mutating func `at most 24 are mirrored, the newest`() {
        for number in 0..<100 {
            _ = self.put(Self.notification("\(number)"), after: .seconds(number * 10))
            if let excess = self.mirrored.excess { self.mirrored.remove(excess) }
        }
        let followed = self.sent(to: "a", after: .seconds(1000))
        #expect(followed == (76..<100).map { "\($0)" })
    }

    @Test mutating func `what ends is settled for each content that a system may show, and for no other`() throws {
        let one = Self.notification("one")
        self.put([one])
        let none = self.mirrored.remove(one.request.identifier)
        #expect(none.isEmpty)
        // One system has the first content only, another one may have both.
        let contents = ["a", "b", "c"].map { Self.notification($0, "id") }
        self.put([contents[0]])
        _ = self.sent(to: "a")
        _ = self.sent(to: "b")
        self.put([contents[1]])
        let next = self.mirrored.next(for: "b", self.now)
        self.mirrored.sent(try #require(next), to: "b", isOver: false)
        self.put([contents[2]])
        #expect(self.mirrored.entry(of: contents[0].deliveryID ?? UUID()) == nil)
        #expect(self.mirrored.entry(of: contents[2].deliveryID ?? UUID()) != nil)
        let held = self.mirrored.remove("id")
        #expect(held == Set(contents[0...1].compactMap(\.deliveryID)))
    }

    @Test mutating func `a system that comes later gets what is left of the time, without a sound, and nothing old`() {
        self.put([Self.notification("one")])
        let early = self.mirrored.next(for: "a", self.now + .seconds(10))
        #expect(early?.notification.expiration == .seconds(86_390))
        #expect(early?.notification.request.content.sound == .standard)
        let late = self.mirrored.next(for: "b", self.now + .seconds(3600))
        #expect(late?.notification.expiration == .seconds(82_800))
        #expect(late?.notification.request.content.sound == nil)
        let old = self.mirrored.next(for: "c", self.now + .seconds(86_400))
        #expect(old == nil)
    }

    @Test mutating func `what a system has no room for does not hold up the others`() throws {
        self.put([Self.notification("one"), Self.notification("two")])
        let next = self.mirrored.next(for: "a", self.now)
        let first = try #require(next)
        self.mirrored.sent(first, to: "a", isOver: false)
        let second = self.mirrored.next(for: "a", without: [first.identifier], self.now)
        #expect(second?.notification.request.content.title == "two")
    }
}
