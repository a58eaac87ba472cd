// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// Custom views of notifications, with the programs in this process. What may open them, and what remains of them after
/// a restart, is in `OpenedCardsTests.swift`.
@Suite struct NotificationCardsTests {
    static let card = NotificationCard(elements: [.text("Who comes?"), .slider("guests", value: 0.5)])

    static var invitation: RemoteNotification {
        var notification = ReceivingSystem.question("q")
        notification.targetApplicationID = "calendar"
        return notification
    }

    /// Delivers an invitation whose view the user opens.
    static func with(
        endsAtOnce: Bool = true,
        _ body: (ReceivingSystem, StagedCards, RemoteNotificationConnection) async throws -> Void
    ) async throws {
        try await ReceivingSystem.with { receiving in
            let cards = StagedCards(endsAtOnce: endsAtOnce)
            await receiving.receiver.setCards(cards)
            let connection = try await receiving.connect()
            #expect(try await connection.deliver(Self.invitation).status == .shown)
            let shown = try #require(receiving.screen.shown.first)
            // The button comes before those of the sender.
            #expect(
                shown.category?.actions.map(\.identifier.rawValue) == ["remote-systems.open-card", "yes", "comment"]
            )
            receiving.screen.choose(.openCard, on: shown.identifier)
            try await body(receiving, cards, connection)
            await connection.close()
        }
    }

    @Test func `the button of a notification opens its view, with what was sent (N-13, N-27, N-33, N-37, N-40)`()
        async throws
    {
        try await Self.with { receiving, cards, _ in
            try await receiving.stage.eventually("it is opened") {
                cards.commands.count == 1 && cards.requests.count == 1
            }
            guard case .open(let content)? = cards.commands.first,
                case .notification(let notification)? = cards.requests.first
            else { return #expect(Bool(false)) }
            #expect(content.title == "Deploy?" && content.hidesTexts && content.initialRatio == 1)
            #expect(content.actions.map(\.identifier) == ["yes", "comment"] && content.sender.contains(" · "))
            #expect(notification.request.identifier == "q" && notification.request.content.title == "Deploy?")
            #expect(notification.category?.actions.count == 2)
            try cards.reply(.card(Self.card))
            try await receiving.stage.eventually("it is shown") { cards.commands.last == .card(Self.card) }
            // It waits for the user in the list, and the view is opened once.
            #expect(await receiving.receiver.list().count == 1)
            // The view has its place on the screen.
            #expect(receiving.screen.shown.isEmpty)
            let key = try #require(receiving.screen.history.first).identifier
            #expect(await receiving.receiver.openCard(key))
            #expect(cards.count == 1)
        }
    }

    @Test func `the extension has a copy of an attachment, and the window the file itself (N-41, N-42)`() async throws {
        try await AttachmentFiles.with { files in
            try await ReceivingSystem.with(attachments: files.received) { receiving in
                let cards = StagedCards()
                await receiving.receiver.setCards(cards)
                let connection = try await receiving.connect()
                var invitation = Self.invitation
                let image = TestFile.png()
                invitation.request.content.attachments = [
                    try NotificationAttachment(identifier: "map", url: try files.file("map", image))
                ]
                #expect(try await connection.deliver(invitation).status == .shown)
                let shown = try #require(receiving.screen.shown.first)
                let kept = try #require(shown.content.attachments.first?.url)
                receiving.screen.choose(.openCard, on: shown.identifier)
                try await receiving.stage.eventually("it is opened") {
                    cards.commands.count == 1 && cards.requests.count == 1
                }
                guard case .open(let content)? = cards.commands.first,
                    case .notification(let notification)? = cards.requests.first
                else { return #expect(Bool(false)) }
                #expect(content.images == ["map": kept.path(percentEncoded: false)])
                let copy = try #require(notification.request.content.attachments.first?.url)
                let bytes = try Data(contentsOf: copy)
                #expect(copy != kept && bytes == Data(image))
                cards.window?.crash()
                try await receiving.stage.eventually("the extension has ended") { cards.program?.hasEnded == true }
                await connection.close()
            }
        }
    }

    @Test func `a category needs no actions if the application has a view for it (N-29)`() async throws {
        try await ReceivingSystem.with { receiving in
            await receiving.receiver.setCards(StagedCards())
            let connection = try await receiving.connect()
            var notification = Self.invitation
            notification.category = nil
            #expect(try await connection.deliver(notification) == NotificationDelivery(.shown))
            notification.targetApplicationID = "another"
            #expect(try await connection.deliver(notification).reason?.contains("the category 'c'") == true)
            await connection.close()
        }
    }

    @Test func `who opens the view of a notification has read it, and a snooze closes the view (X-40)`() async throws {
        try await Self.with { receiving, cards, _ in
            try await receiving.stage.eventually("it is read") {
                await receiving.receiver.list().map(\.isRead) == [true] && cards.count == 1
            }
            let key = try #require(await receiving.receiver.list().first?.key)
            let until = try await receiving.receiver.snooze(key, for: 60)
            try await receiving.stage.eventually("the view is closed") { await !receiving.receiver.isInView(key) }
            #expect(receiving.screen.shown.isEmpty)
            #expect(await receiving.receiver.list().map(\.snoozedUntil) == [until])
        }
    }

    @Test func `the server's close report after the click does not dismiss the notification (N-43, N-45)`()
        async throws
    {
        try await Self.with { receiving, cards, connection in
            try await receiving.stage.eventually("it is opened") { cards.commands.count == 1 }
            let key = try #require(receiving.screen.history.first).identifier
            await receiving.receiver.received(.closed(identifier: key, reason: .dismissed)).value
            #expect(await receiving.receiver.list().count == 1)
            try cards.user(.closed)
            try await receiving.stage.eventually("it is closed") { cards.window?.hasEnded == true }
            #expect(cards.program?.hasEnded == true)
            #expect(await receiving.receiver.list().count == 1)
        }
    }

    @Test func `one that replaces another whose view still ends is opened afterwards, or dismissed`() async throws {
        for isOpened in [true, false] {
            try await Self.with(endsAtOnce: false) { receiving, cards, connection in
                try await receiving.stage.eventually("it is opened") { cards.commands.count == 1 }
                #expect(try await connection.deliver(Self.invitation).status == .shown)
                try await receiving.stage.eventually("the view ends") { cards.window?.hasEnded == true }
                let key = try #require(receiving.screen.shown.first).identifier
                if isOpened { receiving.screen.choose(.openCard, on: key) }
                try await receiving.stage.settle()
                // Servers close a notification after a click.
                await receiving.receiver.received(.closed(identifier: key, reason: .dismissed)).value
                try await receiving.stage.settle()
                #expect(cards.count == 1)
                #expect(await receiving.receiver.list().count == (isOpened ? 1 : 0))
                cards.endWindows()
                guard isOpened else { return }
                try await receiving.stage.eventually("it is opened, too") {
                    cards.count == 2 && cards.commands.count == 1
                }
            }
        }
    }

    @Test func `a window that hides the texts and stays empty is closed after 10 s, and they are shown again`()
        async throws
    {
        try await Self.with { receiving, cards, _ in
            try await receiving.stage.eventually("it is opened") { cards.requests.count == 1 }
            try await receiving.stage.advance(by: .milliseconds(9_900))
            #expect(cards.window?.hasEnded == false)
            try await receiving.stage.advance(by: .milliseconds(200))
            try await receiving.stage.eventually("it is shown again") { receiving.screen.history.count == 2 }
            #expect(cards.window?.hasEnded == true && cards.program?.hasEnded == true)
        }
    }

    @Test func `an action goes through the extension to the sender (N-30, N-47, N-49)`() async throws {
        try await Self.with { receiving, cards, connection in
            try await receiving.stage.eventually("it is opened") { cards.requests.count == 1 }
            try cards.reply(.card(Self.card))
            try cards.user(.changed("guests", values: ["guests": 0.7]))
            try cards.user(.action("yes", text: nil, values: ["guests": 0.7]))
            let response = NotificationCardResponse(actionIdentifier: "yes", values: ["guests": 0.7])
            try await receiving.stage.eventually("the extension has it") { cards.requests.last == .response(response) }
            #expect(cards.requests[1] == .change(NotificationCardChange(identifier: "guests", values: ["guests": 0.7])))
            #expect(cards.commands.last == .busy(true))
            // It shows the effect first.
            let thanks = NotificationCard(elements: [.text("Thanks")])
            try cards.reply(.card(thanks))
            try await receiving.stage.eventually("the effect") { cards.commands.last == .card(thanks) }
            #expect(await receiving.receiver.list().count == 1)
            try cards.reply(.option(.dismissAndForwardAction))
            var responses = connection.responses.makeAsyncIterator()
            let received = await responses.next()
            #expect(received?.requestIdentifier == "q" && received?.actionIdentifier == "yes")
            #expect(await receiving.receiver.list().isEmpty)
            try await receiving.stage.eventually("it is closed") { cards.window?.hasEnded == true }
        }
    }

    @Test func `an action that is late is forwarded after 30 s (N-48, N-50)`() async throws {
        try await Self.with { receiving, cards, connection in
            try await receiving.stage.eventually("it is opened") { cards.requests.count == 1 }
            try cards.reply(.card(Self.card))
            try cards.user(.action("yes", text: nil, values: [:]))
            try await receiving.stage.eventually("the extension has it") { cards.requests.count == 2 }
            try await receiving.stage.advance(by: .milliseconds(29_900))
            #expect(await receiving.receiver.list().count == 1)
            try await receiving.stage.advance(by: .milliseconds(200))
            var responses = connection.responses.makeAsyncIterator()
            #expect(await responses.next()?.actionIdentifier == "yes")
        }
    }

    @Test func `a notification that ends elsewhere closes its view`() async throws {
        try await Self.with { receiving, cards, connection in
            try await receiving.stage.eventually("it is opened") { cards.commands.count == 1 }
            #expect(try await connection.withdraw(["q"]) == 1)
            try await receiving.stage.eventually("it is closed") {
                cards.window?.hasEnded == true && cards.program?.hasEnded == true
            }
        }
    }

    @Test func `an extension that crashes at once leaves the texts and the actions, on the screen again`()
        async throws
    {
        try await Self.with { receiving, cards, _ in
            try await receiving.stage.eventually("it is opened") { cards.program != nil }
            cards.program?.crash()
            try await receiving.stage.eventually("it is shown again") { receiving.screen.history.count == 2 }
            #expect(cards.window?.hasEnded == true)
            // A line that cannot be used, too; and one that does not start.
            let key = try #require(receiving.screen.shown.first).identifier
            #expect(key == receiving.screen.history.first?.identifier)
            receiving.screen.choose(.openCard, on: key)
            try await receiving.stage.eventually("it is opened again") { cards.count == 2 }
            cards.program?.respond(#"{"Card":{"Elements":[{"Type":"Video"}]}}"#)
            try await receiving.stage.eventually("it is shown again") { receiving.screen.history.count == 3 }
            cards.fail(NotificationError(.notShown, "There is no display."))
            receiving.screen.choose(.openCard, on: key)
            try await receiving.stage.eventually("it is shown again") { receiving.screen.history.count == 4 }
            #expect(await receiving.receiver.list().count == 1)
            #expect(receiving.screen.history.map(\.isSilenced) == [false, true, true, true])
        }
    }
}
