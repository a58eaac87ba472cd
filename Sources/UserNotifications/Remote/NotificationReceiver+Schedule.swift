// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import ValueSets

/// Notifications that wait for their triggers.
extension NotificationReceiver {
    /// Adds a notification of a program of this system, in place of the one with the same identifier.
    ///
    /// - Returns: the date of its delivery. It has been stored.
    func schedule(_ message: ValueSet, by sender: NotificationSender) async throws(NotificationError) -> Date {
        try self.checkPermission(of: sender)
        return try await self.schedule(try RemoteNotification(local: message), by: sender)
    }

    /// Adds a notification of a program that has the permission.
    ///
    /// - Returns: the date of its delivery. It has been stored.
    func schedule(
        _ notification: RemoteNotification,
        by sender: NotificationSender
    ) async throws(NotificationError) -> Date {
        var notification = notification
        // It is on no other system, and a repeated one is delivered more than once.
        notification.deliveryID = nil
        guard let trigger = notification.request.trigger else {
            throw NotificationError(.triggerInvalid, "The notification has no trigger.", field: "Trigger")
        }
        var location: NotificationLocation?
        if trigger.region != nil {
            // What is refused needs no location, which may take seconds.
            var pending = self.pending
            _ = try pending.add(notification, trigger, from: sender, at: self.clock.date)
            location = try await self.measureLocation()
        }
        await self.checkClock()
        _ = try self.locateAttachments(of: &notification, isLocal: true)
        let key = PendingNotifications.Key(sender: sender, identifier: notification.request.identifier)
        let previous = self.pending[key]
        var entry = try self.pending.add(notification, trigger, from: sender, at: self.clock.date)
        if let location { entry = self.pending.setLocation(location, of: entry) }
        do throws(NotificationError) {
            try await self.commit([.put(try NotificationRecord(entry))])
        } catch {
            // The program learns that it is not scheduled, so it must not be delivered. A later request may have
            // replaced it meanwhile.
            if self.pending[key] == entry {
                self.pending.remove(key)
                if let previous { self.pending.restore(previous, at: self.clock.date) }
            }
            throw error
        }
        self.setAlarm()
        return entry.date
    }

    /// The pending notifications, as a program may read them.
    func pending(for caller: AppServiceCaller) -> [PendingNotifications.Entry] {
        self.pending.all.map { entry in
            var entry = entry
            if caller.isLocal {
                entry.notification = self.withCheckedFiles(entry.notification)
            } else {
                // Another system has neither their files, nor a use for the places of this one's.
                entry.notification.request.content.attachments = []
            }
            return entry
        }
    }

    /// Removes pending notifications. Unknown identifiers are ignored.
    ///
    /// - Returns: how many were removed.
    func cancel(_ identifiers: [String], of sender: NotificationSender) async throws(NotificationError) -> Int {
        let entries = identifiers.compactMap {
            self.pending[PendingNotifications.Key(sender: sender, identifier: $0)]
        }
        for entry in entries { self.pending.remove(entry.key) }
        defer { self.setAlarm() }
        do throws(NotificationError) {
            try await self.commit(entries.map { .remove(.pending, key: NotificationRecord.key(of: $0.key)) })
        } catch {
            // They would come back from the store. One that was scheduled meanwhile stays.
            for entry in entries where self.pending[entry.key] == nil {
                self.pending.restore(entry, at: self.clock.date)
            }
            throw error
        }
        return entries.count
    }

    /// Follows a clock that was set, and a new time zone. What that changes is stored, so that another process counts
    /// in the same way.
    private func checkClock() async {
        let moved = self.pending.follow(SystemTimeZone.current, at: self.clock.date)
        if !moved.isEmpty {
            self.logger.notice(
                "The system's time zone was changed. Pending notifications follow it",
                metadata: ["count": "\(moved.count)"]
            )
            await self.commitOrLog { () throws(NotificationError) in
                try moved.map { entry throws(NotificationError) in .put(try NotificationRecord(entry)) }
            }
        }
        guard let change = self.clockWatch.change(self.clock) else { return }
        self.logger.notice(
            "The system's clock was set. Pending notifications follow it",
            metadata: ["seconds": "\(Int(max(min(change, 1e15), -1e15)))"]
        )
        let changed = self.pending.clockWasSet(by: change, to: self.clock.date)
        await self.commitOrLog { () throws(NotificationError) in
            try changed.map { entry throws(NotificationError) in .put(try NotificationRecord(entry)) }
        }
    }

    /// Delivers the notifications whose date has come, and waits for the next.
    func deliverDue() async {
        await self.checkClock()
        await self.showSnoozed()
        // What becomes due meanwhile is delivered by the next alarm.
        let date = self.clock.date
        while let due = self.pending.takeNextDue(at: date) { await self.deliver(due) }
        self.setAlarm()
    }

    /// Delivers a notification whose date or region has come.
    func deliver(_ due: PendingNotifications.Due) async {
        let sender = due.entry.sender
        guard self.permissions.permission(of: sender) != .denied, (try? self.checkLimits(of: sender)) != nil else {
            // It was permitted when it was added. A repeated one is shown again when it is permitted again.
            self.logger.info(
                "A notification that is due is left out: the user does not permit it, or not so many an hour",
                metadata: ["application": "\(sender.application)"]
            )
            return await self.commitOrLog { () throws(NotificationError) in [try Self.change(after: due)] }
        }
        let notification = due.entry.notification
        let earlier = self.received.entry(notification.request.identifier, of: sender)
        let entry: ReceivedNotifications.Entry
        do throws(NotificationError) {
            let (date, now) = (self.clock.date, self.clock.now)
            entry = try self.received.add(notification, from: sender, name: nil, at: date, now)
        } catch {
            // Too many wait for the user. It is not lost: it waits until there is room.
            self.pending.postpone(due.entry, until: self.clock.date + Self.retryInterval)
            return self.logger.info("A notification is delivered later", metadata: ["reason": "\(error)"])
        }
        self.countForLimits(of: sender)
        let superseded = self.supersede(earlier, by: entry)
        self.reportDelivery(entry)
        let displaced = self.received.takeDisplaced()
        // Together, so that it is neither lost nor delivered again. It is shown even if it cannot be stored: late or
        // twice is better than never.
        await self.commitOrLog { () throws(NotificationError) in
            [try Self.change(after: due)] + (try self.arrival(of: entry))
                + (try self.settle(superseded, .withdrawn)) + (try self.changes(ending: displaced, .expired))
        }
        await self.close(displaced: displaced)
        _ = await self.show(entry)
    }

    /// What becomes of a stored notification that is due.
    private static func change(
        after due: PendingNotifications.Due
    ) throws(NotificationError) -> NotificationStoreChange {
        guard let next = due.next else { return .remove(.pending, key: NotificationRecord.key(of: due.entry.key)) }
        return .put(try NotificationRecord(next))
    }

    private static let retryInterval: TimeInterval = 60

    // MARK: The store

    /// Takes over what an earlier process has stored. Called once, before the service is offered.
    package func restore(_ records: [NotificationRecord]) async {
        // Without the notifications, nothing is known of the files that they need.
        if !(self.store is UnavailableNotificationStore) { await self.restoreAttachments() }
        let (now, date) = (self.clock.now, self.clock.date)
        for record in records {
            do throws(NotificationError) {
                switch record.kind {
                case .pending:
                    var entry = try record.pending()
                    self.relocateAttachments(of: &entry.notification)
                    self.pending.restore(entry, at: date)
                case .received:
                    var (entry, expires) = try record.received()
                    self.relocateAttachments(of: &entry.notification)
                    let rest = expires.map { Duration.seconds(min(max($0.timeIntervalSince(date), 0), 1e9)) }
                    self.received.restore(entry, rest: rest, now)
                    self.restored.insert(entry.key)
                case .response:
                    let (response, sender, deliveryID) = try record.response()
                    self.routing.add(response, to: sender, deliveryID, at: record.date, link: nil)
                case .outbox:
                    var entry = try record.outbox()
                    self.relocateAttachments(of: &entry.notification)
                    self.outbox.restore(entry)
                // They are restored together. The history is read from the store when it is wanted.
                case .state, .badge, .history: break
                case .mirrored: self.restoredMirrored[record.key] = try record.mirrored()
                case .counter: self.received.restore(lastNumber: try record.lastNumber())
                case .place: self.places[record.key] = try record.placedKey()
                case .permission:
                    let (permission, subject) = try record.permission()
                    try self.permissions.set(permission, perHour: try record.perHour(), for: subject)
                }
            } catch {
                if record.kind == .permission { self.restoreDamagedPermission(record) }
                self.logger.error(
                    "A stored notification is unreadable and was left out",
                    metadata: ["kind": "\(record.kind)", "key": "\(record.key)", "reason": "\(error)"]
                )
            }
        }
        await self.restoreStates(records.filter { $0.kind == .state })
        await self.restoreBadges(records.filter { $0.kind == .badge })
        self.collectAttachments()
        (self.presenter as? any PlacedNotificationPresenter)?.adopt(self.places)
    }

    /// What cannot be read is denied: the user has restricted the sender in some way.
    private func restoreDamagedPermission(_ record: NotificationRecord) {
        guard let subject = record.permissionSubject else { return }
        try? self.permissions.set(.denied, for: subject)
    }

    func arrival(of entry: ReceivedNotifications.Entry) throws(NotificationError) -> [NotificationStoreChange] {
        let counter = try NotificationRecord(lastNumber: self.received.lastNumber, at: entry.arrived)
        return [.put(try self.record(entry)), .put(counter)]
    }

    func record(_ entry: ReceivedNotifications.Entry) throws(NotificationError) -> NotificationRecord {
        let date = self.clock.date
        let rest = entry.expires.map { ($0 - self.clock.now).timeInterval }
        return try NotificationRecord(entry, expires: rest.map { date + $0 })
    }

    /// Stores changes, with those that could not be stored earlier.
    ///
    /// - Throws: ``NotificationError``, and the changes are not stored.
    func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) {
        guard !changes.isEmpty else { return }
        try await self.commit(changes, isKept: false)
    }

    /// Stores changes whose failure is not the caller's concern. They are stored later then.
    func commitOrLog(_ changes: () throws(NotificationError) -> [NotificationStoreChange]) async {
        do throws(NotificationError) {
            let changes = try changes()
            guard !changes.isEmpty || self.unsaved.hasFailed else { return }
            try await self.commit(changes, isKept: true)
        } catch {
            self.logger.warning("A change of the notifications was not stored", metadata: ["reason": "\(error)"])
        }
    }

    /// - Parameter isKept: whether the changes are stored later if that fails now.
    private func commit(_ changes: [NotificationStoreChange], isKept: Bool) async throws(NotificationError) {
        guard let store else { return self.collectAttachments() }
        let batch = self.unsaved.begin(changes)
        do throws(NotificationError) {
            try await store.commit(batch.changes)
            self.unsaved.succeeded(batch)
            self.collectAttachments()
        } catch {
            self.unsaved.failed(batch, isKept: isKept)
            if self.unsaved.hasFailed { self.saveLater() }
            throw error
        }
    }

    private func saveLater() {
        guard !self.savesLater else { return }
        self.savesLater = true
        let next = self.clock.now + .seconds(Self.retryInterval)
        _ = self.clock.task(at: next) { [weak self] in await self?.saveUnsaved() }
    }

    private func saveUnsaved() async {
        self.savesLater = false
        await self.commitOrLog { [] }
    }
}
