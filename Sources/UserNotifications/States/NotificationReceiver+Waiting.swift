// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// Notifications that wait, and that the user has read or wants to see later, on all systems.
extension NotificationReceiver {
    /// The time for which a notification can be snoozed, in seconds.
    package static let snoozeSeconds = 60...2_592_000

    /// Hides a notification on all systems of the user until a later time. It stays in the list.
    ///
    /// - Returns: the date at which it is shown again. An earlier snooze may last longer.
    func snooze(_ key: String, for seconds: Int) async throws(NotificationError) -> Date {
        guard Self.snoozeSeconds.contains(seconds) else {
            let range = Self.snoozeSeconds
            throw NotificationError(
                .limitExceeded,
                "A notification can be snoozed for \(range.lowerBound) to \(range.upperBound) seconds (30 days).",
                field: "Seconds"
            )
        }
        let entry = try self.received.check(key, .default, text: nil)
        if let expires = entry.expires, !self.outlasts(entry, seconds) {
            let rest = Int(max((expires - self.clock.now).timeInterval, 0))
            throw NotificationError(
                .limitExceeded,
                "The notification would not be shown again: its time is over in \(rest) seconds. Snooze it for less.",
                field: "Seconds"
            )
        }
        let date = self.clock.date
        // Whole seconds are the same number in memory, in the store and on the wire.
        let end = Date(timeIntervalSince1970: (date.timeIntervalSince1970 + Double(seconds)).rounded(.up))
        let until = max(end, entry.snoozedUntil ?? end)
        await self.mark(NotificationState(status: .waiting, date: date, snoozedUntil: until), of: [entry])
        return until
    }

    /// Whether a notification would be shown again after a snooze.
    private func outlasts(_ entry: ReceivedNotifications.Entry, _ seconds: Int) -> Bool {
        entry.expires.map { $0 > self.clock.now + .seconds(seconds + 1) } ?? true
    }

    /// Whether a notification has the button that hides it until later.
    func offersSnooze(_ entry: ReceivedNotifications.Entry) -> Bool {
        self.snoozeButtonSeconds.map { self.outlasts(entry, $0) } ?? false
    }

    /// The user has chosen the button that hides a notification until later.
    func snoozeChosen(_ key: String) async {
        guard let seconds = self.snoozeButtonSeconds else { return }
        do throws(NotificationError) {
            _ = try await self.snooze(key, for: seconds)
        } catch {
            // Its time is over soon: it stays on the screen until then.
            self.logger.debug("A notification was not snoozed", metadata: ["reason": "\(error)"])
        }
    }

    /// Marks notifications as read on all systems of the user. They still wait.
    ///
    /// - Parameter keys: those that are marked; `nil` for all.
    /// - Returns: how many were not read before.
    func markRead(_ keys: [String]?) async -> Int {
        let keys = keys.map { Set($0) }
        let unread = self.list().filter { !$0.isRead && (keys?.contains($0.key) ?? true) }
        await self.mark(NotificationState(status: .waiting, date: self.clock.date, isRead: true), of: unread)
        return unread.count
    }

    /// What the user has done on this system. The others learn it.
    private func mark(_ state: NotificationState, of entries: [ReceivedNotifications.Entry]) async {
        let changed = entries.compactMap { self.apply(state, to: $0.key) }
        guard !changed.isEmpty else { return }
        self.setAlarm()
        await self.commitOrLog { () throws(NotificationError) in
            let records = changed.compactMap { entry in
                entry.stateKey.map { ($0.record(state), entry.sender.quotaHolder) }
            }
            let senders = Dictionary(records) { first, _ in first }
            var changes = try self.take(senders.mapValues { _ in state }, senders: senders)
            for entry in changed { changes.append(.put(try self.record(entry))) }
            return changes
        }
        for entry in changed { await self.closeSnoozed(entry.key) }
    }

    /// Takes over that a notification was read, or is snoozed.
    ///
    /// - Returns: the entry, which is to be stored, if that is new here.
    func apply(_ state: NotificationState, to key: String) -> ReceivedNotifications.Entry? {
        guard let before = self.received[key], let entry = self.set(state, of: key) else { return nil }
        if entry.isRead != before.isRead { self.report("read", entry) }
        if entry.snoozedUntil != before.snoozedUntil {
            if self.isInView(key) { self.superseded.yield(entry.number) }
            self.report("snoozed", entry)
        }
        return entry
    }

    /// The entry of a notification that has just arrived, with what is known of it from other systems.
    func withKnownState(_ entry: ReceivedNotifications.Entry) -> ReceivedNotifications.Entry {
        guard let delivery = entry.stateKey else { return entry }
        return self.states.waiting(of: delivery).reduce(entry) { self.set($1, of: entry.key) ?? $0 }
    }

    /// - Returns: the entry, if something is new.
    private func set(_ state: NotificationState, of key: String) -> ReceivedNotifications.Entry? {
        // A snooze that is over hides nothing.
        let until = state.snoozedUntil.flatMap { $0 > self.clock.date ? $0 : nil }
        return self.received.set(key, isRead: state.isRead, snoozedUntil: until)
    }

    func isSnoozed(_ key: String) -> Bool { self.received[key]?.snoozedUntil != nil }

    /// Removes a notification from the screen, unless it was replaced by one that is not hidden.
    func closeSnoozed(_ key: String) async {
        guard let presenter, self.isSnoozed(key) else { return }
        await self.inOrder {
            guard await self.isSnoozed(key) else { return }
            await presenter.close(key)
        }
    }

    /// Shows the notifications whose snooze is over, as if they had arrived now.
    func showSnoozed() async {
        let entries = self.received.endSnoozes(at: self.clock.date)
        guard !entries.isEmpty else { return }
        for entry in entries { self.reportDelivery(entry) }
        await self.commitOrLog { () throws(NotificationError) in
            try entries.map { entry throws(NotificationError) in .put(try self.record(entry)) }
        }
        // One that waits for its extension is shown after that.
        let ready = entries.filter { $0.readyBy == nil }
        _ = self.clock.task { for entry in ready { _ = await self.show(entry) } }
    }
}
