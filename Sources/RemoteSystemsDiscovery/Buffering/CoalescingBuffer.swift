// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Events waiting for a listener, at most one for each subject.
///
/// A slow listener misses what happened in between, never how it ended: *appeared* and *changed* become *appeared* with the new
/// value, *appeared* and *vanished* become nothing, *changed* and *vanished* become *vanished*, *vanished* and *appeared* become
/// *changed*. The order is that in which subjects first had news. So memory is bounded by the number of subjects that are there,
/// at most `limit`, plus those whose end is not told yet.
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

    /// A buffer for at most `limit` subjects that are there at a time.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether nothing waits.
    package var isEmpty: Bool { waiting.isEmpty }

    /// How many places in the queue are held, given-up ones among them.
    var heldTurns: Int { turns.count }

    /// Takes in an event. Returns false when it is about a new subject and there are as many as allowed; it is then forgotten.
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

    /// Takes out the next event in the words for a listener who was told all the ones before.
    package mutating func next() -> Event? {
        while head < turns.count {
            let (turn, subject) = turns[head]
            head += 1
            compact()
            // A turn that was given up (appeared, then vanished) stays in the queue till it is met here.
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
        // Given-up turns are swept before they outnumber the live ones: a subject that comes and goes costs nothing.
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
