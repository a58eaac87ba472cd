// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The notifications that have ended on any of the user's systems, as far as this one knows.
///
/// Each system publishes its whole table, so that what it knows also travels while the system on which the user acted
/// is away. A value type without a clock.
struct NotificationStates {
    typealias Key = NotificationState.Key

    /// The maximum number of states. What senders have withdrawn is forgotten first, because they may do that as often
    /// as they want, and then the oldest.
    static let max = 1024
    /// A state is known for longer than a notification waits, so that none comes back.
    static let life: TimeInterval = 31 * 86_400

    private var states: [Key: NotificationState] = [:]

    subscript(key: Key) -> NotificationState? { self.states[key] }

    var all: [Key: NotificationState] { self.states }

    /// What a merge has changed.
    struct Change: Equatable {
        /// The states that are new or now another, with what they are now.
        var put: [Key: NotificationState] = [:]
        /// The states that are forgotten.
        var dropped: Set<Key> = []
    }

    /// Takes over what this or another system knows.
    mutating func merge(_ incoming: [Key: NotificationState], at now: Date) -> Change {
        var change = Change()
        var added: Set<Key> = []
        for (key, state) in incoming where now.timeIntervalSince(state.date) < Self.life {
            var state = state
            // The other system's clock may be wrong. No state outlives its time.
            state.date = min(state.date, now)
            let merged = self.states[key]?.merged(with: state) ?? state
            guard merged != self.states[key] else { continue }
            if self.states.updateValue(merged, forKey: key) == nil { added.insert(key) }
            change.put[key] = merged
        }
        for key in self.excess(at: now) {
            self.states[key] = nil
            change.put[key] = nil
            // What came and went at once was never known.
            if !added.contains(key) { change.dropped.insert(key) }
        }
        return change
    }

    /// Adds a state that was stored.
    mutating func restore(_ state: NotificationState, for key: Key) { self.states[key] = state }

    private func excess(at now: Date) -> [Key] {
        let old = self.states.filter { now.timeIntervalSince($0.value.date) >= Self.life }.map(\.key)
        let tooMany = self.states.count - old.count - Self.max
        guard tooMany > 0 else { return old }
        let young = self.states.filter { now.timeIntervalSince($0.value.date) < Self.life }
        let order = young.sorted { first, second in
            if first.value.status != second.value.status { return first.value.status < second.value.status }
            return (first.value.date, first.key.text) < (second.value.date, second.key.text)
        }
        return old + order.prefix(tooMany).map(\.key)
    }
}
