// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

@Suite struct NotificationPermissionTests {
    private static func sender(_ system: String, _ application: String, account: String? = nil) -> NotificationSender {
        NotificationSender(systemID: system, application: application, linkedAccountID: account)
    }

    @Test("The strictest permission of a system, its account and its application counts (X-56)")
    func strictest() throws {
        var permissions = NotificationPermissions()
        #expect(permissions.permission(of: Self.sender("s", "a")) == .allowed)
        try permissions.set(.silent, for: .init(system: "s"))
        try permissions.set(.denied, for: .init(application: "a"))
        try permissions.set(.denied, for: .init(system: "s", application: "b"))
        try permissions.set(.denied, for: .init(system: "account"))
        for (sender, permission) in [
            (Self.sender("s", "a"), NotificationPermission.denied), (Self.sender("s", "b"), .denied),
            (Self.sender("s", "c"), .silent), (Self.sender("t", "b"), .allowed), (Self.sender("t", "a"), .denied),
            (Self.sender("t", "c", account: "account"), .denied), (Self.sender("t", "c", account: "other"), .allowed),
        ] {
            #expect(permissions.permission(of: sender) == permission)
        }
        try permissions.set(.allowed, for: .init(application: "a"))
        #expect(permissions.permission(of: Self.sender("s", "a")) == .silent)
        #expect(permissions.all.count == 3)
    }

    @Test("The pages of accounts and of notifications name the service that a link has to grant")
    func documentedService() throws {
        let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        for name in ["accounts", "notifications"] {
            let page = try String(contentsOf: root.appending(path: "Docs/\(name).md"), encoding: .utf8)
            #expect(page.contains("--service \(NotificationMessage.service)`"), "\(name)")
        }
    }

    @Test("A linked account may only show something, and a system of the account may use everything")
    func uses() {
        var local = Self.sender("s", "a")
        local.isLocal = true
        let linked = Self.sender("t", "a", account: "account")
        #expect(NotificationUse.allCases.filter { linked.may($0) }.isEmpty)
        #expect(NotificationUse.allCases.filter { Self.sender("t", "a").may($0) } == NotificationUse.allCases)
        #expect(NotificationUse.allCases.filter { !local.may($0) } == [.serviceExtension])
    }

    @Test("The number of permissions is limited")
    func limit() throws {
        var permissions = NotificationPermissions()
        for number in 0..<NotificationPermissions.max {
            try permissions.set(.silent, for: .init(application: "\(number)"))
        }
        let error = #expect(throws: NotificationError.self) {
            try permissions.set(.denied, for: .init(application: "one more"))
        }
        #expect(error?.code == .limitExceeded)
        try permissions.set(.denied, for: .init(application: "0"))
        try permissions.set(.allowed, for: .init(application: "one more"))
    }

    @Test("A permission survives its record, and one of a later version permits nothing")
    func record() throws {
        let subject = NotificationPermissions.Subject(system: "s")
        var record = try NotificationRecord(.silent, for: subject, at: .distantPast)
        #expect(try record.permission() == (.silent, subject))
        #expect(try record.perHour() == nil)
        #expect(try NotificationRecord(.allowed, perHour: 5, for: subject, at: .distantPast).perHour() == 5)
        record.body = try (["Permission": "summarized"] as ValueSet).encoded()
        #expect(try record.permission().0 == .denied)
    }

    @Test func `An application is permitted in every spelling, and the strictest one counts`() throws {
        var permissions = NotificationPermissions()
        try permissions.set(.denied, for: .init(application: "Signal"))
        try permissions.set(.silent, perHour: 3, for: .init(system: "s", application: "SIGNAL"))
        #expect(permissions.permission(of: Self.sender("t", "signal")) == .denied)
        #expect(permissions.permission(of: Self.sender("t", "signal.other")) == .allowed)
        #expect(permissions.limits(of: Self.sender("s", "signal")).map(\.value) == [3])
        // Each is removed as it was set, and listed until then.
        try permissions.set(.allowed, for: .init(application: "Signal"))
        #expect(permissions.permission(of: Self.sender("t", "signal")) == .allowed)
        #expect(permissions.permission(of: Self.sender("s", "signal")) == .silent)
        #expect(permissions.all.map { $0.subject.application } == ["SIGNAL"])
    }

    @Test("A limit has its range, stays without another permission, and goes with the default (X-56)")
    func limitOfSubject() throws {
        var permissions = NotificationPermissions()
        let subject = NotificationPermissions.Subject(application: "a")
        for perHour in [0, 1001] {
            let error = #expect(throws: NotificationError.self) {
                try permissions.set(.allowed, perHour: perHour, for: subject)
            }
            #expect(error?.code == .limitExceeded && error?.field == "PerHour")
        }
        try permissions.set(.allowed, perHour: 2, for: subject)
        try permissions.set(.silent, perHour: 7, for: .init(system: "s"))
        let (sender, system) = (Self.sender("s", "a"), NotificationPermissions.Subject(system: "s"))
        #expect(permissions.limits(of: sender) == [subject: 2, system: 7])
        #expect(permissions.limits(of: Self.sender("t", "b")).isEmpty)
        #expect(permissions.permission(of: sender) == .silent && permissions.all.count == 2)
        try permissions.set(.allowed, for: subject)
        #expect(permissions.limits(of: sender) == [system: 7] && permissions.all.count == 1)
    }

    @Test("A limit counts the notifications of the last hour (X-56)")
    func hourly() {
        var hourly = HourlyNotifications()
        let start = ContinuousClock.now
        func count(_ limits: [NotificationPermissions.Subject: Int], after seconds: Int) -> Int? {
            let now = start + .seconds(seconds)
            if let limit = hourly.reached(limits, now) { return limit }
            hourly.count(limits, now)
            return nil
        }
        let (one, both) = (NotificationPermissions.Subject(application: "a"), NotificationPermissions.Subject())
        #expect(count([:], after: 0) == nil)
        #expect(count([one: 2, both: 3], after: 0) == nil)
        #expect(count([one: 2, both: 3], after: 60) == nil)
        #expect(count([one: 2, both: 3], after: 120) == 2)
        // What was refused does not count.
        #expect(count([both: 3], after: 180) == nil)
        #expect(count([both: 3], after: 3599) == 3)
        #expect(count([one: 2, both: 3], after: 3600) == nil)
        #expect(count([one: 2], after: 3601) == 2)
        hourly.forget(one)
        #expect(count([one: 2], after: 3601) == nil)
    }

    /// The failure of a notification; `nil` if it is shown.
    private static func code(
        _ notification: RemoteNotification,
        over connection: RemoteNotificationConnection
    ) async throws -> String? {
        do {
            #expect(try await connection.deliver(notification).status == .shown)
            return nil
        } catch let error as RemoteSystemError {
            return error.failureCode
        }
    }

    @Test("What finds no room among those that wait counts only when it is accepted (X-56)")
    func attempts() async throws {
        try await ReceivingSystem.with { receiving in
            let receiver = receiving.receiver
            let application = receiving.stage.configuration.applicationID
            try await receiver.set(.silent, perHour: 2, for: .init(application: application))
            let connection = try await receiving.connect()
            let first = try await Self.code(ReceivingSystem.question("first"), over: connection)
            #expect(first == nil)
            let sender = try #require(await receiver.list().first?.sender)
            try await receiver.addOthers(of: sender)
            for _ in 1...3 {
                let refused = try await Self.code(ReceivingSystem.question("second"), over: connection)
                #expect(refused == "org.remotesystems.notifications.limit-exceeded")
            }
            await receiver.removeOthers()
            let second = try await Self.code(ReceivingSystem.question("second"), over: connection)
            #expect(second == nil)
            let third = try await Self.code(ReceivingSystem.question("third"), over: connection)
            #expect(third == "org.remotesystems.notifications.rate-limited")
            await connection.close()
        }
    }

    @Test("A sender learns that a limit is reached, and what was not accepted is counted (X-56)")
    func limited() async throws {
        try await ReceivingSystem.with { receiving in
            let receiver = receiving.receiver
            let application = receiving.stage.configuration.applicationID
            let subject = NotificationPermissions.Subject(application: application)
            try await receiver.set(.silent, perHour: 2, for: subject)
            let connection = try await receiving.connect()
            func code(_ notification: RemoteNotification) async throws -> String? {
                try await Self.code(notification, over: connection)
            }
            let first = ReceivingSystem.question("1")
            // The same one counts once.
            for notification in [first, first, ReceivingSystem.question("2")] {
                let result = try await code(notification)
                #expect(result == nil)
            }
            let third = try await code(ReceivingSystem.question("3"))
            #expect(third == "org.remotesystems.notifications.rate-limited")
            #expect(receiving.screen.shown.map(\.content.interruptionLevel) == [.passive, .passive])
            try await receiver.set(.denied, for: subject)
            let denied = try await code(ReceivingSystem.question("4"))
            #expect(denied == "org.remotesystems.notifications.not-authorized")
            let counts = await receiver.refusals.counts
            #expect(counts.count == 1 && counts.keys.first?.application == application)
            #expect(counts.values.first == [.limited: 1, .denied: 1])
            // Without the permission, the limit is gone.
            try await receiver.set(.allowed, for: subject)
            for number in 5...8 {
                let result = try await code(ReceivingSystem.question("\(number)"))
                #expect(result == nil)
            }
            await connection.close()
        }
    }

    @Test func `A changed notification with the delivery id of an earlier one counts, an equal one does not (X-56)`()
        async throws
    {
        try await ReceivingSystem.with { receiving in
            let application = receiving.stage.configuration.applicationID
            try await receiving.receiver.set(.silent, perHour: 3, for: .init(application: application))
            let connection = try await receiving.connect()
            let first = ReceivingSystem.question("1", expires: 60)
            var (again, changed, relabelled) = (first, first, first)
            again.expiration = .seconds(50)
            changed.request.content.body = "Another text"
            relabelled.category?.actions = [NotificationAction(identifier: "yes", title: "Another text")]
            for notification in [first, again, changed, changed, relabelled] {
                let result = try await Self.code(notification, over: connection)
                #expect(result == nil)
            }
            let refused = try await Self.code(first, over: connection)
            #expect(refused == "org.remotesystems.notifications.rate-limited")
            await connection.close()
        }
    }

    @Test
    func `A system that claims many applications displaces only its own in the counts, and those with the most stay`() {
        var refusals = NotificationRefusals()
        refusals.count(.limited, of: Self.sender("quiet", "once"))
        for _ in 1...2 { refusals.count(.tooFast, of: Self.sender("loud", "often")) }
        for number in 1...1000 { refusals.count(.denied, of: Self.sender("loud", "\(number)")) }
        let loud = refusals.counts.keys.count { $0.systemID == "loud" }
        #expect(loud == NotificationRefusals.maxSendersOfSystem)
        #expect(refusals.counts[Self.sender("loud", "often")] == [.tooFast: 2])
        #expect(refusals.counts[Self.sender("quiet", "once")] == [.limited: 1])
    }

    @Test func `The systems of a linked account share their place in the counts`() {
        var refusals = NotificationRefusals()
        refusals.count(.limited, of: Self.sender("quiet", "once"))
        for number in 1...1000 {
            var sender = Self.sender("\(number)", "a")
            sender.linkedAccountID = "account"
            refusals.count(.denied, of: sender)
        }
        let linked = refusals.counts.keys.count { $0.linkedAccountID == "account" }
        #expect(linked == NotificationRefusals.maxSendersOfSystem)
        #expect(refusals.counts[Self.sender("quiet", "once")] == [.limited: 1])
    }

    @Test func `With too many senders in all, those of the systems that have the most give way`() {
        var refusals = NotificationRefusals()
        for _ in 1...2 { refusals.count(.limited, of: Self.sender("quiet", "twice")) }
        let full = NotificationRefusals.maxSenders / NotificationRefusals.maxSendersOfSystem
        for system in 1...full {
            for number in 1...100 { refusals.count(.denied, of: Self.sender("loud \(system)", "\(number)")) }
        }
        #expect(refusals.counts.count == NotificationRefusals.maxSenders)
        #expect(refusals.counts[Self.sender("quiet", "twice")] == [.limited: 2])
        // A system with one sender gets a place, too.
        refusals.count(.denied, of: Self.sender("late", "once"))
        #expect(refusals.counts.count == NotificationRefusals.maxSenders)
        #expect(refusals.counts[Self.sender("late", "once")] == [.denied: 1])
    }
}

extension NotificationReceiver {
    /// Receives other notifications until no more of a sender may wait, without counting them.
    fileprivate func addOthers(of sender: NotificationSender) throws {
        for number in 1..<ReceivedNotifications.maxPerSystem {
            let other = ReceivingSystem.question("other \(number)")
            _ = try self.received.add(other, from: sender, name: nil, self.clock.now)
        }
    }

    fileprivate func removeOthers() {
        _ = self.received.removeAll { $0.notification.request.identifier.hasPrefix("other ") }
    }
}
