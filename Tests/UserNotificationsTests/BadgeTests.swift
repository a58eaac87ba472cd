// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// The numbers at the icons of applications.
@Suite struct BadgeTests {
    private typealias Daemon = StagedNotificationDaemon

    private static func badge(_ count: Int?, title: String = "", for application: String? = "mail")
        -> RemoteNotification
    {
        var notification = RemoteNotification(
            NotificationRequest(identifier: "b", content: NotificationContent(title: title))
        )
        notification.request.content.badge = count
        notification.targetApplicationID = application
        return notification
    }

    @Test func `a notification sets the number at the icon of its application, with a text or without (N-05, N-16)`()
        async throws
    {
        try await ReceivingSystem.with { receiving in
            let connection = try await receiving.connect()
            #expect(try await connection.deliver(Self.badge(3, title: "Three letters")).status == .shown)
            #expect(receiving.screen.badges == ["mail": 3])
            #expect(try await connection.deliver(Self.badge(4)) == NotificationDelivery(.handled))
            #expect(receiving.screen.badges == ["mail": 4])
            // One without a number leaves it.
            _ = try await connection.deliver(Self.badge(nil, title: "News"))
            #expect(receiving.screen.badges == ["mail": 4])
            // Without a name it is the application that sends.
            _ = try await connection.deliver(Self.badge(1, for: nil))
            #expect(receiving.screen.badges == ["mail": 4, receiving.stage.configuration.applicationID: 1])
            _ = try await connection.deliver(Self.badge(0))
            #expect(receiving.screen.badges["mail"] == nil)
            // Its end does not change the number.
            _ = try await connection.deliver(Self.badge(5, title: "Letters"))
            _ = try await connection.withdraw(["b"])
            #expect(receiving.screen.badges["mail"] == 5)
            let linked = NotificationSender(systemID: "s", application: "mail", linkedAccountID: "l")
            #expect(await receiving.receiver.setBadge(of: Self.badge(9), linked) == false)
            #expect(receiving.screen.badges["mail"] == 5)
            await connection.close()
        }
    }

    @Test func `an application sets its number, which the daemon keeps (N-05)`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            var other = Daemon.sender
            other.application = "other"
            try await first.receiver.setBadge(7, of: Daemon.sender)
            try await first.receiver.setBadge(2, of: other)
            try await first.receiver.setBadge(0, of: other)
            #expect(first.screen.badges == [Daemon.sender.application: 7])
            // One that is not stored is not set, and can be set again.
            store.fail(NotificationError(.storeFailed, "The disk is full."))
            await #expect(throws: NotificationError.self) {
                try await first.receiver.setBadge(8, of: Daemon.sender)
            }
            #expect(first.screen.badges == [Daemon.sender.application: 7])
            store.fail(nil)
            try await first.receiver.setBadge(8, of: Daemon.sender)
            try await first.receiver.setBadge(7, of: Daemon.sender)
            first.crash()
            let second = try await Daemon(stage, store)
            try await stage.eventually("it is shown again") {
                second.screen.badges == [Daemon.sender.application: 7]
            }
            for count in [-1, 1_000_000] {
                await #expect(throws: NotificationError.self) {
                    try await second.receiver.setBadge(count, of: Daemon.sender)
                }
            }
            second.crash()
        }
    }

    private static func system(_ name: String) -> NotificationSender { .init(systemID: name, application: "a") }

    private static func isRefused(_ application: String, _ sender: NotificationSender, in badges: Badges) -> Bool {
        var badges = badges
        let error = #expect(throws: NotificationError.self) { try badges.set(1, of: application, by: sender) }
        return error?.code == .limitExceeded
    }

    @Test func `applications are only claimed, so that their numbers are limited, also for each system`() throws {
        var badges = Badges()
        let local = NotificationSender(systemID: "s", application: "a", isLocal: true)
        for number in 0..<Badges.maxPerSystem { _ = try badges.set(1, of: "\(number)", by: Self.system("0")) }
        #expect(Self.isRefused("one more", Self.system("0"), in: badges))
        _ = try badges.set(1, of: "its", by: Self.system("1"))
        // The rest is for this system.
        for number in badges.all.count..<Badges.maxApplications { _ = try badges.set(1, of: "\(number)", by: local) }
        #expect(Self.isRefused("one more", local, in: badges))
        // A system may change those that it has set, and not set those of others beyond its number.
        #expect(try badges.set(2, of: "0", by: Self.system("0"))?.count == 1)
        #expect(Self.isRefused("its", Self.system("0"), in: badges))
        #expect(try badges.set(0, of: "0", by: local)?.count == 2)
        #expect(try badges.set(0, of: "unknown", by: local) == nil)
        #expect(try badges.set(3, of: "its", by: Self.system("0"))?.sender == Self.system("1"))
    }

    @Test func `systems that set as many badges as they may leave some for another one`() throws {
        var badges = Badges()
        for system in 0..<8 {
            for number in 0..<Badges.maxPerSystem {
                _ = try? badges.set(1, of: "\(system).\(number)", by: Self.system("\(system)"))
            }
        }
        #expect(badges.all.count < Badges.maxByOtherSystems)
        #expect(try badges.set(1, of: "its", by: Self.system("new")) == nil)
    }

    @Test func `two ids that differ in their bytes alone have two badges and two records`() async throws {
        try await DiscoveryStage.with { stage in
            let store = ByteKeyedStore()
            let receiver = NotificationReceiver(stage.configuration, presenter: nil, store: store) { _ in nil }
            let sender = Self.system("other")
            #expect(await receiver.setBadge(of: Self.badge(1, for: "org.\u{E9}"), sender))
            #expect(await receiver.setBadge(of: Self.badge(0, for: "org.e\u{301}"), sender))
            #expect(store.keys == [Array("org.\u{E9}".utf8)])
            #expect(await receiver.setBadge(of: Self.badge(0, for: "org.\u{E9}"), sender))
            let left = await receiver.badges.all.count
            #expect(left == 0 && store.keys.isEmpty)
        }
    }

    @Test func `the number of a sender that the user denies is gone, also from the store`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let remote = NotificationSender(systemID: "other", application: "mail")
            try await first.receiver.setBadge(7, of: Daemon.sender)
            #expect(await first.receiver.setBadge(of: Self.badge(3), remote))
            #expect(first.screen.badges == ["mail": 3, Daemon.sender.application: 7])
            first.crash()
            let second = try await Daemon(stage, store)
            try await stage.eventually("they are shown again") { second.screen.badges.count == 2 }
            try await second.receiver.set(.denied, for: .init(system: "other"))
            #expect(second.screen.badges == [Daemon.sender.application: 7])
            #expect(try await store.load().filter { $0.kind == .badge }.map(\.key) == [Daemon.sender.application])
            second.crash()
        }
    }

    @Test func `without a daemon the presenter of the application shows its number (N-05)`() async throws {
        let desktop = StagedNotificationPresenter()
        let center = UserNotificationCenter(presenter: desktop, applicationName: "Mail", desktopEntry: "mail")
        try await center.setBadgeCount(3)
        #expect(desktop.badges == ["mail": 3])
        var request = NotificationRequest(identifier: "1", content: NotificationContent(title: "Letter"))
        request.content.badge = 4
        try await center.add(request)
        #expect(desktop.badges == ["mail": 4])
        // The application counts it, and shows nothing.
        await center.setWillPresent { _ in .badge }
        request.content.badge = 5
        try await center.add(request)
        #expect(desktop.badges == ["mail": 5] && desktop.history.count == 1)
        // What it leaves to a daemon would end with it.
        await #expect(throws: RemoteSystemError.self) {
            try await center.post(Self.badge(1, title: "Letter"), to: [String(repeating: "a", count: 52)])
        }
        // Without an icon there is no number.
        let other = StagedNotificationPresenter()
        try await UserNotificationCenter(presenter: other, applicationName: "Mail").setBadgeCount(3)
        #expect(other.badges.isEmpty)
    }
}
