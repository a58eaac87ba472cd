// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

/// Issue 2 §5, §6: a slow listener may miss intermediate events but never the final state, and memory is bounded.
@Suite struct CoalescingBufferTests {
    enum Note: CoalescingEvent, Equatable {
        case appeared(Int, String), changed(Int, String), vanished(Int), mark

        var subject: Int {
            switch self {
            case .appeared(let id, _), .changed(let id, _), .vanished(let id): id
            case .mark: -1
            }
        }

        var bearing: CoalescingBearing {
            switch self {
            case .appeared, .changed: .presence
            case .vanished: .absence
            case .mark: .mark
            }
        }

        func asReported(subjectIsKnown: Bool) -> Note {
            switch self {
            case .appeared(let id, let value), .changed(let id, let value):
                subjectIsKnown ? .changed(id, value) : .appeared(id, value)
            case .vanished, .mark: self
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reported: [Note]
        let missed: [Note]
        let expected: [Note]
    }

    static let cases: [Case] = [
        Case(testDescription: "nothing", reported: [], missed: [], expected: []),
        Case(testDescription: "one event", reported: [], missed: [.appeared(1, "a")], expected: [.appeared(1, "a")]),
        Case(
            testDescription: "appeared and changed is appeared with the new value",
            reported: [],
            missed: [.appeared(1, "a"), .changed(1, "b"), .changed(1, "c")],
            expected: [.appeared(1, "c")]
        ),
        Case(
            testDescription: "appeared and vanished is nothing",
            reported: [],
            missed: [.appeared(1, "a"), .vanished(1)],
            expected: []
        ),
        Case(
            testDescription: "changed and vanished is vanished",
            reported: [.appeared(1, "a")],
            missed: [.changed(1, "b"), .vanished(1)],
            expected: [.vanished(1)]
        ),
        Case(
            testDescription: "vanished and appeared is changed",
            reported: [.appeared(1, "a")],
            missed: [.vanished(1), .appeared(1, "b")],
            expected: [.changed(1, "b")]
        ),
        Case(
            testDescription: "vanished, appeared and vanished is vanished",
            reported: [.appeared(1, "a")],
            missed: [.vanished(1), .appeared(1, "b"), .vanished(1)],
            expected: [.vanished(1)]
        ),
        Case(
            testDescription: "subjects keep the order of their first events",
            reported: [.appeared(3, "x")],
            missed: [.appeared(1, "a"), .changed(3, "y"), .appeared(2, "b"), .changed(1, "c")],
            expected: [.appeared(1, "c"), .changed(3, "y"), .appeared(2, "b")]
        ),
        Case(
            testDescription: "a mark stays behind what was there before it",
            reported: [],
            missed: [.appeared(1, "a"), .appeared(2, "b"), .mark, .appeared(3, "c"), .changed(1, "d")],
            expected: [.appeared(1, "d"), .appeared(2, "b"), .mark, .appeared(3, "c")]
        ),
        Case(
            testDescription: "what came back after it was given up goes to the end",
            reported: [],
            missed: [.appeared(1, "a"), .appeared(2, "b"), .vanished(1), .appeared(1, "c")],
            expected: [.appeared(2, "b"), .appeared(1, "c")]
        ),
        Case(
            testDescription: "the end of a subject that was never reported is not reported",
            reported: [.appeared(1, "a"), .vanished(1)],
            missed: [.vanished(1), .vanished(2)],
            expected: []
        ),
    ]

    @Test(arguments: cases) func `a slow listener gets the final state`(_ test: Case) {
        var buffer = CoalescingBuffer<Note>(limit: 10)
        for note in test.reported {
            #expect(buffer.put(note) == true)
            #expect(buffer.next() == note)
        }
        for note in test.missed { #expect(buffer.put(note) == true) }
        var reported: [Note] = []
        while let note = buffer.next() { reported.append(note) }
        #expect(reported == test.expected)
        #expect(buffer.isEmpty)
    }

    @Test func `a subject beyond the limit is refused until another one vanishes`() {
        var buffer = CoalescingBuffer<Note>(limit: 2)
        #expect(buffer.put(.appeared(1, "a")) == true)
        #expect(buffer.put(.appeared(2, "b")) == true)
        #expect(buffer.put(.appeared(3, "c")) == false)
        #expect(buffer.put(.changed(2, "d")) == true)
        #expect(buffer.put(.mark) == true)
        #expect(buffer.put(.vanished(1)) == true)
        #expect(buffer.put(.appeared(3, "e")) == true)
        #expect(buffer.next() == .appeared(2, "d"))
        #expect(buffer.next() == .mark)
        #expect(buffer.next() == .appeared(3, "e"))
        #expect(buffer.next() == nil)
    }

    @Test func `subjects that appear and vanish unread take no memory`() {
        var buffer = CoalescingBuffer<Note>(limit: 10)
        for round in 0..<10_000 {
            _ = buffer.put(.appeared(round, "x"))
            _ = buffer.put(.vanished(round))
        }
        #expect(buffer.isEmpty)
        #expect(buffer.heldTurns < 100)
    }

    @Test func `after any sequence of events the listener knows the current state`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var buffer = CoalescingBuffer<Note>(limit: 100)
            var there: [Int: String] = [:]
            var known: [Int: String] = [:]
            for step in 0..<60 {
                let id = Int.random(in: 0..<5, using: &generator)
                if there[id] == nil {
                    there[id] = "\(step)"
                    _ = buffer.put(.appeared(id, "\(step)"))
                } else if Bool.random(using: &generator) {
                    there[id] = "\(step)"
                    _ = buffer.put(.changed(id, "\(step)"))
                } else {
                    there[id] = nil
                    _ = buffer.put(.vanished(id))
                }
                if Int.random(in: 0..<4, using: &generator) == 0 { listen(to: buffer.next(), &known) }
            }
            while let note = buffer.next() { listen(to: note, &known) }
            #expect(known == there)
        }
    }

    /// Checks that each event is consistent with all earlier ones.
    private func listen(to note: Note?, _ known: inout [Int: String]) {
        switch note {
        case .appeared(let id, let value):
            #expect(known.updateValue(value, forKey: id) == nil)
        case .changed(let id, let value):
            #expect(known.updateValue(value, forKey: id) != nil)
        case .vanished(let id):
            #expect(known.removeValue(forKey: id) != nil)
        case .mark, nil: break
        }
    }
}
