// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// What may open a view, what is shown again after the daemon has ended, and what an open view schedules.
extension NotificationCardsTests {
    @Test func `only a category of an installed application has a view, and not one of a linked account (N-35)`()
        async throws
    {
        try await ReceivingSystem.with { receiving in
            let cards = StagedCards()
            await receiving.receiver.setCards(cards)
            let connection = try await receiving.connect()
            // The application that sends has none.
            _ = try await connection.deliver(ReceivingSystem.question("q"))
            #expect(receiving.screen.shown.first?.category?.actions.map(\.identifier.rawValue) == ["yes", "comment"])
            var received = ReceivedNotifications(receiving.stage.clock.now)
            var notification = ReceivingSystem.question("1")
            notification.targetApplicationID = "calendar"
            for (account, hasCard) in [("l" as String?, false), (nil, true)] {
                let sender = NotificationSender(systemID: "s", application: "a", linkedAccountID: account)
                let entry = try received.add(notification, from: sender, name: nil, receiving.stage.clock.now)
                #expect(await receiving.receiver.hasCard(entry) == hasCard)
            }
            #expect(await !receiving.receiver.openCard("unknown"))
            await connection.close()
        }
    }

    @Test func `a program of this system opens a view as the button does, or gets an error (N-13)`() async throws {
        try await ReceivingSystem.with { receiving in
            let cards = StagedCards()
            let connection = try await receiving.connect()
            _ = try await connection.deliver(Self.invitation)
            var other = ReceivingSystem.question("other")
            other.targetApplicationID = "mail"
            _ = try await connection.deliver(other)
            let keys = await receiving.receiver.list().map(\.key)
            let (first, second) = (try #require(keys.first), try #require(keys.last))
            func error(_ key: String) async -> NotificationError? {
                do throws(NotificationError) {
                    try await receiving.receiver.openView(key)
                    return nil
                } catch {
                    return error
                }
            }
            #expect(await error("unknown")?.code == .requestUnknown)
            #expect(await error(first)?.code == .notShown)
            await receiving.receiver.setCards(cards)
            let refused = await error(second)
            #expect(refused?.code == .notShown && refused?.message.contains("there is no extension.") == true)
            // What is refused stays on the screen.
            #expect(receiving.screen.shown.count == 2 && cards.count == 0)
            // It may be open already.
            for _ in 0..<2 { #expect(await error(first) == nil) }
            try await receiving.stage.eventually("it is opened") { cards.requests.count == 1 }
            #expect(cards.count == 1 && receiving.screen.shown.count == 1)
            // As after the button: it is read, and has left the screen.
            let list = await receiving.receiver.list()
            #expect(list.map(\.isRead) == [true, false] && list.map(\.isShown) == [false, true])
            // What is snoozed is not shown, and so its view is not opened.
            _ = try await receiving.receiver.snooze(first, for: 60)
            try await receiving.stage.eventually("the view is closed") { await !receiving.receiver.isInView(first) }
            let snoozed = await error(first)
            #expect(snoozed?.code == .notShown && snoozed?.message.contains("is snoozed until") == true)
            #expect(cards.count == 1)
            await connection.close()
        }
    }

    @Test func `four views are open at most, and a program learns it`() async throws {
        try await ReceivingSystem.with { receiving in
            let cards = StagedCards()
            await receiving.receiver.setCards(cards)
            let connection = try await receiving.connect()
            for number in 0..<5 {
                var notification = ReceivingSystem.question("\(number)")
                notification.targetApplicationID = "calendar"
                _ = try await connection.deliver(notification)
            }
            let keys = await receiving.receiver.list().map(\.key)
            for key in keys.prefix(4) { try await receiving.receiver.openView(key) }
            let last = try #require(keys.last)
            let error = await #expect(throws: NotificationError.self) { try await receiving.receiver.openView(last) }
            #expect(error?.code == .limitExceeded)
            await connection.close()
        }
    }

    /// Shows a notification and opens its view. Returns its key.
    private static func open(
        _ cards: StagedCards,
        _ daemon: StagedNotificationDaemon,
        _ stage: DiscoveryStage
    ) async throws -> String {
        await daemon.receiver.setCards(cards)
        let key = try await daemon.show("tea", stage)
        try await daemon.receiver.openView(key)
        try await stage.eventually("it is opened") {
            cards.commands.count == 1 && cards.requests.count == 1 && daemon.screen.shown.isEmpty
        }
        return key
    }

    @Test func `a notification whose view is open when the daemon crashes or stops is shown again (N-27)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (store, cards) = (StepStore(), StagedCards())
            let first = try await StagedNotificationDaemon(stage, store)
            let key = try await Self.open(cards, first, stage)
            // As a process finds it after SIGKILL.
            let second = try await StagedNotificationDaemon(stage, StepStore(try #require(store.steps.last)))
            try await stage.eventually("it is shown again") { second.screen.shown.map(\.identifier) == [key] }
            second.crash()
            // After SIGTERM, the daemon ends the programs of the view.
            first.crash()
            try await stage.eventually("the view has ended") { await !first.receiver.isInView(key) }
            #expect(cards.window?.hasEnded == true)
            let third = try await StagedNotificationDaemon(stage, store)
            try await stage.eventually("it is shown again") { third.screen.shown.map(\.identifier) == [key] }
            third.crash()
        }
    }

    @Test func `a notification whose view the user has closed is not shown again after a restart (N-27)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (store, cards) = (StepStore(), StagedCards())
            let first = try await StagedNotificationDaemon(stage, store)
            let key = try await Self.open(cards, first, stage)
            try cards.user(.closed)
            try await stage.eventually("the view has ended") { await !first.receiver.isInView(key) }
            let open = try await first.show("open", stage)
            first.crash()
            let second = try await StagedNotificationDaemon(stage, store)
            try await stage.eventually("the other one is shown") { second.screen.shown.map(\.identifier) == [open] }
            #expect(await second.receiver.list().map(\.key) == [key, open])
            second.crash()
        }
    }

    @Test func `a view ends when a scheduled notification replaces its own`() async throws {
        try await DiscoveryStage.with { stage in
            let cards = StagedCards()
            let daemon = try await StagedNotificationDaemon(stage, StepStore())
            let key = try await Self.open(cards, daemon, stage)
            let replacing = try await daemon.show("tea", stage)
            #expect(replacing == key)
            try await stage.eventually("the view has ended") {
                cards.window?.hasEnded == true && cards.program?.hasEnded == true
            }
            daemon.crash()
        }
    }

    @Test func `an extension schedules notifications of its application (N-02)`() async throws {
        try await Self.with { receiving, cards, _ in
            await receiving.receiver.setSystem(receiving.host.id)
            try await receiving.stage.eventually("it is opened") { cards.requests.count == 1 }
            let trigger = #""Trigger":{"Milliseconds":60000}"#
            cards.program?.respond(#"{"Schedule":{"Id":"later","Content":{"Title":"Party"},\#(trigger)}}"#)
            try await receiving.stage.eventually("it has the response") { cards.program?.requests.count == 2 }
            let response = try #require(cards.program?.requests.last)
            guard case .success(_?) = ExtensionSchedule.response(in: response) else {
                return #expect(Bool(false), "\(response)")
            }
            let pending = await receiving.receiver.pending.all
            #expect(pending.map(\.key.identifier) == ["later"])
            #expect(pending.first?.sender.application == "calendar" && pending.first?.sender.isLocal == true)
            // The view goes on.
            try cards.reply(.card(Self.card))
            try await receiving.stage.eventually("it is shown") { cards.commands.last == .card(Self.card) }
        }
    }
}
