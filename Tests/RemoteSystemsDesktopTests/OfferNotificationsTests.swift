// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystemsDesktop

/// The notifications of what can be continued.
@Suite struct OfferNotificationsTests {
    private static let id = UUID()

    private static func offer(_ number: Int = 1, receivers: Int = 1) -> OfferNotifications.Offer {
        .init(
            key: "offer \(number)",
            id: Self.id,
            title: "Minutes \(number)",
            application: "Editor",
            system: "kitchen",
            receivers: (0..<receivers).map { .init(id: "test.r\($0)", name: "Reader \($0)") }
        )
    }

    private static var unlocked: OfferNotifications {
        var notifications = OfferNotifications()
        notifications.lock(false)
        return notifications
    }

    @Test func `nothing is shown before it is known whether the screen is locked`() {
        var notifications = OfferNotifications()
        notifications.set([Self.offer()])
        #expect(notifications.notifications.isEmpty)
        let begun = notifications.begin("offer 1", action: "continue")
        #expect(begun == nil)
    }

    @Test func `an offer is quiet and stays, and the user continues it (H-98)`() throws {
        var notifications = Self.unlocked
        notifications.set([Self.offer()])
        let shown = try #require(notifications.notifications.first)
        #expect(shown.summary == "Continue on this machine: Minutes 1" && shown.body == "“Editor” on “kitchen”")
        #expect(shown.urgency == .low && shown.isSilent && shown.isResident)
        #expect(shown.actions.map(\.label) == ["Continue", "Continue"])
        for action in shown.actions {
            var each = notifications
            let begun = each.begin(shown.key, action: action.key)
            #expect(begun?.offer == Self.offer() && begun?.receiver == "test.r0")
        }
    }

    @Test func `the user sees that it continues, and why it could not (H-95)`() throws {
        var notifications = Self.unlocked
        notifications.set([Self.offer()])
        let begun = notifications.begin("offer 1", action: "continue")
        #expect(begun != nil)
        #expect(notifications.notifications.map(\.summary) == ["Continuing “Minutes 1” …"])
        #expect(notifications.notifications.allSatisfy { $0.actions.isEmpty })
        // A second click begins nothing.
        let again = notifications.begin("offer 1", action: "continue")
        #expect(again == nil)
        notifications.end(Self.offer(), failure: "It has ended.\nTry \u{202E}again.")
        let failed = try #require(notifications.notifications.first)
        #expect(failed.summary == "“Minutes 1” could not be continued" && failed.body == "It has ended. Try  again.")
        let third = notifications.begin("offer 1", action: "continue")
        #expect(third != nil)
        notifications.end(Self.offer(), failure: nil)
        #expect(notifications.notifications.map(\.summary) == ["Continue on this machine: Minutes 1"])
    }

    /// Another activity of the application of ``offer(_:receivers:)``.
    private static var next: OfferNotifications.Offer {
        var next = Self.offer()
        next.id = UUID()
        next.title = "Letter"
        return next
    }

    @Test func `a failure is shown of the activity that has failed, and not of the application's next one`() {
        var notifications = Self.unlocked
        notifications.set([Self.offer()])
        let begun = notifications.begin("offer 1", action: "continue")
        #expect(begun != nil)
        notifications.end(Self.offer(), failure: "It has ended.")
        // The same activity keeps it.
        notifications.set([Self.offer()])
        #expect(notifications.notifications.map(\.summary) == ["“Minutes 1” could not be continued"])
        notifications.set([Self.next])
        #expect(notifications.notifications.map(\.summary) == ["Continue on this machine: Letter"])
    }

    @Test func `the application's next activity can be continued while the last one still continues`() {
        var notifications = Self.unlocked
        let next = Self.next
        notifications.set([Self.offer()])
        let first = notifications.begin("offer 1", action: "continue")
        #expect(first?.offer.id == Self.id)
        notifications.set([next])
        #expect(notifications.notifications.map(\.summary) == ["Continue on this machine: Letter"])
        #expect(notifications.notifications.first?.actions.count == 2)
        let second = notifications.begin("offer 1", action: "continue")
        #expect(second?.offer.id == next.id)
        // The first one fails only now.
        notifications.end(Self.offer(), failure: "It has ended.")
        #expect(notifications.notifications.map(\.summary) == ["Continuing “Letter” …"])
        notifications.end(next, failure: nil)
        #expect(notifications.notifications.map(\.summary) == ["Continue on this machine: Letter"])
    }

    @Test func `of several activities of one application the one that is shown is continued`() {
        var notifications = Self.unlocked
        notifications.set([Self.offer(), Self.next, Self.offer(2)])
        let summaries = notifications.notifications.map(\.summary)
        #expect(summaries == ["Continue on this machine: Minutes 1", "Continue on this machine: Minutes 2"])
        let begun = notifications.begin("offer 1", action: "continue")
        #expect(begun?.offer == Self.offer())
    }

    @Test func `of several applications the user chooses one`() {
        var notifications = Self.unlocked
        notifications.set([Self.offer(receivers: 5)])
        let labels = notifications.notifications.flatMap(\.actions).map(\.label)
        #expect(labels == ["Continue in Reader 0", "Continue in Reader 1", "Continue in Reader 2"])
        let click = notifications.begin("offer 1", action: "default")
        #expect(click == nil)
        let chosen = notifications.begin("offer 1", action: "2")
        #expect(chosen?.receiver == "test.r2")
    }

    @Test func `a locked screen shows the application only, and continues nothing`() {
        var notifications = Self.unlocked
        notifications.set([Self.offer()])
        notifications.lock(true)
        #expect(
            notifications.notifications == [
                DesktopNotification(key: "offer 1", summary: "Continue on this machine", body: "Editor")
            ]
        )
        let begun = notifications.begin("offer 1", action: "continue")
        #expect(begun == nil)
        notifications.lock(false)
        #expect(notifications.notifications.first?.actions.count == 2)
    }

    @Test func `another system can neither fill the screen nor put more than a line on it`() throws {
        var notifications = Self.unlocked
        var hostile = Self.offer()
        hostile.title = "\u{1B}[31m\u{202E}<b>\n" + String(repeating: "x", count: 5000)
        hostile.application = "Editor” on “kitchen"
        hostile.system = "attic"
        notifications.set([hostile] + (2..<100).map { Self.offer($0) })
        #expect(notifications.notifications.count == OfferNotifications.max)
        let summary = try #require(notifications.notifications.first?.summary)
        #expect(summary.hasPrefix("Continue on this machine:  [31m <b> xxx") && summary.count < 160)
        #expect(notifications.notifications.first?.body == "“Editor' on 'kitchen” on “attic”")
    }
}
