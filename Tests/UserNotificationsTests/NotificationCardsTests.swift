// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// Custom views of notifications, with the programs in this process.
@Suite struct NotificationCardsTests {
    private final class Cards: CardPrograms {
        private let opened = Mutex<[OpenedCard]>([])
        private let error = Mutex<NotificationError?>(nil)
        private let mayEnd: AsyncStream<Void>
        private let ending: AsyncStream<Void>.Continuation

        /// - Parameter endsAtOnce: `false`: the windows end after ``endWindows()``.
        init(endsAtOnce: Bool = true) {
            (self.mayEnd, self.ending) = AsyncStream.makeStream()
            if endsAtOnce { self.ending.finish() }
        }

        func endWindows() { self.ending.finish() }
        func fail(_ error: NotificationError) { self.error.withLock { $0 = error } }
        var count: Int { self.opened.withLock { $0.count } }
        var window: StagedExtensionProgram? { self.opened.withLock { $0.last?.window as? StagedExtensionProgram } }
        var program: StagedExtensionProgram? { self.opened.withLock { $0.last?.extension as? StagedExtensionProgram } }

        func problem(_ application: String, _ category: String) -> String? {
            application == "calendar" && category == "c" ? nil : "there is no extension."
        }

        func open(_ application: String, _ category: String) async throws(NotificationError) -> OpenedCard {
            if let error = self.error.withLock({ $0 }) { throw error }
            let card = OpenedCard(
                extension: StagedExtensionProgram(),
                window: StagedExtensionProgram(mayEnd: self.mayEnd),
                hidesDefaultContent: true,
                initialRatio: 1
            )
            self.opened.withLock { $0.append(card) }
            return card
        }

        func stop() async {
            for card in self.opened.withLock({ $0 }) {
                _ = await card.extension.end()
                _ = await card.window.end()
            }
        }

        /// The commands that the window has received.
        var commands: [CardWindowCommand] {
            (self.window?.requests ?? []).compactMap { line in
                (try? ValueSet(json: line)).flatMap { try? CardWindowCommand($0) }
            }
        }
        /// What the extension has received.
        var requests: [ContentExtensionRequest] {
            (self.program?.requests ?? []).compactMap { try? ContentExtensionRequest($0) }
        }
        func user(_ event: CardWindowEvent) throws { self.window?.respond(try event.valueSet.json()) }
        func reply(_ reply: ContentExtensionReply) throws { self.program?.respond(try reply.line) }
    }

    private static let card = NotificationCard(elements: [.text("Who comes?"), .slider("guests", value: 0.5)])

    private static var invitation: RemoteNotification {
        var notification = ReceivingSystem.question("q")
        notification.targetApplicationID = "calendar"
        return notification
    }

    /// Delivers an invitation whose view the user opens.
    private static func with(
        endsAtOnce: Bool = true,
        _ body: (ReceivingSystem, Cards, RemoteNotificationConnection) async throws -> Void
    ) async throws {
        try await ReceivingSystem.with { receiving in
            let cards = Cards(endsAtOnce: endsAtOnce)
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
        try await AttachmentDeliveryTests.Files.with { files in
            try await ReceivingSystem.with(attachments: files.received) { receiving in
                let cards = Cards()
                await receiving.receiver.setCards(cards)
                let connection = try await receiving.connect()
                var invitation = Self.invitation
                let image = TestFile.wholePNG()
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
            await receiving.receiver.setCards(Cards())
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
            await receiving.receiver.received(.closed(identifier: key, reason: .dismissed))
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
                await receiving.receiver.received(.closed(identifier: key, reason: .dismissed))
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

    @Test func `only a category of an installed application has a view, and not one of a linked account (N-35)`()
        async throws
    {
        try await ReceivingSystem.with { receiving in
            let cards = Cards()
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

    @Test func `a program of this system opens a view, as the button does, or learns why not (N-13)`() async throws {
        try await ReceivingSystem.with { receiving in
            let cards = Cards()
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
            let cards = Cards()
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
        _ cards: Cards,
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
            let (store, cards) = (StepStore(), Cards())
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
            let (store, cards) = (StepStore(), Cards())
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

    // MARK: The process of the extension

    private actor Invitations: NotificationContentExtension {
        private var isPrepared = false
        private var guests = 0.0

        init() {}

        func prepare() async throws { self.isPrepared = true }

        func didReceive(
            _ notification: DeliveredNotification,
            _ context: NotificationCardContext
        ) async throws -> NotificationCard {
            NotificationCard(elements: [.text("\(notification.request.content.title) \(self.isPrepared)")])
        }

        func didReceive(
            _ response: NotificationCardResponse,
            _ context: NotificationCardContext
        ) async throws -> ContentExtensionResponseOption {
            guard response.actionIdentifier != "fail" else { throw CancellationError() }
            try context.update(NotificationCard(elements: [.text("\(self.guests) \(response.userText ?? "")")]))
            return .dismiss
        }

        func didChange(_ change: NotificationCardChange, _ context: NotificationCardContext) async throws {
            guard let guests = change.values["guests"]?.double else { throw CancellationError() }
            self.guests = guests
        }
    }

    @Test func `the program prepares itself, serves one view, and forwards what it cannot handle (N-34, N-48)`()
        async throws
    {
        let notification = DeliveredNotification(
            request: NotificationRequest(identifier: "q", content: NotificationContent(title: "Party")),
            date: Date(timeIntervalSince1970: 1)
        )
        let requests: [ContentExtensionRequest] = [
            .notification(notification),
            .change(NotificationCardChange(identifier: "guests", values: ["guests": 3.0])),
            .change(NotificationCardChange(identifier: "other")),
            .response(NotificationCardResponse(actionIdentifier: "fail")),
            .response(NotificationCardResponse(actionIdentifier: "comment", userText: "ok")),
        ]
        for request in requests { #expect(try ContentExtensionRequest(request.line) == request) }
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        for request in requests { feed.yield(try request.line) }
        feed.finish()
        let written = Mutex<[String]>([])
        let logged = Mutex(0)
        try await ContentExtensionMain.serve(Invitations(), lines) { line in
            written.withLock { $0.append(line) }
        } log: { _ in
            logged.withLock { $0 += 1 }
        }
        let replies = try written.withLock { $0 }.flatMap { try ContentExtensionReply.read($0) }
        #expect(
            replies == [
                .card(NotificationCard(elements: [.text("Party true")])), .option(.dismissAndForwardAction),
                .card(NotificationCard(elements: [.text("3.0 ok")])), .option(.dismiss),
            ]
        )
        #expect(logged.withLock { $0 } == 2)
    }

    @Test(arguments: [
        "no JSON", "{}", #"{"Card":7}"#, #"{"Option":"Stay"}"#, #"{"Actions":[{"Id":"a"}]}"#, #"{"Card":{}}"#,
    ])
    func `a reply that cannot be used is an error`(line: String) {
        #expect(throws: NotificationError.self) { try ContentExtensionReply.read(line) }
    }

    @Test func `a reply may have several parts, as a script writes them (N-32)`() throws {
        let line = #"{"Card":{"Elements":[]},"Actions":[{"Id":"a","Title":"A"}],"Option":"DoNotDismiss"}"#
        #expect(
            try ContentExtensionReply.read(line) == [
                .card(NotificationCard(elements: [])), .actions([NotificationAction(identifier: "a", title: "A")]),
                .option(.doNotDismiss),
            ]
        )
        #expect(try ContentExtensionReply.read(#"{"PerformDefaultAction":true}"#) == [.performDefaultAction])
    }
}
