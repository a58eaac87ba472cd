// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

@Suite struct ReceivedNotificationsTests {
    private static let start = ContinuousClock.now
    private static let sender = NotificationSender(systemID: "s", application: "a")

    private static func notification(_ id: String, expires: Int? = nil) -> RemoteNotification {
        let category = NotificationCategory(
            identifier: "c",
            actions: [
                NotificationAction(identifier: "yes", title: "Yes"),
                NotificationAction(TextInputNotificationAction(identifier: "comment", title: "Comment")),
            ]
        )
        var notification = RemoteNotification(
            NotificationRequest(
                identifier: id,
                content: NotificationContent(title: id, categoryIdentifier: "c")
            ),
            category: category
        )
        notification.expiration = expires.map { .seconds($0) }
        return notification
    }

    private static func add(
        _ id: String,
        to received: inout ReceivedNotifications,
        from sender: NotificationSender = sender,
        expires: Int? = nil
    ) throws -> ReceivedNotifications.Entry {
        try received.add(Self.notification(id, expires: expires), from: sender, name: nil, Self.start)
    }

    @Test("The same identifier replaces, for the same sender only (X-55)")
    func replaces() throws {
        var received = ReceivedNotifications(Self.start)
        let first = try Self.add("q", to: &received)
        let second = try Self.add("q", to: &received)
        #expect(first.key == second.key && received.all.count == 1)
        var other = Self.sender
        other.application = "b"
        #expect(try Self.add("q", to: &received, from: other).key != first.key)
        #expect(received.withdraw(["q"], of: other).count == 1)
        #expect(received.all.map(\.key) == [first.key])
    }

    @Test func `a presenter counts the systems of a linked account together`() throws {
        var received = ReceivedNotifications(Self.start)
        for (account, holder) in [("account", "account"), (nil, "s")] {
            let sender = NotificationSender(systemID: "s", application: "a", linkedAccountID: account)
            let entry = try received.add(Self.notification("q"), from: sender, name: "Server", Self.start)
            #expect(entry.presented.quotaHolder == holder && entry.presented.systemID == "s")
        }
        var local = Self.sender
        local.isLocal = true
        let entry = try Self.add("q", to: &received, from: local)
        #expect(entry.presented.quotaHolder == nil && entry.presented.desktopEntry == "a")
    }

    @Test("What is sent again is still read and snoozed, and a new one in its place is not (X-40)")
    func sentAgain() throws {
        var received = ReceivedNotifications(Self.start)
        let notification = Self.notification("q")
        let key = try received.add(notification, from: Self.sender, name: nil, Self.start).key
        let until = Date(timeIntervalSince1970: 2_000_000_000)
        _ = received.set(key, isRead: true, snoozedUntil: until)
        let again = try received.add(notification, from: Self.sender, name: nil, Self.start)
        #expect(again.isRead && again.snoozedUntil == until && received[key] == again)
        var new = Self.notification("q")
        for id in [UUID(), nil, nil] {
            new.deliveryID = id
            let entry = try received.add(new, from: Self.sender, name: nil, Self.start)
            #expect(entry.key == key && !entry.isRead && entry.snoozedUntil == nil)
            _ = received.set(key, isRead: true, snoozedUntil: until)
        }
    }

    @Test("A notification is responded to once")
    func once() throws {
        var received = ReceivedNotifications(Self.start)
        let key = try Self.add("q", to: &received).key
        #expect(try received.respond(key, "comment", text: "Yes").notification.request.identifier == "q")
        let error = #expect(throws: NotificationError.self) { try received.respond(key, "yes", text: nil) }
        #expect(error?.code == .requestUnknown)
    }

    @Test("An unknown action, and text for a button, are refused and change nothing")
    func unknownAction() throws {
        var received = ReceivedNotifications(Self.start)
        let key = try Self.add("q", to: &received).key
        let action = #expect(throws: NotificationError.self) { try received.respond(key, "no", text: nil) }
        #expect(action?.field == "action")
        let text = #expect(throws: NotificationError.self) { try received.respond(key, "yes", text: "a") }
        #expect(text?.field == "text")
        let long = String(repeating: "a", count: NotificationLimits.userTextBytes + 1)
        #expect(throws: NotificationError.self) { try received.respond(key, "comment", text: long) }
        #expect(received.all.count == 1)
    }

    @Test("Notifications expire at their time")
    func expires() throws {
        var received = ReceivedNotifications(Self.start)
        _ = try Self.add("a", to: &received, expires: 10)
        _ = try Self.add("b", to: &received, expires: 5)
        _ = try Self.add("c", to: &received)
        #expect(received.nextExpiration == Self.start + .seconds(5))
        #expect(received.removeExpired(Self.start + .milliseconds(4999)).isEmpty)
        #expect(received.removeExpired(Self.start + .seconds(5)).map(\.notification.request.identifier) == ["b"])
        #expect(received.removeExpired(Self.start + .seconds(20)).map(\.notification.request.identifier) == ["a"])
        // What ends on all systems together is forgotten before its end would be.
        #expect(received.nextExpiration == Self.start + .seconds(RemoteNotification.maxExpiration))
        #expect(received.removeExpired(Self.start + .seconds(RemoteNotification.maxExpiration)).count == 1)
        var local = Self.notification("local")
        local.deliveryID = nil
        _ = try received.add(local, from: Self.sender, name: nil, Self.start)
        #expect(received.nextExpiration == nil && received.all.count == 1)
    }

    @Test("One system cannot fill the list, whatever applications it claims")
    func bounds() throws {
        var received = ReceivedNotifications(Self.start)
        for number in 0..<ReceivedNotifications.maxPerSystem {
            _ = try Self.add("\(number)", to: &received, from: .init(systemID: "s", application: "\(number)"))
        }
        let error = #expect(throws: NotificationError.self) { try Self.add("more", to: &received) }
        #expect(error?.code == .limitExceeded)
        // Replacing is possible, and other systems are not affected.
        _ = try Self.add("0", to: &received, from: .init(systemID: "s", application: "0"))
        _ = try Self.add("q", to: &received, from: .init(systemID: "t", application: "a"))
        received.remove(received.all[0].key)
        _ = try Self.add("more", to: &received)
    }

    private static func message(_ id: String) -> RemoteNotification {
        var message = Self.notification(id)
        message.category = nil
        message.isOneWay = true
        return message
    }

    @Test("A message that the user has seen leaves its place to the next one, and a question or an unseen one does not")
    func seenMessages() throws {
        var received = ReceivedNotifications(Self.start)
        func add(_ notification: RemoteNotification) throws -> ReceivedNotifications.Entry {
            try received.add(notification, from: Self.sender, name: nil, Self.start)
        }
        var buttons = Self.notification("buttons")
        buttons.isOneWay = true
        let question = Self.notification("question")
        for kept in [question, buttons] { _ = received.setOver(try add(kept).key) }
        let snoozed = try add(Self.message("snoozed")).key
        _ = received.set(snoozed, isRead: true, snoozedUntil: Date(timeIntervalSince1970: 2_000_000_000))
        var keys: [String] = []
        while received.all.count < ReceivedNotifications.maxPerSystem {
            keys.append(try add(Self.message("\(keys.count)")).key)
        }
        let error = #expect(throws: NotificationError.self) { try add(Self.message("more")) }
        #expect(error?.code == .limitExceeded)
        #expect(received.takeDisplaced().isEmpty)
        _ = received.set(keys[9], isRead: true, snoozedUntil: nil)
        _ = received.setOver(keys[4])
        // One that replaces another needs no place.
        _ = try add(Self.message("0"))
        #expect(received.takeDisplaced().isEmpty)
        _ = try add(Self.message("a"))
        #expect(received.takeDisplaced().map(\.key) == [keys[4]])
        _ = try add(Self.message("b"))
        #expect(received.takeDisplaced().map(\.key) == [keys[9]])
        #expect(throws: NotificationError.self) { try add(Self.message("c")) }
        #expect(received.all.count == ReceivedNotifications.maxPerSystem)
        #expect(received[snoozed] != nil && received.entry("question", of: Self.sender) != nil)
    }

    @Test("When all places are taken, seen messages of other senders leave them, and only as many as are needed")
    func seenMessagesOfOthers() throws {
        var received = ReceivedNotifications(Self.start)
        var number = 0
        while received.all.count < ReceivedNotifications.max {
            let sender = Self.system(1_000 + number)
            guard (try? Self.add("q", to: &received, from: sender)) != nil else { break }
            number += 1
        }
        let full = received.all.count
        let sender = Self.system(1)
        #expect(throws: NotificationError.self) { try Self.add("q", to: &received, from: sender) }
        // A seen message of another kind of sender leaves no place.
        let linked = NotificationSender(systemID: "l", application: "a", linkedAccountID: "l")
        let other = try received.add(Self.message("m"), from: linked, name: nil, Self.start)
        _ = received.setOver(other.key)
        #expect(throws: NotificationError.self) { try Self.add("q", to: &received, from: sender) }
        for system in [1_000, 1_001] {
            received.remove(try #require(received.entry("q", of: Self.system(system))).key)
            let seen = try received.add(Self.message("m"), from: Self.system(system), name: nil, Self.start)
            _ = received.setOver(seen.key)
        }
        _ = try Self.add("q", to: &received, from: sender)
        #expect(received.takeDisplaced().map(\.sender) == [Self.system(1_000)])
        #expect(received.all.count == full + 1 && received[other.key] != nil)
    }

    private static func system(_ number: Int) -> NotificationSender {
        NotificationSender(systemID: "\(number)", application: "a")
    }

    @Test("All systems together cannot exceed the total, and those that fill the list leave room for another one")
    func totalBound() throws {
        var received = ReceivedNotifications(Self.start)
        for number in 0..<(8 * ReceivedNotifications.maxPerSystem) {
            _ = try? Self.add(
                "\(number)",
                to: &received,
                from: Self.system(number / ReceivedNotifications.maxPerSystem)
            )
        }
        _ = try Self.add("q", to: &received, from: Self.system(8))
        let own = #expect(throws: NotificationError.self) { try Self.add("more", to: &received, from: Self.system(0)) }
        #expect(own?.message.hasPrefix("64 notifications of the sending system wait for the user") == true)
        let total = #expect(throws: NotificationError.self) {
            try Self.add("more", to: &received, from: Self.system(7))
        }
        #expect(total?.message.contains("of all systems of the account wait for the user") == true)
        for number in 0..<10_000 { _ = try? Self.add("\(number)", to: &received, from: Self.system(number / 10)) }
        #expect(received.all.count <= ReceivedNotifications.max)
    }

    @Test("A system that sends too fast is refused until its permits refill; others are not affected")
    func rate() throws {
        var received = ReceivedNotifications(Self.start)
        for _ in 0..<SenderQuota.burst { try received.admit(Self.sender, Self.start) }
        let error = #expect(throws: NotificationError.self) { try received.admit(Self.sender, Self.start) }
        #expect(error?.code == .rateLimited)
        try received.admit(.init(systemID: "t", application: "a"), Self.start)
        #expect(throws: NotificationError.self) {
            try received.admit(Self.sender, Self.start + .milliseconds(1999))
        }
        try received.admit(Self.sender, Self.start + .seconds(2))
    }

    @Test("The systems of a linked account share one limit")
    func linkedAccount() throws {
        var received = ReceivedNotifications(Self.start)
        func system(_ number: Int) -> NotificationSender {
            .init(systemID: "\(number)", application: "a", linkedAccountID: "account")
        }
        for number in 0..<ReceivedNotifications.maxPerSystem {
            _ = try Self.add("q", to: &received, from: system(number))
        }
        #expect(throws: NotificationError.self) { try Self.add("q", to: &received, from: system(100)) }
        for number in 0..<SenderQuota.burst { try received.admit(system(number), Self.start) }
        #expect(throws: NotificationError.self) { try received.admit(system(100), Self.start) }
        try received.admit(Self.sender, Self.start)
    }

    @Test("Linked accounts take no room and no permits from the user's systems")
    func kinds() throws {
        var received = ReceivedNotifications(Self.start)
        func linked(_ number: Int) -> NotificationSender {
            .init(systemID: "l", application: "a", linkedAccountID: "\(number / 60)")
        }
        for number in 0..<10_000 { _ = try? Self.add("\(number)", to: &received, from: linked(number)) }
        #expect(throws: NotificationError.self) { try Self.add("q", to: &received, from: linked(20_000)) }
        _ = try Self.add("q", to: &received)
        for number in 0..<SenderQuota.maxHolders { try received.admit(linked(number * 60), Self.start) }
        #expect(throws: NotificationError.self) { try received.admit(linked(20_000), Self.start) }
        try received.admit(Self.sender, Self.start)
    }

    @Test("Systems that send as fast as they may leave another one its part, and all together are limited")
    func totalRate() throws {
        var received = ReceivedNotifications(Self.start)
        var count = 0
        for second in 0..<300 {
            let now = Self.start + .seconds(second)
            for number in 0..<4 { while (try? received.admit(Self.system(number), now)) != nil { count += 1 } }
            guard second.isMultiple(of: 3) else { continue }
            try received.admit(Self.system(4), now)
            count += 1
        }
        // At once 30 of each of the four; then two a second.
        #expect((600...780).contains(count), "\(count)")
    }

    @Test("The error names the limit that was met, and whose it is")
    func rateErrors() throws {
        var received = ReceivedNotifications(Self.start)
        func error(_ sender: NotificationSender) -> String {
            while true {
                do throws(NotificationError) {
                    try received.admit(sender, Self.start)
                } catch {
                    return error.message
                }
            }
        }
        #expect(error(Self.system(0)).contains("of the sending system: it may send 30 at once"))
        for number in 1..<4 { _ = error(Self.system(number)) }
        #expect(error(Self.system(4)).contains("of all systems of the account together: they may send 120 at once"))
    }
}
