// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

/// The notifications that wait for systems that are away.
@Suite struct OutboxTests {
    private static let date = Date(timeIntervalSince1970: 1_800_000_000)
    private let now = ContinuousClock.now
    private var outbox = Outbox()

    private static func entry(
        _ identifier: String,
        to system: String = "laptop",
        of application: String = "build",
        title: String = "Deploy?",
        after seconds: TimeInterval = 0
    ) -> Outbox.Entry {
        Outbox.Entry(
            key: Outbox.Key(system: system, application: application, identifier: identifier),
            notification: RemoteNotification(
                NotificationRequest(identifier: identifier, content: NotificationContent(title: title))
            ),
            date: Self.date + seconds,
            expires: Self.date + seconds + Outbox.life
        )
    }

    /// The error with which an entry is refused.
    private mutating func refusal(of entry: Outbox.Entry) -> NotificationError? {
        do throws(NotificationError) {
            try self.outbox.put(entry)
            return nil
        } catch {
            return error
        }
    }

    @Test mutating func `each available system receives one at a time, in the order of their dates`() throws {
        for (number, system) in ["laptop", "desktop", "laptop", "away"].enumerated() {
            try self.outbox.put(Self.entry("\(number)", to: system, after: TimeInterval(number)))
        }
        let available: Set<String> = ["laptop", "desktop"]
        let next = self.outbox.next(for: available, at: Self.date, self.now)
        let first = try #require(next)
        #expect(first.key.identifier == "0")
        let second = self.outbox.next(for: available, at: Self.date, self.now)
        #expect(second?.key.identifier == "1")
        let none = self.outbox.next(for: available, at: Self.date, self.now)
        #expect(none == nil)
        let isRemoved = self.outbox.sent(first, .taken, self.now)
        #expect(isRemoved)
        let third = self.outbox.next(for: available, at: Self.date, self.now)
        #expect(third?.key.identifier == "2")
        #expect(self.outbox.all.count == 3 && self.outbox[first.key] == nil)
    }

    @Test mutating func `a later notification with the same identifier takes the place of the one that waits (X-55)`()
        throws
    {
        try self.outbox.put(Self.entry("q"))
        try self.outbox.put(Self.entry("q", title: "Deploy now?"))
        try self.outbox.put(Self.entry("q", of: "other"))
        #expect(self.outbox.all.map(\.notification.request.content.title) == ["Deploy now?", "Deploy?"])
    }

    @Test mutating func `one that is replaced while it is sent stays, and is sent next`() throws {
        try self.outbox.put(Self.entry("q"))
        let next = self.outbox.next(for: ["laptop"], at: Self.date, self.now)
        let first = try #require(next)
        let second = Self.entry("q", title: "Deploy now?")
        try self.outbox.put(second)
        let isRemoved = self.outbox.sent(first, .taken, self.now)
        #expect(!isRemoved)
        let last = self.outbox.next(for: ["laptop"], at: Self.date, self.now)
        #expect(last == second)
        // One that was deleted meanwhile does not come back.
        self.outbox.remove(second.key)
        let isGone = self.outbox.sent(second, .postponed, self.now)
        #expect(!isGone && self.outbox.isEmpty)
    }

    @Test mutating func `a system that postpones is tried again after pauses that double, up to ten minutes`() throws {
        let entry = Self.entry("q")
        try self.outbox.put(entry)
        var (now, pauses) = (self.now, [Duration]())
        for _ in 1...9 {
            let next = self.outbox.next(for: ["laptop"], at: Self.date, now)
            #expect(next == entry)
            let isRemoved = self.outbox.sent(entry, .postponed, now)
            #expect(!isRemoved)
            let none = self.outbox.next(for: ["laptop"], at: Self.date, now)
            #expect(none == nil)
            let retry = try #require(self.outbox.nextRetry(after: now))
            pauses.append(retry - now)
            now = retry
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600].map { .seconds($0) })
        let last = self.outbox.next(for: ["laptop"], at: Self.date, now)
        #expect(last == entry)
        let isRemoved = self.outbox.sent(entry, .refused, now)
        #expect(isRemoved && self.outbox.isEmpty)
        #expect(self.outbox.nextRetry(after: now) == nil)
    }

    @Test mutating func `a notification that is postponed again and again delays no other one`() throws {
        let file = Self.entry("file")
        try self.outbox.put(file)
        var (now, sent) = (self.now, [String]())
        for number in 1...4 {
            try self.outbox.put(Self.entry("\(number)", after: TimeInterval(number)))
        }
        for _ in 1...8 {
            guard let entry = self.outbox.next(for: ["laptop"], at: Self.date, now) else {
                now = try #require(self.outbox.nextRetry(after: now))
                sent.append("pause")
                continue
            }
            sent.append(entry.key.identifier)
            _ = self.outbox.sent(entry, entry == file ? .postponed : .taken, now)
        }
        #expect(sent == ["file", "pause", "1", "2", "3", "4", "file", "pause"])
        #expect(self.outbox.all == [file])
        // A new one comes before it, also when its pause is over.
        try self.outbox.put(Self.entry("last", after: 5))
        let last = self.outbox.next(for: ["laptop"], at: Self.date, now)
        #expect(last?.key.identifier == "last")
    }

    @Test mutating func `a new notification waits for no pause of one that is postponed again and again`() throws {
        let file = Self.entry("file")
        try self.outbox.put(file)
        var now = self.now
        for _ in 1...8 {
            let next = self.outbox.next(for: ["laptop"], at: Self.date, now)
            #expect(next == file)
            _ = self.outbox.sent(file, .postponed, now)
            now = try #require(self.outbox.nextRetry(after: now))
        }
        let again = self.outbox.next(for: ["laptop"], at: Self.date, now)
        #expect(again == file)
        _ = self.outbox.sent(file, .postponed, now)
        try self.outbox.put(Self.entry("text", after: 5))
        // The system itself is asked again after the shortest pause.
        #expect(self.outbox.nextRetry(after: now) == now + .seconds(5))
        let next = self.outbox.next(for: ["laptop"], at: Self.date, now + .seconds(5))
        #expect(next?.key.identifier == "text")
    }

    @Test mutating func `those that are postponed again and again take turns`() throws {
        for identifier in ["a", "b", "c"] { try self.outbox.put(Self.entry(identifier)) }
        var (now, sent) = (self.now, [String]())
        for _ in 1...60 {
            guard let entry = self.outbox.next(for: ["laptop"], at: Self.date, now) else {
                now = try #require(self.outbox.nextRetry(after: now))
                continue
            }
            sent.append(entry.key.identifier)
            _ = self.outbox.sent(entry, .postponed, now)
        }
        #expect(sent.count == 30 && sent.prefix(3) == ["a", "b", "c"])
        for identifier in ["a", "b", "c"] { #expect(sent.suffix(9).count(where: { $0 == identifier }) == 3) }
    }

    @Test mutating func `a system that is not reached receives the oldest first when it is`() throws {
        for number in 1...2 { try self.outbox.put(Self.entry("\(number)", after: TimeInterval(number))) }
        let next = self.outbox.next(for: ["laptop"], at: Self.date, self.now)
        let first = try #require(next)
        let isRemoved = self.outbox.sent(first, .unreachable, self.now)
        #expect(!isRemoved && self.outbox.nextRetry(after: self.now) == self.now + .seconds(5))
        let again = self.outbox.next(for: ["laptop"], at: Self.date, self.now + .seconds(5))
        #expect(again?.key.identifier == "1")
    }

    @Test mutating func `what waits is limited for an application, for a system and in all, and replacing is not`()
        throws
    {
        for number in 0..<Outbox.maxOfApplication { try self.outbox.put(Self.entry("\(number)")) }
        let application = self.refusal(of: Self.entry("more"))
        #expect(application?.code == .limitExceeded && application?.message.contains("'build'") == true)
        try self.outbox.put(Self.entry("0", title: "replaced"))
        for number in Outbox.maxOfApplication..<Outbox.maxPerSystem {
            try self.outbox.put(Self.entry("\(number)", of: "a\(number)"))
        }
        let system = self.refusal(of: Self.entry("more", of: "new"))
        #expect(system?.code == .limitExceeded && system?.message.contains("the system laptop") == true)
        var number = Outbox.maxPerSystem
        while number < Outbox.max {
            try self.outbox.put(Self.entry("\(number)", to: "s\(number)"))
            number += 1
        }
        let all = self.refusal(of: Self.entry("more", to: "new"))
        #expect(all?.code == .limitExceeded && self.outbox.all.count == Outbox.max)
    }

    @Test mutating func `the reason of a failed attempt is listed until the next one, and that of an end for a day`()
        throws
    {
        let (file, denied) = (Self.entry("file"), Self.entry("denied"))
        for entry in [file, denied] { try self.outbox.put(entry) }
        self.outbox.note("No space.", about: file, .postponed, at: Self.date)
        _ = self.outbox.sent(file, .postponed, self.now)
        self.outbox.note("Denied.", about: denied, .refused, at: Self.date)
        _ = self.outbox.sent(denied, .refused, self.now)
        var listed = self.outbox.listed(at: Self.date + Outbox.endedLife - 1)
        #expect(listed.map(\.entry) == [denied, file])
        #expect(listed.map(\.problem) == ["Denied.", "No space."] && listed.map(\.isWaiting) == [false, true])
        // One that is put again waits, without the reasons of former attempts.
        for entry in [file, denied] { try self.outbox.put(entry) }
        listed = self.outbox.listed(at: Self.date)
        #expect(listed.allSatisfy { $0.problem == nil && $0.isWaiting } && listed.count == 2)
        // A reason is that of the content that was sent.
        try self.outbox.put(Self.entry("denied", title: "replaced"))
        self.outbox.note("Denied.", about: denied, .refused, at: Self.date)
        listed = self.outbox.listed(at: Self.date)
        #expect(listed.map(\.isWaiting) == [true, true])
        self.outbox.note("Left out.", about: file, .taken, at: Self.date)
        _ = self.outbox.sent(file, .taken, self.now)
        let last = self.outbox.listed(at: Self.date + Outbox.endedLife)
        #expect(last.map(\.entry.key.identifier) == ["denied"])
    }

    @Test mutating func `the newest that have ended are listed, and can be removed`() throws {
        for number in 0..<(2 * Outbox.maxEnded) {
            let entry = Self.entry("\(number)", to: "system \(number)")
            try self.outbox.put(entry)
            self.outbox.note(String(repeating: "x", count: 10_000), about: entry, .refused, at: Self.date)
            _ = self.outbox.sent(entry, .refused, self.now)
        }
        let listed = self.outbox.listed(at: Self.date)
        let newest = Set((Outbox.maxEnded..<(2 * Outbox.maxEnded)).map { "\($0)" })
        #expect(Set(listed.map(\.entry.key.identifier)) == newest && listed.count == Outbox.maxEnded)
        #expect(listed.allSatisfy { $0.problem?.count == 500 })
        let count = self.outbox.removeEnded { $0.identifier != "100" }
        #expect(count == Outbox.maxEnded - 1)
        #expect(self.outbox.listed(at: Self.date).map(\.entry.key.identifier) == ["100"])
    }

    @Test mutating func `what is deleted or expires while it is sent is listed as what becomes of it`() throws {
        let (deleted, late) = (Self.entry("deleted"), Self.entry("late", to: "desktop"))
        for entry in [deleted, late] { try self.outbox.put(entry) }
        for _ in 0..<2 { _ = self.outbox.next(for: ["laptop", "desktop"], at: Self.date, self.now) }
        self.outbox.remove(deleted.key)
        self.outbox.note("Denied.", about: deleted, .refused, at: Self.date)
        _ = self.outbox.sent(deleted, .refused, self.now)
        #expect(self.outbox.listed(at: Self.date).map(\.entry) == [late])
        #expect(self.outbox.nextExpiration == nil)
        let early = self.outbox.expire(at: late.expires)
        #expect(early.isEmpty)
        _ = self.outbox.sent(late, .unreachable, self.now)
        let expired = self.outbox.expire(at: late.expires)
        #expect(expired == [late])
        #expect(self.outbox.listed(at: late.expires).map(\.problem) == [Outbox.late])
    }

    @Test mutating func `a system that postpones everything is asked less and less often`() throws {
        for number in 0..<Outbox.maxOfApplication { try self.outbox.put(Self.entry("\(number)")) }
        var (now, attempts) = (self.now, 0)
        while now < self.now + .seconds(86_400) {
            guard let entry = self.outbox.next(for: ["laptop"], at: Self.date, now) else {
                now = try #require(self.outbox.nextRetry(after: now))
                continue
            }
            _ = self.outbox.sent(entry, .postponed, now)
            attempts += 1
        }
        // Each once, and then one every ten minutes, after pauses that double.
        #expect(attempts <= Outbox.maxOfApplication + 8 + 86_400 / 600, "\(attempts)")
    }

    @Test mutating func `what has waited for 30 days is given up`() throws {
        try self.outbox.put(Self.entry("old"))
        try self.outbox.put(Self.entry("new", after: 60))
        #expect(self.outbox.nextExpiration == Self.date + Outbox.life)
        let early = self.outbox.expire(at: Self.date + Outbox.life - 1)
        #expect(early.isEmpty)
        let late = self.outbox.expire(at: Self.date + Outbox.life)
        #expect(late.map(\.key.identifier) == ["old"])
        #expect(self.outbox.all.map(\.key.identifier) == ["new"])
    }

    @Test mutating func `what has waited for too long is not sent, also before it is removed`() throws {
        try self.outbox.put(Self.entry("old"))
        try self.outbox.put(Self.entry("new", after: 60))
        let next = self.outbox.next(for: ["laptop"], at: Self.date + Outbox.life, self.now)
        #expect(next?.key.identifier == "new")
    }

    @Test(arguments: [(-1, 60), (0, 60), (0.5, 60), (59, 1), (60, nil), (61, nil)] as [(TimeInterval, Int?)])
    func `what is sent has the rest of its time, and nothing is sent without any`(seconds: TimeInterval, rest: Int?) {
        var entry = Self.entry("q")
        entry.notification.expiration = .seconds(60)
        entry.expires = entry.date + 60
        #expect(entry.remaining(at: entry.date + seconds)?.expiration == rest.map { Duration.seconds($0) })
        #expect((entry.remaining(at: entry.date + seconds) == nil) == (rest == nil))
    }

    @Test func `what waits is stored with everything that it needs`() throws {
        var entry = Self.entry("a/b", of: "c\\d")
        entry.notification.expiration = .seconds(60)
        entry.expires = entry.date + 60
        #expect(try NotificationRecord(entry).outbox() == entry)
        let other = Self.entry("b", to: "laptop/a", of: "c\\d")
        #expect(NotificationRecord.key(of: other.key) != NotificationRecord.key(of: entry.key))
    }
}
