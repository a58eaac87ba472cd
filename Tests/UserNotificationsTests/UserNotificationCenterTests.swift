// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import UserNotifications

@Suite struct UserNotificationCenterTests {
    private static let invitation = NotificationCategory(
        identifier: "event-invite",
        actions: [
            NotificationAction(identifier: "accept", title: "Accept"),
            NotificationAction(identifier: "decline", title: "Decline", options: .destructive),
            NotificationAction(TextInputNotificationAction(identifier: "comment", title: "Comment")),
        ],
        options: .customDismissAction
    )

    private static func request(_ id: String, title: String = "Lunch", category: String? = "event-invite")
        -> NotificationRequest
    {
        NotificationRequest(
            identifier: id,
            content: NotificationContent(title: title, categoryIdentifier: category)
        )
    }

    private static func staged(
        _ configuration: RemoteSystemsConfiguration? = nil
    ) async throws -> (UserNotificationCenter, StagedNotificationPresenter) {
        let desktop = StagedNotificationPresenter()
        let center = UserNotificationCenter(
            presenter: desktop,
            applicationName: "Calendar",
            desktopEntry: "calendar",
            configuration: configuration
        )
        try await center.setNotificationCategories([Self.invitation])
        return (center, desktop)
    }

    @Test("An invitation is shown, commented, accepted or declined, and each answer comes once (N-57, N-54, N-12)")
    func commented() async throws {
        let (center, desktop) = try await Self.staged()
        try await center.add(Self.request("42"))
        #expect(desktop.shown.first?.applicationName == "Calendar" && desktop.shown.first?.desktopEntry == "calendar")
        desktop.choose("comment", on: "42", text: "I am late")
        desktop.choose("accept", on: "42")
        try await center.add(Self.request("43"))
        desktop.choose("accept", on: "43")
        try await center.add(Self.request("44"))
        desktop.choose("decline", on: "44")
        var responses = center.responses.makeAsyncIterator()
        let first = try #require(await responses.next())
        #expect((first.requestIdentifier, first.actionIdentifier, first.userText) == ("42", "comment", "I am late"))
        // The second choice for 42 is no response.
        let accepted = try #require(await responses.next())
        #expect((accepted.requestIdentifier, accepted.actionIdentifier) == ("43", "accept"))
        let declined = try #require(await responses.next())
        #expect((declined.requestIdentifier, declined.actionIdentifier) == ("44", "decline"))
        #expect(try await center.deliveredNotifications.isEmpty)
    }

    @Test("A click and an action of the foreground come with the token for a window, other actions without (X-59)")
    func tokens() async throws {
        let (center, desktop) = try await Self.staged()
        let category = NotificationCategory(
            identifier: "event-invite",
            actions: [
                NotificationAction(identifier: "accept", title: "Accept"),
                NotificationAction(identifier: "show", title: "Show", options: .foreground),
            ]
        )
        try await center.setNotificationCategories([category])
        var responses = center.responses.makeAsyncIterator()
        for (action, hasToken) in [("default", true), ("show", true), ("accept", false)] {
            try await center.add(Self.request(action))
            desktop.choose(NotificationActionIdentifier(action), on: action, activationToken: "token-1")
            let response = try #require(await responses.next())
            #expect(response.actionIdentifier.rawValue == action)
            #expect(response.activationToken == (hasToken ? "token-1" : nil))
        }
    }

    @Test("An unknown category is an error that names it, and nothing is shown (N-29)")
    func unknownCategory() async throws {
        let (center, desktop) = try await Self.staged()
        let error = await #expect(throws: NotificationError.self) {
            try await center.add(Self.request("1", category: "other"))
        }
        #expect(error?.code == .categoryUnknown && error?.field == "content.categoryIdentifier")
        #expect(desktop.history.isEmpty)
    }

    @Test("Invalid content is an error, and nothing is shown")
    func invalid() async throws {
        let (center, desktop) = try await Self.staged()
        let error = await #expect(throws: NotificationError.self) { try await center.add(Self.request("")) }
        #expect(error?.field == "identifier" && desktop.history.isEmpty)
    }

    @Test("The same identifier replaces; delivered notifications are listed and removed (X-55)")
    func delivered() async throws {
        let (center, desktop) = try await Self.staged()
        for (id, title) in [("1", "A"), ("2", "B"), ("1", "C")] { try await center.add(Self.request(id, title: title)) }
        #expect(try await center.deliveredNotifications.map(\.request.content.title) == ["B", "C"])
        #expect(desktop.shown.map(\.content.title) == ["B", "C"])
        try await center.removeDeliveredNotifications(withIdentifiers: ["2", "unknown"])
        #expect(desktop.shown.map(\.content.title) == ["C"])
        try await center.removeAllDeliveredNotifications()
        #expect(try await center.deliveredNotifications.isEmpty && desktop.shown.isEmpty)
    }

    @Test("A dismissal reaches the application only if the category asks for it (N-43, X-58)")
    func dismissed() async throws {
        let (center, desktop) = try await Self.staged()
        try await center.add(Self.request("plain", category: nil))
        try await center.add(Self.request("custom"))
        desktop.end("plain")
        desktop.end("custom")
        var responses = center.responses.makeAsyncIterator()
        let response = try #require(await responses.next())
        #expect(response.requestIdentifier == "custom" && response.actionIdentifier == .dismiss)
        #expect(try await center.deliveredNotifications.isEmpty)
    }

    @Test("A notification whose banner has ended stays delivered (N-06)")
    func expired() async throws {
        let (center, desktop) = try await Self.staged()
        try await center.add(Self.request("1"))
        desktop.end("1", .expired)
        try await center.add(Self.request("2"))
        desktop.choose("accept", on: "2")
        var responses = center.responses.makeAsyncIterator()
        _ = await responses.next()
        #expect(try await center.deliveredNotifications.map(\.request.identifier) == ["1"])
    }

    @Test("In the foreground, the application decides how a notification is shown (X-57)")
    func foreground() async throws {
        let (center, desktop) = try await Self.staged()
        await center.setWillPresent { request in request.identifier == "quiet" ? [.list] : [.badge] }
        var hidden = Self.request("hidden")
        hidden.content.badge = 7
        try await center.add(hidden)
        #expect(desktop.history.isEmpty)
        #expect(await center.badgeCount == 7)
        try await center.add(Self.request("quiet"))
        #expect(desktop.shown.first?.isSilenced == true)
        #expect(desktop.shown.first?.content.interruptionLevel == .passive)
        await center.setWillPresent(nil)
        try await center.add(Self.request("full"))
        #expect(desktop.shown.last?.isSilenced == false)
    }

    @Test("Without a server, adding fails, and what was delivered before stays in the list (X-82)")
    func noServer() async throws {
        let (center, desktop) = try await Self.staged()
        try await center.add(Self.request("1", title: "A"))
        desktop.fail(NotificationError(.notShown, "There is no server."))
        await #expect(throws: NotificationError(.notShown, "There is no server.")) {
            try await center.add(Self.request("1", title: "B"))
        }
        #expect(try await center.deliveredNotifications.map(\.request.content.title) == ["A"])
    }

    @Test("Without a desktop entry of its own, the server gets the id of the application (X-74)")
    func defaultEntry() async throws {
        try await DiscoveryStage.with { stage in
            let desktop = StagedNotificationPresenter()
            let center = UserNotificationCenter(
                presenter: desktop,
                applicationName: "Calendar",
                configuration: stage.configuration
            )
            try await center.add(Self.request("1", category: nil))
            try await center.setBadgeCount(3)
            let id = stage.configuration.applicationID
            #expect(desktop.shown.map(\.desktopEntry) == [id])
            #expect(desktop.badges == [id: 3])
        }
    }

    @Test("Badges and categories have limits (N-05, N-52)")
    func limits() async throws {
        let (center, _) = try await Self.staged()
        await #expect(throws: NotificationError.self) { try await center.setBadgeCount(-1) }
        try await center.setBadgeCount(3)
        #expect(await center.badgeCount == 3)
        let many = (0...NotificationLimits.categories).map { NotificationCategory(identifier: "\($0)") }
        await #expect(throws: NotificationError.self) { try await center.setNotificationCategories(many) }
        await #expect(throws: NotificationError.self) {
            try await center.setNotificationCategories([Self.invitation, Self.invitation])
        }
        #expect(await center.notificationCategories == [Self.invitation])
    }

    @Test("The oldest notification is removed when the list is full")
    func full() async throws {
        let (center, desktop) = try await Self.staged()
        for number in 0...UserNotificationCenter.maxDelivered { try await center.add(Self.request("\(number)")) }
        #expect(try await center.deliveredNotifications.count == UserNotificationCenter.maxDelivered)
        #expect(desktop.shown.first?.identifier == "1")
    }

    @Test("A request with a trigger is pending until its date, and may be removed before (N-02, X-63)")
    func pending() async throws {
        try await DiscoveryStage.with { stage in
            let (center, desktop) = try await Self.staged(stage.configuration)
            for (id, seconds) in [("late", 7200), ("soon", 90), ("removed", 60)] {
                try await center.add(
                    NotificationRequest(
                        identifier: id,
                        content: NotificationContent(title: id),
                        trigger: .timeInterval(.seconds(seconds))
                    )
                )
            }
            #expect(try await center.pendingNotifications.map(\.request.identifier) == ["removed", "soon", "late"])
            try await center.removePendingNotifications(withIdentifiers: ["removed", "unknown"])
            try await stage.clock.advance(by: .seconds(89))
            #expect(desktop.history.isEmpty)
            try await stage.clock.advance(by: .seconds(2))
            try await stage.eventually("what is due is shown") { desktop.history.map(\.identifier) == ["soon"] }
            #expect(try await center.pendingNotifications.map(\.request.identifier) == ["late"])
            #expect(try await center.deliveredNotifications.map(\.request.identifier) == ["soon"])
            try await center.removeAllPendingNotifications()
            try await stage.clock.advance(by: .seconds(7200))
            #expect(desktop.history.count == 1)
        }
    }

    @Test("In the foreground, the application also decides how what is due is shown (X-57)")
    func foregroundWhenDue() async throws {
        try await DiscoveryStage.with { stage in
            let (center, desktop) = try await Self.staged(stage.configuration)
            await center.setWillPresent { request in request.identifier == "hidden" ? [] : .all }
            for (id, seconds) in [("hidden", 60), ("shown", 61)] {
                try await center.add(
                    NotificationRequest(
                        identifier: id,
                        content: NotificationContent(title: id),
                        trigger: .timeInterval(.seconds(seconds))
                    )
                )
            }
            try await stage.clock.advance(by: .seconds(62))
            try await stage.eventually("both are decided") { desktop.history.map(\.identifier) == ["shown"] }
        }
    }

    @Test("A clock that is set delivers what is due by the new date, and keeps intervals")
    func clockIsSet() async throws {
        try await DiscoveryStage.with { stage in
            let (center, desktop) = try await Self.staged(stage.configuration)
            stage.clock.date = try Date("2026-06-10T07:00:00Z", strategy: .iso8601)
            let nine = DateComponents(timeZone: TimeZone(identifier: "UTC"), hour: 9)
            for (id, trigger) in [
                ("nine", NotificationTrigger.calendar(nine)), ("interval", .timeInterval(.seconds(3600))),
            ] {
                try await center.add(
                    NotificationRequest(identifier: id, content: NotificationContent(title: id), trigger: trigger)
                )
            }
            stage.clock.date += 7300
            try await stage.clock.advance(by: .seconds(61))
            try await stage.eventually("what is due is shown") { desktop.history.map(\.identifier) == ["nine"] }
            try await stage.clock.advance(by: .seconds(3600 - 61 + 1))
            try await stage.eventually("what is due is shown") {
                desktop.history.map(\.identifier) == ["nine", "interval"]
            }
        }
    }
}
