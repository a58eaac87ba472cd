// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsTransport

/// The notifications that wait for their triggers.
struct PendingNotifications {
    struct Key: Sendable, Hashable {
        var sender: NotificationSender
        var identifier: String
    }

    struct Entry: Sendable, Hashable {
        var sender: NotificationSender
        /// The notification. Its request has a trigger.
        var notification: RemoteNotification
        var trigger: NotificationTrigger
        /// The date from which the next delivery counts: when it was added, or was last delivered.
        var anchor: Date
        /// The date of the next delivery; the distant future for one that waits for a region.
        var date: Date
        /// Whether the user was in the region; `nil` if it is not known, or for another trigger.
        var isInside: Bool?

        var key: Key { Key(sender: self.sender, identifier: self.notification.request.identifier) }
    }

    /// A notification that is due.
    struct Due: Sendable, Hashable {
        var entry: Entry
        /// The entry that waits for the next date; `nil` if there is none.
        var next: Entry?
    }

    private var entries: [Key: Entry] = [:]
    /// The notifications by applications.
    private var counts = KeyedLimiter<String>(total: Self.maxOfAll, perKey: Self.max)
    /// The dates of the entries that have one, and the radii of their regions: both are read after every change.
    private var dates: [Key: Date] = [:]
    private var radii: [Key: Double] = [:]

    /// The time zone of the system, for triggers without one.
    private var zone: TimeZone

    init(zone: TimeZone = SystemTimeZone.current) { self.zone = zone }

    /// All entries, the next first.
    var all: [Entry] { self.entries.values.sorted(by: Self.precedes) }

    func entries(of sender: NotificationSender) -> [Entry] {
        self.entries.values.filter { $0.sender == sender }.sorted(by: Self.precedes)
    }

    private static func precedes(_ one: Entry, _ other: Entry) -> Bool {
        guard one.date == other.date else { return one.date < other.date }
        return one.key.identifier < other.key.identifier
    }

    subscript(key: Key) -> Entry? { self.entries[key] }

    /// The date of the next delivery.
    var next: Date? { self.dates.values.min() }

    /// The smallest radius of the regions that are waited for; `nil` if there is none.
    var smallestRadius: Double? { self.radii.values.min() }

    /// Adds a notification, in place of the one of the same sender with the same identifier.
    ///
    /// - Throws: ``NotificationError`` with `triggerInvalid` if it can never be delivered or in more than ten years,
    ///   or `tooManyPending`.
    mutating func add(
        _ notification: RemoteNotification,
        _ trigger: NotificationTrigger,
        from sender: NotificationSender,
        at date: Date
    ) throws(NotificationError) -> Entry {
        guard let next = trigger.region == nil ? trigger.nextTriggerDate(after: date, in: self.zone) : .distantFuture
        else {
            throw NotificationError(.triggerInvalid, "There is no such date in the future.", field: "trigger")
        }
        try trigger.checkDistance(of: next, from: date)
        let entry = Entry(sender: sender, notification: notification, trigger: trigger, anchor: date, date: next)
        if trigger.region != nil, self.entries[entry.key]?.trigger.region == nil {
            try self.checkRegions(of: sender.application)
        }
        if self.entries[entry.key] == nil {
            switch self.counts.capacity(for: sender.application) {
            case .free: break
            case .fullForKey:
                throw NotificationError(
                    .tooManyPending,
                    "The application '\(sender.application)' has \(Self.max) pending notifications. Remove one, or add "
                        + "this one later. 'remotesystems notifications pending' lists them."
                )
            case .full:
                throw NotificationError(
                    .tooManyPending,
                    "The applications of this system have \(Self.maxOfAll) pending notifications together. Remove "
                        + "some of them."
                )
            }
        }
        self.insert(entry)
        return entry
    }

    private func checkRegions(of application: String) throws(NotificationError) {
        let regions = self.entries.values.filter { $0.trigger.region != nil }
        guard regions.count(where: { $0.sender.application == application }) < Self.maxRegions,
            regions.count < Self.maxRegionsOfAll
        else {
            throw NotificationError(
                .tooManyPending,
                "At most \(Self.maxRegions) notifications of an application, and \(Self.maxRegionsOfAll) in all, can "
                    + "wait for a region. Remove one that waits."
            )
        }
    }

    private static let (maxRegions, maxRegionsOfAll) = (20, 64)
    private static let max = NotificationLimits.pendingRequests
    /// An application is only claimed. A list of as many fits into a message.
    private static let maxOfAll = 512

    private mutating func insert(_ entry: Entry) {
        self.dates[entry.key] = entry.date < .distantFuture ? entry.date : nil
        self.radii[entry.key] = entry.trigger.region?.radius
        if self.entries.updateValue(entry, forKey: entry.key) == nil {
            self.counts.add(1, for: entry.sender.application)
        }
    }

    /// Adds an entry that was stored.
    mutating func restore(_ entry: Entry, at date: Date) {
        let isSetBack = Self.isSetBack(from: entry.anchor, to: date)
        self.insert(isSetBack ? self.restarted(entry, at: date) : self.inZone(entry, at: date))
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Entry? {
        guard let entry = self.entries.removeValue(forKey: key) else { return nil }
        self.dates[key] = nil
        self.radii[key] = nil
        self.counts.leave(key.sender.application)
        return entry
    }

    /// Takes the next notification that is due, in the order of their dates. Each is due once, however late it is.
    ///
    /// One at a time: while one is delivered, others may be cancelled or replaced.
    mutating func takeNextDue(at date: Date) -> Due? {
        guard
            let entry = self.dates.filter({ $0.value <= date }).compactMap({ self.entries[$0.key] })
                .min(by: Self.precedes)
        else { return nil }
        self.remove(entry.key)
        guard entry.trigger.repeats else { return Due(entry: entry, next: nil) }
        var next = entry
        guard entry.trigger.region == nil else {
            // The next crossing follows.
            next.date = .distantFuture
            self.insert(next)
            return Due(entry: entry, next: next)
        }
        next.anchor = entry.trigger.anchor(afterDeliveryAt: date, due: entry.date)
        guard let nextDate = entry.trigger.nextTriggerDate(after: next.anchor, in: self.zone) else {
            return Due(entry: entry, next: nil)
        }
        next.date = nextDate
        self.insert(next)
        return Due(entry: entry, next: next)
    }

    /// Where the user is when a notification is added: one who is inside already has not entered.
    mutating func setLocation(_ location: NotificationLocation, of entry: Entry) -> Entry {
        guard let region = entry.trigger.region, self.entries[entry.key] == entry else { return entry }
        var entry = entry
        entry.isInside = region.contains(location, before: nil)
        self.insert(entry)
        return entry
    }

    /// The user is at a location.
    ///
    /// What waits for a crossing that has happened is due at once (``takeNextDue(at:)``).
    ///
    /// - Returns: the entries that have changed.
    mutating func located(_ location: NotificationLocation, at date: Date) -> [Entry] {
        var changed: [Entry] = []
        for entry in self.all {
            guard let region = entry.trigger.region,
                let isInside = region.contains(location, before: entry.isInside), isInside != entry.isInside
            else { continue }
            var next = entry
            next.isInside = isInside
            // The first location is where the user was when it was added.
            let isWanted = isInside ? region.notifiesOnEntry : region.notifiesOnExit
            if entry.isInside != nil, isWanted { next.date = min(next.date, date) }
            self.insert(next)
            changed.append(next)
        }
        return changed
    }

    /// Delivers a notification later that was due, unless a later one has the same identifier.
    mutating func postpone(_ entry: Entry, until date: Date) {
        // The next date of a repeated one.
        let next = self.entries[entry.key]
        guard next == nil || next?.notification == entry.notification else { return }
        var entry = entry
        entry.date = next.map { min($0.date, date) } ?? date
        self.insert(entry)
    }

    /// The system's clock was set. Time intervals keep their remaining time, calendar dates follow the clock.
    ///
    /// - Returns: the entries that were changed.
    mutating func clockWasSet(by change: TimeInterval, to date: Date) -> [Entry] {
        var changed: [Entry] = []
        for var entry in self.entries.values {
            switch entry.trigger.condition {
            case .timeInterval:
                entry.anchor += change
                entry.date += change
            case .calendar:
                guard Self.isSetBack(from: entry.anchor, to: date) else { continue }
                entry = self.restarted(entry, at: date)
            case .location: continue
            }
            self.insert(entry)
            changed.append(entry)
        }
        return changed
    }

    /// The system's time zone is this one from now on. Dates without a zone follow it.
    ///
    /// - Returns: the entries that were changed.
    mutating func follow(_ zone: TimeZone, at date: Date) -> [Entry] {
        guard zone.identifier != self.zone.identifier else { return [] }
        self.zone = zone
        let changed = self.entries.values.map { self.inZone($0, at: date) }.filter { self.entries[$0.key] != $0 }
        for entry in changed { self.insert(entry) }
        return changed
    }

    /// An entry with its date in the system's time zone, which may have been another one when it was computed.
    private func inZone(_ entry: Entry, at date: Date) -> Entry {
        guard entry.trigger.followsTimeZone else { return entry }
        var entry = entry
        // A single date that is over in this zone is due at once.
        entry.date = entry.trigger.nextTriggerDate(after: entry.anchor, in: self.zone) ?? min(entry.date, date)
        return entry
    }

    /// Whether the clock was wrong when the entry was added or last delivered. Within an hour, what was delivered is
    /// not delivered again.
    private static func isSetBack(from anchor: Date, to date: Date) -> Bool { anchor.timeIntervalSince(date) > 3600 }

    private func restarted(_ entry: Entry, at date: Date) -> Entry {
        var entry = entry
        entry.anchor = date
        // A single date that is over by the new clock's year is kept: it is due at once.
        entry.date = entry.trigger.nextTriggerDate(after: date, in: self.zone) ?? entry.date
        return entry
    }
}
