// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import UserNotificationsUI
internal import ValueSets

/// A view that is open, or ends.
struct NotificationView {
    /// The number of its notification. A later one may have the same key.
    var number: UInt64
    var task: Task<Void, Never>
}

/// Notifications whose custom views the user opens.
extension NotificationReceiver {
    /// The maximum number of views that are open at a time.
    private static let maxCards = 4
    /// The time for an extension to handle an action.
    static let cardResponseTime = Duration.seconds(30)
    /// The time for both programs to start, and for an extension to show something where the texts are hidden.
    private static let cardStartTime = Duration.seconds(10)

    /// Whether a notification has a view that can be shown now.
    func hasCard(_ entry: ReceivedNotifications.Entry) -> Bool { self.cardProblem(of: entry) == nil }

    /// The reason why a notification has no view that can be shown now, as a sentence in lower case; `nil` if it has
    /// one.
    private func cardProblem(of entry: ReceivedNotifications.Entry) -> String? {
        self.cardProblem(of: entry.notification, entry.sender)
    }

    private func cardProblem(of notification: RemoteNotification, _ sender: NotificationSender) -> String? {
        guard let cardPrograms else { return "this system shows none." }
        guard sender.may(.card) else { return "it is of a system of a linked account." }
        guard let category = notification.request.content.categoryIdentifier else { return "it has no category." }
        return cardPrograms.problem(notification.application(of: sender), category)
    }

    /// The category that a notification names and that has no effect: its actions have not come with the notification,
    /// and it has no view that can be shown now. `nil` if there is none.
    func unknownCategory(of notification: RemoteNotification, _ sender: NotificationSender) -> String? {
        guard notification.category == nil, self.cardProblem(of: notification, sender) != nil else { return nil }
        return notification.request.content.categoryIdentifier
    }

    /// Opens the view of a notification for a program of this system. Its programs start afterwards.
    ///
    /// - Throws: ``NotificationError`` that says why it has none now. The notification stays as it is.
    func openView(_ key: String) async throws(NotificationError) {
        guard let entry = self.received[key], entry.readyBy == nil else {
            throw NotificationError(.requestUnknown, "The notification is gone.")
        }
        if let until = entry.snoozedUntil {
            throw NotificationError(.notShown, "The notification is snoozed until \(until.formatted(.iso8601)).")
        }
        if let problem = self.cardProblem(of: entry) {
            throw NotificationError(.notShown, "The notification has no view that can be shown: \(problem)")
        }
        guard self.cards[key] != nil || self.cards.count < Self.maxCards else {
            throw NotificationError(.limitExceeded, "\(Self.maxCards) views are open. Close one of them first.")
        }
        await self.showCard(key)
    }

    /// Opens the view of a notification in its place on the screen. The user reads it there.
    func showCard(_ key: String) async {
        let isOpened = self.openCard(key)
        // Its place stays stored: a process that starts while the view is open shows the notification again there.
        self.received.set(key, isShown: false)
        if isOpened { _ = await self.markRead([key]) }
    }

    /// Opens the view of a notification. It stays in the list meanwhile.
    ///
    /// - Returns: whether it is opened, or open already. Otherwise it is shown again.
    func openCard(_ key: String) -> Bool {
        guard let entry = self.received[key], let cardPrograms else { return false }
        let earlier = self.cards[key]
        guard earlier?.number != entry.number else { return true }
        let isPossible = self.hasCard(entry) && (earlier != nil || self.cards.count < Self.maxCards)
        let task = self.clock.task {
            // The view of the notification that had this key ends.
            await earlier?.task.value
            // The view takes its place on the screen.
            await self.close(entry)
            guard isPossible else {
                let reason = "It has no extension any more, or \(Self.maxCards) views are open."
                return await self.cardFailed(entry, reason)
            }
            await self.run(cardPrograms, entry)
        }
        self.cards[key] = NotificationView(number: entry.number, task: task)
        return isPossible
    }

    /// Whether the view of a notification is open, so that it has left its place on the screen.
    func isInView(_ key: String) -> Bool {
        guard let view = self.cards[key] else { return false }
        return view.number == self.received[key]?.number
    }

    private func cardEnded(_ entry: ReceivedNotifications.Entry) {
        guard self.cards[entry.key]?.number == entry.number else { return }
        self.cards[entry.key] = nil
    }

    private func run(_ programs: any CardPrograms, _ entry: ReceivedNotifications.Entry) async {
        let application = entry.notification.application(of: entry.sender)
        let category = entry.notification.request.content.categoryIdentifier ?? ""
        let starting = self.clock.task { () -> Result<OpenedCard, NotificationError> in
            do throws(NotificationError) {
                return .success(try await programs.open(application, category))
            } catch {
                return .failure(error)
            }
        }
        let opened: OpenedCard
        switch await self.clock.first(within: Self.cardStartTime, { await starting.value }) {
        case .success(let card)?: opened = card
        case .failure(let error)?: return await self.cardFailed(entry, error.message)
        case nil:
            _ = self.clock.task { if let card = try? await starting.value.get() { await card.end() } }
            return await self.cardFailed(entry, "Its programs did not start in time.")
        }
        let isFailure = await self.converse(opened, entry)
        if !isFailure { await self.leftView(entry) }
        await opened.end()
        self.cardEnded(entry)
        if isFailure { await self.cardFailed(entry, "It is not shown any more.") }
    }

    /// The user has closed the view of a notification. It stays in the list. Another process does not show it again.
    private func leftView(_ entry: ReceivedNotifications.Entry) async {
        // When this process ends, its programs end too. One that is snoozed is shown after that.
        guard self.isCurrent(entry), !self.isStopping, !self.isSnoozed(entry.key),
            self.received[entry.key]?.isShown == false, let ended = self.received.setOver(entry.key)
        else { return }
        await self.commitOrLog { () throws(NotificationError) in [.put(try self.record(ended))] }
    }

    /// Nothing is shown, and the click has closed the notification: it is shown again.
    private func cardFailed(_ entry: ReceivedNotifications.Entry, _ reason: String) async {
        self.cardEnded(entry)
        self.logCard(entry, reason)
        guard self.isCurrent(entry), !self.isStopping else { return }
        _ = await self.show(entry, isSilenced: true)
    }

    private func logCard(_ entry: ReceivedNotifications.Entry, _ reason: String) {
        self.logger.warning(
            "The view of a notification has failed",
            metadata: ["application": "\(entry.notification.application(of: entry.sender))", "reason": "\(reason)"]
        )
    }

    /// - Returns: whether nothing was shown.
    private func converse(_ card: OpenedCard, _ entry: ReceivedNotifications.Entry) async -> Bool {
        let events = CardEvents(self.clock)
        let (ends, observation) = self.superseded.add()
        let isOver = !self.isCurrent(entry) || self.isSnoozed(entry.key)
        let application = entry.notification.application(of: entry.sender)
        var tasks = [
            self.clock.task { await self.forwardReplies(of: card.extension, application, to: events) },
            self.clock.task { await Self.forwardEvents(of: card.window, to: events) },
            self.clock.task {
                if isOver { await events.add(.notificationEnded) }
                for await number in ends where number == entry.number { await events.add(.notificationEnded) }
            },
        ]
        defer {
            self.superseded.finish(observation)
            for task in tasks { task.cancel() }
        }
        do throws(NotificationError) {
            card.window.send(try ValueSet.line(CardWindowCommand.open(self.windowContent(card, entry)).valueSet))
            var copied = entry
            copied.notification.request.content = await self.copyFiles(
                of: entry.notification.request.content,
                for: card.extension
            )
            card.extension.send(try ContentExtensionRequest.line(copied))
        } catch {
            self.logCard(entry, "\(error)")
            return true
        }
        if card.hidesDefaultContent {
            tasks.append(self.clock.task(at: self.clock.now + Self.cardStartTime) { await events.add(.cardIsLate) })
        }
        var conversation = CardConversation()
        var deadline: Task<Void, Never>?
        for await event in events.stream {
            for action in conversation.receive(event) {
                switch action {
                case .show(let command): if let line = try? ValueSet.line(command.valueSet) { card.window.send(line) }
                case .ask(let request): if let line = try? request.line { card.extension.send(line) }
                case .awaitsResponse(let awaits):
                    deadline?.cancel()
                    guard awaits else { break }
                    let task = self.clock.task(at: self.clock.now + Self.cardResponseTime) {
                        await events.add(.responseIsLate)
                    }
                    tasks.append(task)
                    deadline = task
                case .respond(let action, let text): await self.respondFromCard(entry, action, text)
                case .dismiss: await self.respondFromCard(entry, .dismiss, nil)
                case .report(let text): self.logCard(entry, text)
                case .finish(let isFailure): return isFailure
                }
            }
        }
        return false
    }

    private func respondFromCard(
        _ entry: ReceivedNotifications.Entry,
        _ action: NotificationActionIdentifier,
        _ text: String?
    ) async {
        guard self.isCurrent(entry) else { return }
        do throws(NotificationError) {
            if action == .dismiss {
                // Before the screen is changed: a later one may take its place meanwhile.
                await self.dismissed(entry.key)
                return await self.close(entry)
            }
            try await self.respond(entry.key, action, text: text)
        } catch {
            self.logCard(entry, "\(error)")
            _ = await self.show(entry, isSilenced: true)
        }
    }

    private func windowContent(_ card: OpenedCard, _ entry: ReceivedNotifications.Entry) -> CardWindowContent {
        let (content, presented) = (entry.notification.request.content, entry.presented)
        var images: [String: String] = [:]
        for attachment in content.attachments where attachment.type.kind == .image {
            images[attachment.identifier] = attachment.url?.path(percentEncoded: false)
        }
        let (application, system) = (presented.applicationName, presented.systemName?.quoted)
        return CardWindowContent(
            title: content.title,
            subtitle: content.subtitle,
            body: content.body,
            hidesTexts: card.hidesDefaultContent,
            sender: presented.isOfCommand
                ? "from \(system ?? "this system")"
                : system.map { "\(application.quoted) · \($0)" } ?? application,
            initialRatio: card.initialRatio,
            actions: (entry.notification.category?.actions ?? []).map(CardWindowAction.init),
            images: images
        )
    }

    private func forwardReplies(
        of program: any ExtensionProgram,
        _ application: String,
        to events: CardEvents
    ) async {
        var reason = "It has closed its output."
        loop: for await output in program.outputs {
            switch output {
            case .line(let line):
                if await self.schedule(line, of: program, application) { continue }
                do throws(NotificationError) {
                    for reply in try ContentExtensionReply.read(line) { await events.add(.reply(reply)) }
                } catch {
                    reason = "A line cannot be used. \(error)"
                    break loop
                }
            case .tooLong:
                reason = "A line is longer than 1 MiB, or too many lines came at once."
                break loop
            }
        }
        await events.add(.extensionEnded(reason))
    }

    private static func forwardEvents(
        of window: any ExtensionProgram,
        to events: CardEvents
    ) async {
        for await output in window.outputs {
            guard case .line(let line) = output, let set = try? ValueSet(json: line),
                let event = try? CardWindowEvent(set)
            else { break }
            await events.add(.window(event))
        }
        await events.add(.windowEnded)
    }
}

/// What happens to a view, for one reader.
private struct CardEvents: Sendable {
    let stream: AsyncStream<CardConversation.Event>
    private let feed: AsyncStream<CardConversation.Event>.Continuation
    private let clock: FeatureClock

    private static let pause = Duration.milliseconds(10)

    init(_ clock: FeatureClock) {
        (self.stream, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(64))
        self.clock = clock
    }

    /// Adds an event. Waits while there are too many, so that a program that writes without end is read as slowly as
    /// the view handles it. Gives up when the view has ended.
    func add(_ event: CardConversation.Event) async {
        while case .dropped = self.feed.yield(event) {
            guard (try? await self.clock.sleep(until: self.clock.now + Self.pause)) != nil else { return }
        }
    }
}

extension OpenedCard {
    /// Ends both programs.
    fileprivate func end() async {
        async let ending = self.extension.end()
        _ = await self.window.end()
        _ = await ending
    }
}
