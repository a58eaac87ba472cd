// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

/// Which connection carries which response.
@Suite struct ResponseRoutingTests {
    private final class Connection: Sendable {
        var link: ResponseRouting.Link { ObjectIdentifier(self) }
    }

    private static let remote = NotificationSender(systemID: "s", application: "a")
    private static let local = NotificationSender(systemID: "me", application: "calendar", isLocal: true)
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private let one = Connection()
    private let two = Connection()
    private var routing = ResponseRouting()

    private static func response(_ id: String, to request: String = "q") -> NotificationResponse {
        NotificationResponse(id: id, requestIdentifier: request, actionIdentifier: "yes")
    }

    private mutating func add(_ id: String, to sender: NotificationSender = remote, link: Connection? = nil) {
        self.routing.add(Self.response(id, to: id), to: sender, at: self.now, link: link?.link)
    }

    @Test mutating func `a response goes over the connection of its notification, the others to the general one`() {
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: false)
        self.routing.connected(self.two.link, of: Self.remote, receivesAll: false)
        self.add("1", link: self.two)
        self.add("2")
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
        #expect(self.routing.next() == nil)
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("2", to: "2"), over: self.one.link))
    }

    @Test mutating func `a connection of another sender with the same identifier gets nothing of an earlier one`() {
        // A daemon sends for one program, and then asks for its own responses.
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: false)
        let daemon = NotificationSender(systemID: "s", application: "remote-systems.host")
        self.routing.connected(self.one.link, of: daemon, receivesAll: true)
        self.routing.ended(self.one.link)
        let other = NotificationSender(systemID: "t", application: "b")
        self.routing.connected(self.one.link, of: other, receivesAll: true)
        self.add("1", to: daemon)
        #expect(self.routing.next() == nil)
    }

    @Test mutating func `a connection carries one response at a time, in their order`() {
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: true)
        self.add("1")
        self.add("2")
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
        #expect(self.routing.next() == nil)
        self.routing.sent("1", over: self.one.link, .taken)
        #expect(self.routing.next() == .send(Self.response("2", to: "2"), over: self.one.link))
    }

    @Test mutating func `a postponed or refused response does not hold up the later ones`() {
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: true)
        for id in ["1", "2", "3"] { self.add(id) }
        _ = self.routing.next()
        self.routing.sent("1", over: self.one.link, .postponed)
        _ = self.routing.next()
        self.routing.sent("2", over: self.one.link, .refused)
        #expect(self.routing.next() == .send(Self.response("3", to: "3"), over: self.one.link))
        self.routing.sent("3", over: self.one.link, .taken)
        #expect(self.routing.next() == nil)
        self.routing.retry(over: self.one.link)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
    }

    @Test mutating func `a response whose connection is lost goes over the next one`() {
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: false)
        self.add("1", link: self.one)
        _ = self.routing.next()
        self.routing.sent("1", over: self.one.link, .lost)
        #expect(self.routing.next() == nil)
        self.routing.connected(self.two.link, of: Self.remote, receivesAll: false)
        #expect(self.routing.claim(["other"], of: Self.remote, by: self.two.link) == 0)
        #expect(self.routing.next() == nil)
        #expect(self.routing.claim(["1"], of: Self.remote, by: self.two.link) == 1)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
    }

    @Test mutating func `a response is claimed for its own delivery, or for any if that is not known`() throws {
        let (own, later) = (UUID(), UUID())
        let record = try NotificationRecord(Self.response("1"), to: Self.remote, later, date: self.now)
        let (response, sender, deliveryID) = try record.response()
        #expect(deliveryID == later)
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: false)
        self.routing.add(response, to: sender, deliveryID, at: self.now, link: nil)
        #expect(self.routing.claim(["q"], own, of: Self.remote, by: self.one.link) == 0)
        #expect(self.routing.next() == nil)
        #expect(self.routing.claim(["q"], later, of: Self.remote, by: self.one.link) == 1)
        #expect(self.routing.next() == .send(Self.response("1"), over: self.one.link))
        self.routing.sent("1", over: self.one.link, .taken)
        self.add("2")
        #expect(self.routing.claim(["2"], own, of: Self.remote, by: self.one.link) == 1)
    }

    @Test mutating func `an application that does not run is started once for all its responses`() {
        for id in ["1", "2"] { self.add(id, to: Self.local) }
        #expect(self.routing.next() == .start(application: "calendar", number: 1))
        #expect(self.routing.next() == nil)
        self.routing.connected(self.one.link, of: Self.local, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
    }

    @Test mutating func `an application that ends while it handles responses is started again, three times in all`() {
        for id in ["1", "2"] { self.add(id, to: Self.local) }
        for number in 1...ResponseRouting.maxStarts {
            #expect(self.routing.next() == .start(application: "calendar", number: number))
            #expect(self.routing.next() == nil)
            self.routing.connected(self.one.link, of: Self.local, receivesAll: true)
            #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
            self.routing.sent("1", over: self.one.link, .lost)
        }
        #expect(self.routing.next() == nil)
        // The user responds once more, or starts it.
        self.add("3", to: Self.local)
        let last = ResponseRouting.maxStarts + 1
        #expect(self.routing.next() == .start(application: "calendar", number: last))
        self.routing.connected(self.two.link, of: Self.local, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
    }

    @Test mutating func `an application that counts as running while it ends is started again (N-50)`() {
        self.add("1", to: Self.local)
        #expect(self.routing.next() == .start(application: "calendar", number: 1))
        self.routing.connected(self.one.link, of: Self.local, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
        self.routing.sent("1", over: self.one.link, .lost)
        #expect(self.routing.next() == .start(application: "calendar", number: 2))
        // The time of the first start does not end the second one.
        self.routing.startEnded(1)
        #expect(self.routing.next() == nil)
        self.routing.startEnded(2)
        #expect(self.routing.next() == .start(application: "calendar", number: 3))
        self.routing.startEnded(3)
        #expect(self.routing.next() == nil)
        self.routing.connected(self.two.link, of: Self.local, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
        // The time of a start is over after the application has connected and ended.
        self.routing.startEnded(3)
        #expect(self.routing.next() == nil)
    }

    @Test mutating func `a response is sent over one connection at a time`() {
        self.routing.connected(self.one.link, of: Self.local, receivesAll: true)
        self.add("1", to: Self.local)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
        // A second process of the application.
        self.routing.connected(self.two.link, of: Self.local, receivesAll: true)
        #expect(self.routing.claim(["1"], of: Self.local, by: self.two.link) == 1)
        #expect(self.routing.next() == nil)
        self.routing.ended(self.one.link)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
    }

    @Test mutating func `a response whose connection has ended is not bound to one with the same identifier`() {
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: false)
        self.add("1", link: self.one)
        _ = self.routing.next()
        self.routing.sent("1", over: self.one.link, .lost)
        // Another response to a notification of the same connection, before its end is reported.
        self.add("2", link: self.one)
        self.routing.ended(self.one.link)
        let other = NotificationSender(systemID: "other", application: "a")
        self.routing.connected(self.one.link, of: other, receivesAll: true)
        #expect(self.routing.next() == nil)
        self.routing.connected(self.two.link, of: Self.remote, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
        self.routing.sent("1", over: self.two.link, .taken)
        #expect(self.routing.next() == .send(Self.response("2", to: "2"), over: self.two.link))
    }

    @Test mutating func `when one of two processes of an application ends, the other one receives its responses`() {
        self.routing.connected(self.one.link, of: Self.local, receivesAll: true)
        self.routing.connected(self.two.link, of: Self.local, receivesAll: true)
        self.add("1", to: Self.local)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
        self.routing.ended(self.two.link)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.one.link))
        // The lost connection's own report comes late.
        self.routing.sent("1", over: self.two.link, .lost)
        let three = Connection()
        self.routing.connected(three.link, of: Self.local, receivesAll: true)
        #expect(self.routing.next() == nil)
    }

    @Test mutating func `a postponed response goes over the next connection at once`() {
        self.routing.connected(self.one.link, of: Self.local, receivesAll: true)
        self.add("1", to: Self.local)
        _ = self.routing.next()
        self.routing.sent("1", over: self.one.link, .postponed)
        #expect(self.routing.next() == nil)
        self.routing.ended(self.one.link)
        #expect(self.routing.next() == .start(application: "calendar", number: 1))
        self.routing.connected(self.two.link, of: Self.local, receivesAll: true)
        #expect(self.routing.next() == .send(Self.response("1", to: "1"), over: self.two.link))
    }

    @Test mutating func `responses to one system, whatever its applications, take no room from another`() throws {
        for number in 0..<ResponseRouting.maxPerHolder {
            let sender = NotificationSender(systemID: "s", application: "a\(number)")
            try self.routing.checkRoom(for: sender, link: nil)
            self.add("\(number)", to: sender)
        }
        let error = #expect(throws: NotificationError.self) {
            try self.routing.checkRoom(for: Self.remote, link: nil)
        }
        #expect(error?.code == .limitExceeded)
        try self.routing.checkRoom(for: NotificationSender(systemID: "other", application: "a"), link: nil)
        // One that waits for its answer receives it.
        self.routing.connected(self.one.link, of: Self.remote, receivesAll: false)
        try self.routing.checkRoom(for: Self.remote, link: self.one.link)
    }

    @Test mutating func `other systems together take no room from this one`() throws {
        for number in 0..<ResponseRouting.max {
            self.add("\(number)", to: NotificationSender(systemID: "\(number % 16)", application: "a"))
        }
        try self.routing.checkRoom(for: Self.local, link: nil)
        #expect(throws: NotificationError.self) {
            try self.routing.checkRoom(for: NotificationSender(systemID: "new", application: "a"), link: nil)
        }
    }

    @Test mutating func `a response waits for its sender for 30 days`() {
        self.add("1")
        #expect(self.routing.expire(at: self.now + 30 * 86_400 - 1).isEmpty)
        #expect(self.routing.expire(at: self.now + 30 * 86_400) == ["1"])
        #expect(self.routing.responses(for: Self.remote).isEmpty)
    }
}
