// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Events waiting for a listener, at most one for each subject.
///
/// A slow listener misses intermediate events, but never the final state. Waiting events are merged:
///
/// - *appeared* and *changed* become *appeared* with the new value;
/// - *appeared* and *vanished* become nothing;
/// - *changed* and *vanished* become *vanished*;
/// - *vanished* and *appeared* become *changed*.
///
/// Subjects are delivered in the order of their first waiting event. Memory is bounded by the number of present
/// subjects, at most `limit`, plus the subjects whose end is not delivered yet.
package struct CoalescingBuffer<Event: CoalescingEvent>: Sendable {
    private struct Waiting {
        var event: Event
        var turn: UInt64
    }

    private let limit: Int
    private var reported: Set<Event.Subject> = []
    private var waiting: [Event.Subject: Waiting] = [:]
    private var present: Set<Event.Subject> = []
    private var turns: [(turn: UInt64, subject: Event.Subject)] = []
    private var head = 0
    private var nextTurn: UInt64 = 0

    /// Creates an empty buffer.
    ///
    /// - Parameter limit: The maximum number of subjects that are present at a time.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether no event waits.
    package var isEmpty: Bool { waiting.isEmpty }

    /// The number of entries in the queue, including abandoned ones.
    var heldTurns: Int { turns.count }

    /// Adds an event. Returns false and drops the event if it is about a new subject and the limit is reached.
    package mutating func put(_ event: Event) -> Bool {
        let subject = event.subject
        switch event.bearing {
        case .presence:
            if !present.contains(subject) {
                guard present.count < limit else { return false }
                present.insert(subject)
            }
            wait(event)
        case .absence:
            present.remove(subject)
            if reported.contains(subject) {
                wait(event)
            } else {
                waiting[subject] = nil
            }
        case .mark:
            wait(event)
        }
        return true
    }

    /// Removes and returns the next event, in the form for a listener that received all the previous ones.
    package mutating func next() -> Event? {
        while head < turns.count {
            let (turn, subject) = turns[head]
            head += 1
            compact()
            // The turn of a subject that appeared and vanished is abandoned. It stays in the queue until it is skipped
            // here.
            guard let entry = waiting[subject], entry.turn == turn else { continue }
            waiting[subject] = nil
            switch entry.event.bearing {
            case .presence:
                return entry.event.asReported(subjectIsKnown: !reported.insert(subject).inserted)
            case .absence:
                reported.remove(subject)
                return entry.event
            case .mark:
                reported.insert(subject)
                return entry.event
            }
        }
        return nil
    }

    private mutating func wait(_ event: Event) {
        if waiting[event.subject] != nil {
            waiting[event.subject]?.event = event
            return
        }
        waiting[event.subject] = Waiting(event: event, turn: nextTurn)
        turns.append((nextTurn, event.subject))
        nextTurn += 1
        // Removes abandoned turns before they outnumber the valid ones, so a subject that comes and goes repeatedly
        // does not use more and more memory.
        if turns.count - head > 2 * waiting.count + 64 {
            turns = turns[head...].filter { waiting[$0.subject]?.turn == $0.turn }
            head = 0
        }
    }

    private mutating func compact() {
        if head == turns.count {
            turns.removeAll(keepingCapacity: head <= 64)
            head = 0
        }
    }
}
