// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystems
internal import ValueSets

/// Showing notifications, in their order.
extension NotificationReceiver {
    func show(_ entry: ReceivedNotifications.Entry, isSilenced: Bool = false) async -> NotificationDelivery {
        guard let presenter else {
            return NotificationDelivery(.kept, reason: "The system has no desktop that shows notifications.")
        }
        // Before its turn: others do not wait for a large file, or for a slow application.
        let entry = await self.checkAttachments(of: entry)
        async let isHeardElsewhere = isSilenced ? true : self.isHeardElsewhere(entry)
        let presentation = isSilenced ? .all : await self.presentation(of: entry)
        let soundPath = isSilenced ? nil : await self.soundPath(of: entry)
        let isSilenced = await isHeardElsewhere
        let failure = await self.inOrder {
            // A later notification may have replaced it, or the sender has withdrawn it.
            guard await self.isCurrent(entry) else { return .superseded as NotificationDelivery? }
            guard await !self.isSnoozed(entry.key) else {
                // It may replace one that is shown.
                await presenter.close(entry.key)
                return NotificationDelivery.snoozed
            }
            do {
                guard await self.permissions.permission(of: entry.sender) != .denied else {
                    await self.discard(entry)
                    return NotificationDelivery(.withheld, reason: "The user does not permit these notifications.")
                }
                if presentation.contains(.badge) { await self.setBadge(of: entry.notification, entry.sender) }
                var presented = entry.presented
                guard !presentation.isDisjoint(with: [.banner, .list]) else {
                    await self.discard(entry)
                    return NotificationDelivery(.withheld, reason: "The application shows it itself.")
                }
                if await self.hasCard(entry) { presented.addCardAction() }
                if await self.offersSnooze(entry) { presented.addSnoozeAction() }
                presented.isSilenced = isSilenced || !presentation.contains(.sound)
                presented.soundPath = soundPath
                if await self.permissions.permission(of: entry.sender) == .silent {
                    presented.isSilenced = true
                    presented.content.interruptionLevel = .passive
                }
                if !presentation.contains(.banner) { presented.content.interruptionLevel = .passive }
                await self.presents(entry)
                try await presenter.show(presented)
                await self.shown(entry.key)
                return nil
            } catch {
                let reason = (error as? NotificationError)?.message ?? "The notification server does not respond."
                return NotificationDelivery(.kept, reason: reason)
            }
        }
        guard let failure else { return NotificationDelivery(.shown) }
        self.logger.info("A notification was not shown", metadata: ["reason": "\(failure.reason ?? "")"])
        return failure
    }

    /// Shows again what an earlier process has shown, without a sound.
    func showRestored() {
        let restored = self.received.all.filter {
            self.restored.contains($0.key) && !$0.isOver && $0.snoozedUntil == nil
        }
        self.restored = []
        guard self.presenter != nil, !restored.isEmpty else { return }
        self.countPossiblyShownTwice(restored)
        _ = self.clock.task { for entry in restored { _ = await self.show(entry, isSilenced: true) } }
    }

    /// Where the screen survives the process, a notification without a place was not shown, or was shown in the moment
    /// before its place would have been stored. One that others keep from the screen now was not shown then either.
    private func countPossiblyShownTwice(_ entries: [ReceivedNotifications.Entry]) {
        guard let presenter = self.presenter as? any PlacedNotificationPresenter else { return }
        let placed = Set(self.places.values)
        let shown = presenter.shownTogether(of: entries.map(\.presented))
        self.possiblyShownTwice = shown.count { !placed.contains($0.identifier) }
        guard self.possiblyShownTwice > 0 else { return }
        self.logger.notice(
            "It is not known whether an earlier process has shown some notifications. They may be on the screen twice",
            metadata: ["count": "\(self.possiblyShownTwice)"]
        )
    }

    func isCurrent(_ entry: ReceivedNotifications.Entry) -> Bool {
        self.received[entry.key]?.number == entry.number
    }

    /// How the sender wants it to be shown. A sender that does not respond has no say.
    func presentation(of entry: ReceivedNotifications.Entry) async -> NotificationPresentation {
        guard let link = self.foreground[entry.sender], let connection = self.connections[link] else { return .all }
        let response = try? await connection.send(NotificationMessage.present(entry.notification), timeout: .seconds(2))
        guard let response, response.status == .success, let number = response.message["Presentation"]?.int else {
            return .all
        }
        return NotificationPresentation(rawValue: number)
    }

    /// Removes a notification that is not to be shown, and an earlier one that it replaces from the screen. Called in
    /// order with the presenter's calls.
    private func discard(_ entry: ReceivedNotifications.Entry) async {
        guard self.isCurrent(entry) else { return }
        self.received.remove(entry.key)
        self.setAlarm()
        self.report(.withdrawn, entry)
        await self.presenter?.close(entry.key)
        await self.commitOrLog { [.remove(.received, key: entry.key)] }
    }

    func presents(_ entry: ReceivedNotifications.Entry) { self.received.present(entry) }

    func shown(_ key: String) {
        // The user has snoozed it meanwhile. It is closed next.
        guard !self.isSnoozed(key) else { return }
        self.received.set(key, isShown: true)
    }

    /// Stores where the presenter shows notifications, as long as it does. Otherwise the next process would show them a
    /// second time, and leave those on the screen that have ended.
    func storePlaces() async {
        guard let presenter = self.presenter as? any PlacedNotificationPresenter else { return }
        for await places in presenter.places { await self.set(places: places) }
    }

    /// The presenter shows notifications at these places, and at no others.
    func set(places: [String: String]) async {
        let gone = self.places.keys.filter { places[$0] == nil }
        let new = places.filter { self.places[$0.key] != $0.value }
        self.places = places
        await self.commitOrLog { () throws(NotificationError) in
            var changes = gone.map { NotificationStoreChange.remove(.place, key: $0) }
            for (place, key) in new {
                changes.append(.put(try NotificationRecord(place: place, of: key, at: self.clock.date)))
            }
            return changes
        }
    }

    func close(_ entry: ReceivedNotifications.Entry) async {
        guard let presenter else { return }
        await self.inOrder { await presenter.close(entry.key) }
    }

    func inOrder<Result: Sendable>(_ call: @escaping @Sendable () async -> Result) async -> Result {
        await self.presenterCalls.begin(self.clock, call).value
    }

    /// Follows what the user does, until the presenter ends.
    func receiveEvents(of presenter: any NotificationPresenter) async {
        for await event in presenter.events { self.received(event) }
        await self.eventCalls.begin(self.clock) {}.value
    }

    /// Begins to handle what the user does, after what the user has done before.
    ///
    /// What the user has seen is looked up at once: while the earlier events are stored, a later text may take the
    /// place of the notification.
    @discardableResult
    func received(_ event: NotificationPresenterEvent) -> Task<Void, Never> {
        let key =
            switch event {
            case .activated(let key, _, _, _), .closed(let key, _): key
            }
        let seen = self.received[key]?.presentedNumber
        return self.eventCalls.begin(self.clock) { await self.handle(event, seen: seen) }
    }

    /// - Parameter seen: the number of the notification that the presenter had when the user did this.
    private func handle(_ event: NotificationPresenterEvent, seen: UInt64?) async {
        switch event {
        case .activated(let key, let action, let text, let token):
            // The user has seen another text, and is asked again.
            guard self.received.isCurrent(key, seen) else { return }
            if action == .openCard { return await self.showCard(key) }
            if action == .snooze { return await self.snoozeChosen(key) }
            do throws(NotificationError) {
                let entry = try await self.answer(key, action, text: text, activationToken: token)
                // What the user does next is read meanwhile.
                _ = self.clock.task { await self.close(entry) }
            } catch {
                self.logger.debug("A response was not accepted", metadata: ["reason": "\(error)"])
            }
        // Servers close a notification after a click.
        case .closed(let key, _) where self.isInView(key): break
        // So they do after a click on the button that hides it until later. It is not dismissed.
        case .closed(let key, _) where self.isSnoozed(key): self.received.set(key, isShown: false)
        case .closed(let key, .expired):
            // It stays in the list. Another process does not show it again.
            guard self.received.isCurrent(key, seen), let entry = self.received.setOver(key) else { return }
            await self.commitOrLog { () throws(NotificationError) in [.put(try self.record(entry))] }
        case .closed(let key, .dismissed):
            guard self.received.isCurrent(key, seen) else { return }
            await self.dismissed(key)
        case .closed(let key, _):
            self.received.set(key, isShown: false)
        }
    }

    /// The user has dismissed a notification.
    func dismissed(_ key: String) async {
        guard let entry = self.received.remove(key) else { return }
        self.setAlarm()
        self.report(.dismissed, entry)
        let isReported = entry.notification.category?.options.contains(.customDismissAction) == true
        guard isReported, (try? self.routing.checkRoom(for: entry.sender, link: entry.link)) != nil else {
            // It is gone from the screen, also if its sender does not learn that.
            return await self.commitOrLog { () throws(NotificationError) in
                try self.changes(ending: [entry], .dismissed)
            }
        }
        await self.responded(entry, .dismiss, nil)
    }
}
