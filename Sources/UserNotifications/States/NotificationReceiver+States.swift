// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// Notifications that end on all systems of the user together.
extension NotificationReceiver {
    /// A notification has ended on this system. The others learn it.
    ///
    /// - Returns: what is to be stored.
    func settle(
        _ entries: [ReceivedNotifications.Entry],
        _ status: NotificationState.Status
    ) throws(NotificationError) -> [NotificationStoreChange] {
        let date = self.clock.date
        // A linked account could fill the table with what it withdraws.
        let entries = entries.filter { status != .withdrawn || $0.sender.may(.withdrawnState) }
        let senders = Self.senders(ofEnded: entries)
        return try self.take(senders.mapValues { _ in NotificationState(status: status, date: date) }, senders: senders)
    }

    /// The holders of the senders' quotas, by the keys of the ends.
    private static func senders(
        ofEnded entries: [ReceivedNotifications.Entry]
    ) -> [NotificationState.RecordKey: String] {
        let senders = entries.compactMap { entry in
            entry.stateKey.map { (NotificationState.RecordKey.end($0), entry.sender.quotaHolder) }
        }
        return Dictionary(senders) { first, _ in first }
    }

    /// Takes over what another system knows: removes what has ended there, and hides what is snoozed.
    func merge(_ records: [String: ValueSet], from system: SystemID) async {
        var incoming: [NotificationState.RecordKey: NotificationState] = [:]
        var relayed: Set<NotificationState.RecordKey> = []
        for (text, record) in records {
            guard let state = NotificationState(record), state.counts(at: self.clock.date),
                let key = NotificationState.RecordKey(text, state.status)
            else { continue }
            incoming[key] = state
            if record[NotificationState.relayedField]?.bool ?? false { relayed.insert(key) }
        }
        let waiting = Dictionary(grouping: incoming.filter { $0.key.digest != nil }) { $0.key.digest ?? "" }
        await self.endMirrored(incoming.keys.compactMap(\.ended))
        var (ended, changed) = ([ReceivedNotifications.Entry](), [ReceivedNotifications.Entry]())
        await self.commitOrLog { () throws(NotificationError) in
            ended = self.received.removeAll { $0.stateKey.map { incoming[.end($0)] != nil } ?? false }
            // What concerns this system is not forgotten for what another one publishes besides.
            var own = Self.senders(ofEnded: ended)
            var weaker: Set<NotificationState.RecordKey> = []
            for entry in waiting.isEmpty ? [] : self.received.all {
                guard let delivery = entry.stateKey, let states = waiting[delivery.digest] else { continue }
                // A system that has not received it can repeat what others have published, and state nothing else.
                let records = states.filter { delivery.record($0.value) == $0.key }.map { ($0.key, $0.value) }
                let proved = Dictionary(uniqueKeysWithValues: records)
                let strongest = NotificationStates.strongest(proved)
                weaker.formUnion(proved.keys.filter { strongest[$0] == nil })
                for key in strongest.keys { own[key] = entry.sender.quotaHolder }
                let changes = strongest.values.compactMap { self.apply($0, to: entry.key) }
                if let entry = changes.last { changed.append(entry) }
            }
            var all = try self.take(incoming.filter { own[$0.key] != nil }, senders: own)
            let others = incoming.filter { own[$0.key] == nil && !weaker.contains($0.key) }
            all += try self.take(others.filter { !relayed.contains($0.key) }, from: "\(system)")
            all += try self.take(others.filter { relayed.contains($0.key) }, from: NotificationStates.relays)
            for entry in ended {
                let state = entry.stateKey.flatMap { self.states[.end($0)] ?? incoming[.end($0)] }
                let end = state.flatMap { NotificationEnd($0.status) } ?? .withdrawn
                self.report(end, entry)
                all += try self.changes(ending: [entry], end, isKnown: true)
            }
            for entry in changed { all.append(.put(try self.record(entry))) }
            self.setAlarm()
            return all
        }
        self.reportEnd(ended)
        for entry in ended { await self.close(entry) }
        for entry in changed { await self.closeSnoozed(entry.key) }
    }

    /// Why a notification is not shown that has ended already; `nil` if it has not.
    func end(of notification: RemoteNotification, from sender: NotificationSender) -> NotificationDelivery? {
        guard let id = notification.deliveryID,
            self.states[.end(NotificationState.Key(systemID: sender.systemID, deliveryID: id))] != nil
        else { return nil }
        // A sender learns what the user has done from responses only.
        return NotificationDelivery(.withheld, reason: "It has ended on one of the user's systems.")
    }

    /// Forgets what systems have published that are not trusted any more, and what concerns their notifications.
    ///
    /// - Returns: what is to be stored.
    func forgetStates(
        of isUntrusted: (_ system: String, _ linkedAccount: String?) -> Bool
    ) -> [NotificationStoreChange] {
        let dropped = self.states.removeAll(of: isUntrusted)
        guard !dropped.isEmpty else { return [] }
        self.publish([:], removing: dropped)
        return dropped.map { .remove(.state, key: $0.text) }
    }

    /// Takes over what an earlier process has stored, within the limits. The rest is removed from the store: a topic
    /// with more records than fit would not be published at all.
    ///
    /// - Parameter records: the records of states.
    func restoreStates(_ records: [NotificationRecord]) async {
        for record in records {
            guard let (state, key, sources, sender) = try? record.state() else { continue }
            self.states.restore(state, for: key, from: sources, sender: sender)
        }
        self.states.limit(at: self.clock.date)
        // Keys are compared as the store does.
        let kept = Set(self.states.all.keys.map { Array($0.text.utf8) })
        let excess = records.filter { !kept.contains(Array($0.key.utf8)) }
        guard !excess.isEmpty else { return }
        self.logger.notice(
            "Stored states of notifications that are too old, too many or unreadable are removed",
            metadata: ["removed": "\(excess.count)", "kept": "\(kept.count)"]
        )
        await self.commitOrLog { excess.map { .remove(.state, key: $0.key) } }
    }

    /// Publishes what an earlier process has stored.
    func publishRestoredStates() { self.publish(self.states.all, removing: []) }

    /// - Parameters:
    ///   - source: the system that has published it about its own notifications, or ``NotificationStates/relays``;
    ///     `nil` for what concerns this system.
    ///   - senders: the holders of the quotas of the notifications' senders, for what concerns this system.
    /// - Returns: what is to be stored.
    func take(
        _ incoming: [NotificationState.RecordKey: NotificationState],
        from source: String? = nil,
        senders: [NotificationState.RecordKey: String] = [:]
    ) throws(NotificationError) -> [NotificationStoreChange] {
        let change = self.states.merge(incoming, from: source, senders: senders, at: self.clock.date)
        self.publish(change.put, removing: change.dropped)
        var changes = change.dropped.map { NotificationStoreChange.remove(.state, key: $0.text) }
        for (key, state) in change.put {
            let (sources, sender) = (self.states.sources(of: key), self.states.sender(of: key))
            changes.append(.put(try NotificationRecord(state, of: key, from: sources, sender: sender)))
        }
        return changes
    }

    private func publish(
        _ states: [NotificationState.RecordKey: NotificationState],
        removing dropped: Set<NotificationState.RecordKey>
    ) {
        let records = states.map { key, state in
            var record = state.valueSet
            if self.states.isPassedOn(key) { record[NotificationState.relayedField] = true }
            return (key.text, record)
        }
        do throws(RemoteSystemError) {
            try self.stateTopic.update(
                putting: Dictionary(records) { first, _ in first },
                removing: Set(dropped.map(\.text))
            )
        } catch {
            self.logger.warning("The states of notifications are not published", metadata: ["reason": "\(error)"])
        }
    }
}
