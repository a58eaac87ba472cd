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
    /// The maximum number of states that are known from one other system only and concern no notification of this one.
    /// So a system that publishes what never was neither displaces what others know, nor spreads it without a limit.
    static let maxPerSource = 192
    /// A state is known for longer than a notification waits, so that none comes back.
    static let life: TimeInterval = 31 * 86_400

    private var states: [Key: NotificationState] = [:]
    /// The systems from which states are known that concern no notification of this system.
    private var sources: [Key: String] = [:]

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

    /// The system from which a state is known that concerns no notification of this system; `nil` for the others.
    func source(of key: Key) -> String? { self.sources[key] }

    /// Takes over what this or another system knows.
    ///
    /// - Parameter system: the system that has published it; `nil` for what concerns notifications of this system.
    mutating func merge(_ incoming: [Key: NotificationState], from system: String? = nil, at now: Date) -> Change {
        var change = Change()
        var added: Set<Key> = []
        for (key, state) in incoming where state.counts(at: now) {
            var state = state
            // The other system's clock may be wrong. No state outlives its time.
            state.date = min(state.date, now)
            let merged = self.states[key]?.merged(with: state) ?? state
            guard merged != self.states[key] else { continue }
            if self.states.updateValue(merged, forKey: key) == nil {
                added.insert(key)
                self.sources[key] = system
            } else if system == nil {
                self.sources[key] = nil
            }
            change.put[key] = merged
        }
        self.forget(self.endedWaiting, added, &change)
        self.forget(self.excess(at: now), added, &change)
        return change
    }

    private mutating func forget(_ keys: [Key], _ added: Set<Key>, _ change: inout Change) {
        for key in keys {
            self.states[key] = nil
            self.sources[key] = nil
            change.put[key] = nil
            // What came and went at once was never known.
            if !added.contains(key) { change.dropped.insert(key) }
        }
    }

    /// Adds a state that was stored.
    mutating func restore(_ state: NotificationState, for key: Key, from system: String? = nil) {
        self.states[key] = state
        self.sources[key] = system
    }

    /// The states of notifications that do not wait any more.
    private var endedWaiting: [Key] {
        let waiting = self.states.keys.filter { $0.digest != nil }
        guard !waiting.isEmpty else { return [] }
        let ended = Set(self.states.keys.compactMap { $0.ended?.digest })
        return waiting.filter { key in key.digest.map { ended.contains($0) } ?? false }
    }

    private typealias Entry = (key: Key, value: NotificationState)

    /// What is forgotten now.
    private func excess(at now: Date) -> [Key] {
        var (excess, known) = ([Key](), [Entry]())
        known.reserveCapacity(self.states.count)
        for (key, state) in self.states {
            if now.timeIntervalSince(state.date) < Self.life { known.append((key, state)) } else { excess.append(key) }
        }
        let counts = self.sources.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        for (system, count) in counts where count > Self.maxPerSource {
            let own = known.filter { self.sources[$0.key] == system }
            let tooMany = Set(Self.first(own.count - Self.maxPerSource, of: own))
            excess += tooMany
            known.removeAll { tooMany.contains($0.key) }
        }
        let tooMany = known.count - Self.max
        guard tooMany > 0 else { return excess }
        guard !self.sources.isEmpty else { return excess + Self.first(tooMany, of: known) }
        // What concerns this system goes last.
        let others = Self.first(tooMany, of: known.filter { self.sources[$0.key] != nil })
        return excess + others
            + Self.first(tooMany - others.count, of: known.filter { self.sources[$0.key] == nil })
    }

    /// The first entries that are forgotten.
    private static func first(_ count: Int, of entries: [Entry]) -> [Key] {
        guard count > 0 else { return [] }
        // The usual case: one is added to a full table.
        guard count > 1 else { return entries.min(by: Self.precedes).map { [$0.key] } ?? [] }
        return entries.sorted(by: Self.precedes).prefix(count).map(\.key)
    }

    private static func precedes(_ first: Entry, _ second: Entry) -> Bool {
        let isWithdrawn = first.value.status == .withdrawn
        if isWithdrawn != (second.value.status == .withdrawn) { return isWithdrawn }
        if first.value.date != second.value.date { return first.value.date < second.value.date }
        return first.key.text < second.key.text
    }
}
