// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The notifications that have ended, were read or snoozed on any of the user's systems, as far as this one knows.
///
/// Each system publishes its whole table, so that what it knows also travels while the system on which the user acted
/// is away. A value type without a clock.
struct NotificationStates {
    typealias Key = NotificationState.RecordKey

    /// The maximum number of states. What senders have withdrawn is forgotten first, because they may do that as often
    /// as they want, and then the oldest. What the user does now is the newest, so it reaches the other systems.
    static let max = 1024
    /// The maximum number of states that are known from one source only and concern no notification of this system.
    /// So a system that publishes what never was neither displaces what others know, nor spreads it without a limit.
    /// So many that concern notifications of one sender displace others.
    static let maxPerSource = 192
    /// The source of all states that their publishers only pass on. Otherwise a system that publishes what never was
    /// would also have the places of each system that believes it.
    static let relays = "relays"
    /// The source of the ends of what this system has mirrored: its programs can end any number.
    static let mirror = "mirror"
    /// A state is known for longer than a notification waits, so that none comes back.
    static let life: TimeInterval = 31 * 86_400

    private var states: [Key: NotificationState] = [:]
    /// The sources of the states that concern no notification of this system: ids of systems, ``relays`` and
    /// ``mirror``.
    private var sources: [Key: Set<String>] = [:]
    /// The holders of the quotas of those that have sent the notifications of the other states.
    private var senders: [Key: String] = [:]

    subscript(key: Key) -> NotificationState? { self.states[key] }

    var all: [Key: NotificationState] { self.states }

    /// What is known of a notification that waits, as far as systems have published it that have received it.
    func waiting(of delivery: NotificationState.Key) -> [NotificationState] {
        let digest = delivery.digest
        return self.states.filter { key, state in key.digest == digest && key == delivery.record(state) }.map(\.value)
    }

    /// What a merge has changed.
    struct Change: Equatable {
        /// The states that are new or now another, with what they are now.
        var put: [Key: NotificationState] = [:]
        /// The states that are forgotten.
        var dropped: Set<Key> = []
    }

    /// The sources of a state that concerns no notification of this system; `nil` for the others.
    func sources(of key: Key) -> Set<String>? { self.sources[key] }

    /// Whether this system only passes on what others have published. What it has mirrored is its own.
    func isPassedOn(_ key: Key) -> Bool { self.sources[key].map { !$0.contains(Self.mirror) } ?? false }

    /// The holder of the quota of the notification's sender; `nil` for a state that concerns no notification of this
    /// system.
    func sender(of key: Key) -> String? { self.senders[key] }

    /// The states of one waiting notification that count: the one with the latest snooze, and one that is read if that
    /// one is not. A system that has received the notification can publish a snooze for each second of a month.
    static func strongest(_ states: [Key: NotificationState]) -> [Key: NotificationState] {
        func date(_ state: NotificationState) -> Date { state.snoozedUntil ?? .distantPast }
        let sorted = states.map { (key: $0, state: $1, text: $0.text) }.sorted { first, second in
            if date(first.state) != date(second.state) { return date(first.state) > date(second.state) }
            return first.state.isRead == second.state.isRead ? first.text < second.text : first.state.isRead
        }
        guard let latest = sorted.first else { return [:] }
        var strongest = [latest.key: latest.state]
        if !latest.state.isRead, let read = sorted.first(where: { $0.state.isRead }) {
            strongest[read.key] = read.state
        }
        return strongest
    }

    /// Takes over what this or another system knows.
    ///
    /// - Parameters:
    ///   - source: the system that has published it about its own notifications, or ``relays``; `nil` for what concerns
    ///     notifications of this system.
    ///   - senders: the holders of the quotas of the senders of these notifications. Defaults to none: an end counts
    ///     for the system in its key.
    mutating func merge(
        _ incoming: [Key: NotificationState],
        from source: String? = nil,
        senders: [Key: String] = [:],
        at now: Date
    ) -> Change {
        var change = Change()
        var added: Set<Key> = []
        for (key, state) in self.places(for: incoming, from: source, at: now) {
            let known = self.states[key]
            let merged = known?.merged(with: state) ?? state
            let concernsThis = self.add(source, senders[key], of: key, isKnown: known != nil)
            guard merged != known || concernsThis else { continue }
            self.states[key] = merged
            if known == nil { added.insert(key) }
            change.put[key] = merged
        }
        self.forget(self.endedWaiting, added, &change)
        if source == nil { self.forget(self.weaker(than: incoming.keys), added, &change) }
        let excess = self.excess(at: now)
        self.forget(excess, added, &change)
        return change
    }

    /// What counts of what another system knows. Of what is new here, no more than one source can have: a table that is
    /// new each time costs little.
    private func places(for incoming: [Key: NotificationState], from source: String?, at now: Date) -> [Entry] {
        let entries = incoming.filter { $0.value.counts(at: now) }.map { key, state -> Entry in
            var state = state
            // The other system's clock may be wrong. No state outlives its time.
            state.date = min(state.date, now)
            return (key: key, value: state)
        }
        guard source != nil else { return entries }
        let new = entries.filter { self.states[$0.key] == nil }
        let excess = Set(Self.first(new.count - Self.maxPerSource, of: new))
        return excess.isEmpty ? entries : entries.filter { !excess.contains($0.key) }
    }

    /// - Returns: whether the state was known, and concerns a notification of this system only now.
    private mutating func add(_ source: String?, _ sender: String?, of key: Key, isKnown: Bool) -> Bool {
        guard let source else {
            if self.senders[key] == nil { self.senders[key] = sender ?? key.ended?.systemID ?? "" }
            return self.sources.removeValue(forKey: key) != nil
        }
        if !isKnown || self.sources[key] != nil { self.sources[key, default: []].insert(source) }
        return false
    }

    private mutating func forget(_ keys: [Key], _ added: Set<Key>, _ change: inout Change) {
        for key in keys {
            self.states[key] = nil
            self.sources[key] = nil
            self.senders[key] = nil
            change.put[key] = nil
            // What came and went at once was never known.
            if !added.contains(key) { change.dropped.insert(key) }
        }
    }

    /// Adds a state that was stored.
    mutating func restore(
        _ state: NotificationState,
        for key: Key,
        from sources: Set<String>? = nil,
        sender: String? = nil
    ) {
        self.states[key] = state
        self.sources[key] = sources
        if sources == nil { self.senders[key] = sender ?? key.ended?.systemID ?? "" }
    }

    /// Forgets what is beyond the limits after states were restored: an earlier version may have stored more.
    mutating func limit(at now: Date) {
        var change = Change()
        let excess = self.excess(at: now)
        self.forget(excess, [], &change)
    }

    /// Forgets what systems have published that are not trusted any more, and what concerns their notifications.
    ///
    /// - Returns: the states that are forgotten.
    mutating func removeAll(of isUntrusted: (_ system: String, _ linkedAccount: String?) -> Bool) -> Set<Key> {
        var lost: [Key] = []
        for (key, sources) in self.sources {
            let left = sources.filter { !isUntrusted($0, nil) }
            self.sources[key] = left
            if left.isEmpty { lost.append(key) }
        }
        for (key, holder) in self.senders {
            // The holder of a system's quota is the system itself, or its linked account.
            let system = key.ended?.systemID ?? holder
            if isUntrusted(system, system == holder ? nil : holder) { lost.append(key) }
        }
        var change = Change()
        self.forget(lost, [], &change)
        return change.dropped
    }

    /// The states of notifications that do not wait any more.
    private var endedWaiting: [Key] {
        let waiting = self.states.keys.filter { $0.digest != nil }
        guard !waiting.isEmpty else { return [] }
        let ended = Set(self.states.keys.compactMap { $0.ended?.digest })
        return waiting.filter { key in key.digest.map { ended.contains($0) } ?? false }
    }

    /// The states of notifications of this system that do not count any more, because of new ones of the same
    /// notifications.
    private func weaker(than keys: some Sequence<Key>) -> [Key] {
        let digests = Set(keys.compactMap(\.digest))
        guard !digests.isEmpty else { return [] }
        let waiting = self.states.filter { key, _ in
            self.senders[key] != nil && (key.digest.map { digests.contains($0) } ?? false)
        }
        return Dictionary(grouping: waiting) { $0.key.digest ?? "" }.values.flatMap { states -> [Key] in
            let all = Dictionary(uniqueKeysWithValues: states.map { ($0.key, $0.value) })
            let strongest = Self.strongest(all)
            return all.keys.filter { strongest[$0] == nil }
        }
    }

    private typealias Entry = (key: Key, value: NotificationState)

    /// What is forgotten now.
    private mutating func excess(at now: Date) -> [Key] {
        var (excess, known) = ([Key](), [Entry]())
        known.reserveCapacity(self.states.count)
        for (key, state) in self.states {
            if now.timeIntervalSince(state.date) < Self.life { known.append((key, state)) } else { excess.append(key) }
        }
        let unplaced = self.limitSources(known)
        excess += unplaced
        known.removeAll { unplaced.contains($0.key) }
        var tooMany = known.count - Self.max
        guard tooMany > 0 else { return excess }
        // What is only passed on goes early, and what concerns this system last. What one sender has beyond its number
        // goes first: it can end its own notifications as if the user did.
        let beyond = self.beyondSenders(known)
        let ranks = Dictionary(grouping: known) { beyond.contains($0.key) ? 0 : self.rank(of: $0.key) }
        for rank in 0...3 {
            let first = Self.first(tooMany, of: ranks[rank] ?? [])
            excess += first
            tooMany -= first.count
        }
        return excess
    }

    private func rank(of key: Key) -> Int {
        guard let sources = self.sources[key] else { return 3 }
        return sources == [Self.relays] ? 1 : 2
    }

    /// The states of notifications of this system that their senders have beyond ``maxPerSource``.
    private func beyondSenders(_ known: [Entry]) -> Set<Key> {
        let own = Dictionary(grouping: known.filter { self.senders[$0.key] != nil }) { self.senders[$0.key] ?? "" }
        return Set(own.values.flatMap { Self.first($0.count - Self.maxPerSource, of: $0) })
    }

    /// Counts no state for a source that has too many.
    ///
    /// - Returns: the states that no other source has.
    private mutating func limitSources(_ known: [Entry]) -> Set<Key> {
        var (unplaced, counts) = (Set<Key>(), [String: Int]())
        for source in self.sources.values.joined() { counts[source, default: 0] += 1 }
        for (source, count) in counts where count > Self.maxPerSource {
            let own = known.filter { self.sources[$0.key]?.contains(source) ?? false }
            for key in Self.first(own.count - Self.maxPerSource, of: own) {
                self.sources[key]?.remove(source)
                if self.sources[key]?.isEmpty ?? false { unplaced.insert(key) }
            }
        }
        return unplaced
    }

    /// The first entries that are forgotten.
    private static func first(_ count: Int, of entries: [Entry]) -> [Key] {
        guard count > 0 else { return [] }
        // The usual case: one is added to a full table.
        guard count > 1 else {
            let first = entries.min { Self.precedes($0, $1) ?? ($0.key.text < $1.key.text) }
            return first.map { [$0.key] } ?? []
        }
        // The texts are made once: another system can give all its states one date.
        let texts = entries.map { (entry: $0, text: $0.key.text) }
        let sorted = texts.sorted { Self.precedes($0.entry, $1.entry) ?? ($0.text < $1.text) }
        return sorted.prefix(count).map { $0.entry.key }
    }

    /// `nil` if neither the status nor the date decides.
    private static func precedes(_ first: Entry, _ second: Entry) -> Bool? {
        let isWithdrawn = first.value.status == .withdrawn
        if isWithdrawn != (second.value.status == .withdrawn) { return isWithdrawn }
        return first.value.date == second.value.date ? nil : first.value.date < second.value.date
    }
}
