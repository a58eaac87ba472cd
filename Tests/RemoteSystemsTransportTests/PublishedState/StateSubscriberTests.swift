// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct StateSubscriberTests {
    typealias Part = StateMessage.Part

    private func subscribed(window: Int = StateLimits.minCredit) -> StateSubscriberStateMachine {
        var machine = StateSubscriberStateMachine(.test, window: window)
        _ = machine.subscribe()
        return machine
    }

    private func part(
        from: UInt64? = nil,
        number: UInt64 = 0,
        to: UInt64? = nil,
        epoch: UInt64 = 7,
        _ put: [StateKey: ValueSet] = [:],
        drop: [StateKey] = []
    ) -> Part {
        var part = Part(topic: "test", epoch: epoch, from: from)
        part.number = number
        part.to = to
        part.put = put
        part.drop = drop
        return part
    }

    private func reason(_ message: StateMessage?) -> String? {
        guard case .unsubscribe("test", let reason)? = message else { return nil }
        return reason
    }

    // MARK: Applying

    @Test func `a snapshot becomes visible with its last part, as one change`() {
        var machine = self.subscribed()
        #expect(machine.received(self.part(["system": ["name": "a"]]), frameBytes: 100) == nil)
        #expect(machine.records.isEmpty)
        #expect(!machine.hasChange)
        #expect(machine.received(self.part(number: 1, to: 4, ["attribute/x": .text("1")]), frameBytes: 100) == nil)
        #expect(
            machine.takeChange()
                == StateChange(
                    put: ["system": ["name": "a"], "attribute/x": .text("1")],
                    drop: [],
                    version: 4,
                    isSnapshot: true
                )
        )
        #expect(machine.takeChange() == nil)
    }

    @Test func `a delta becomes visible with its last part, and a later part replaces an earlier one`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 4, ["system": ["name": "a"], "attribute/x": .text("1")]), frameBytes: 100)
        _ = machine.takeChange()
        _ = machine.received(self.part(from: 4, ["attribute/y": .text("1")], drop: ["system"]), frameBytes: 100)
        _ = machine.received(
            self.part(from: 4, number: 1, to: 9, ["system": ["name": "b"]], drop: ["attribute/y", "attribute/x"]),
            frameBytes: 100
        )
        #expect(
            machine.takeChange()
                == StateChange(put: ["system": ["name": "b"]], drop: ["attribute/x"], version: 9, isSnapshot: false)
        )
        #expect(machine.records.count == 1)
        #expect(machine.position == .init(epoch: 7, version: 9))
    }

    @Test func `a second snapshot is reported as the difference`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["system": ["name": "a"], "attribute/x": .text("1")]), frameBytes: 100)
        _ = machine.takeChange()
        _ = machine.received(
            self.part(to: 2, epoch: 8, ["system": ["name": "a"], "attribute/y": .text("1")]),
            frameBytes: 100
        )
        #expect(
            machine.takeChange()
                == StateChange(put: ["attribute/y": .text("1")], drop: ["attribute/x"], version: 2, isSnapshot: true)
        )
    }

    @Test func `an epoch that changes in the middle of a delta starts again with a snapshot`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["system": ["name": "a"]]), frameBytes: 100)
        _ = machine.received(self.part(from: 1, ["attribute/x": .text("1")]), frameBytes: 100)
        #expect(machine.received(self.part(epoch: 8, ["attribute/y": .text("1")]), frameBytes: 100) == nil)
        _ = machine.received(self.part(number: 1, to: 3, epoch: 8), frameBytes: 100)
        #expect(machine.records.keys.map(\.text) == ["attribute/y"])
        #expect(machine.position == .init(epoch: 8, version: 3))
    }

    @Test func `changes that were not read are merged`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 0, ["system": ["name": "a"]]), frameBytes: 100)
        _ = machine.takeChange()
        for version in UInt64(0)..<20 {
            _ = machine.received(
                self.part(
                    from: version,
                    to: version + 1,
                    ["attribute/\(version)": .text("x")],
                    drop: ["attribute/\(version - min(version, 1))"]
                ),
                frameBytes: 100
            )
        }
        _ = machine.received(self.part(from: 20, to: 21, drop: ["system", "attribute/19"]), frameBytes: 100)
        #expect(machine.takeChange() == StateChange(put: [:], drop: ["system"], version: 21, isSnapshot: false))
    }

    @Test func `the first update is reported even if nothing changed`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["system": ["name": "a"]]), frameBytes: 100)
        _ = machine.takeChange()
        #expect(machine.connectionEnded() == .connectionEnded)
        #expect(
            machine.subscribe()
                == .subscribe(topic: "test", schema: 1, credit: 65_536, resuming: .init(epoch: 7, version: 1))
        )
        _ = machine.received(self.part(from: 1, to: 1), frameBytes: 100)
        #expect(machine.takeChange() == StateChange(put: [:], drop: [], version: 1, isSnapshot: false))
        _ = machine.received(self.part(from: 1, to: 2), frameBytes: 100)
        #expect(machine.takeChange() == nil)
    }

    // MARK: Newer publishers

    @Test func `unknown keys and fields are ignored`() {
        var machine = self.subscribed()
        _ = machine.received(
            self.part(
                to: 1,
                ["novelty/1": ["a": 1], "attribute/x": ["text": "1", "colour": "red", "requires": ["text"]]]
            ),
            frameBytes: 100
        )
        #expect(machine.records.keys.map(\.text) == ["attribute/x"])
    }

    @Test(
        arguments: [
            ["text": "2", "requires": ["text", "colour"]], ["text": "2", "requires": "text"],
            ["text": "2", "requires": [1]],
            ["text": 2],
        ] as [ValueSet]
    )
    func `an invalid record counts as absent`(record: ValueSet) {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["attribute/x": .text("1")]), frameBytes: 100)
        _ = machine.takeChange()
        #expect(machine.received(self.part(from: 1, to: 2, ["attribute/x": record]), frameBytes: 100) == nil)
        #expect(machine.takeChange()?.drop == ["attribute/x"])
        #expect(machine.records.isEmpty)
    }

    // MARK: Hostile publishers

    @Test func `a delta from another version than the current one is refused`() {
        for bad in [
            self.part(from: 2, to: 3), self.part(from: 1, to: 2, epoch: 8), self.part(from: 1, to: 0),
        ] {
            var machine = self.subscribed()
            _ = machine.received(self.part(to: 1), frameBytes: 100)
            #expect(self.reason(machine.received(bad, frameBytes: 100)) == "version-unexpected")
            #expect(machine.ended(.unsubscribed) == .rulesBroken(.versionUnexpected))
            #expect(machine.subscribe() == .subscribe(topic: "test", schema: 1, credit: 65_536, resuming: nil))
        }
    }

    @Test func `a delta in place of the first snapshot is refused`() {
        var machine = self.subscribed()
        #expect(self.reason(machine.received(self.part(from: 0, to: 1), frameBytes: 100)) == "version-unexpected")
    }

    @Test func `parts out of order are refused`() {
        for bad in [
            self.part(number: 2), self.part(number: 1, epoch: 8), self.part(from: 1, number: 1), self.part(from: 1),
        ] {
            var machine = self.subscribed()
            _ = machine.received(self.part(), frameBytes: 100)
            #expect(self.reason(machine.received(bad, frameBytes: 100)) == "part-unexpected")
            #expect(machine.bytes == 0)
        }
        var machine = self.subscribed()
        #expect(self.reason(machine.received(self.part(number: 1), frameBytes: 100)) == "part-unexpected")
    }

    @Test func `an endless snapshot is refused, and the memory for it is bounded`() {
        var machine = self.subscribed(window: StateLimits.maxCredit)
        var largest = 0
        var message: StateMessage?
        for number in UInt64(0)... {
            message = machine.received(
                self.part(number: number, ["blob/\(number)": .blob(16_000), "blob/x\(number)": .blob(16_000)]),
                frameBytes: 32_100
            )
            largest = max(largest, machine.bytes)
            if message != nil { break }
        }
        #expect(self.reason(message) == "transfer-too-long")
        #expect(largest <= StateLimits.transferBytes)
        #expect(machine.bytes == 0)
    }

    @Test func `a topic with too many bytes or records is refused`() {
        var machine = self.subscribed(window: StateLimits.maxCredit)
        var message: StateMessage?
        for number in UInt64(0)...34 {
            message = machine.received(
                self.part(
                    number: number,
                    to: number == 34 ? 1 : nil,
                    ["blob/\(number)": .blob(16_000), "blob/x\(number)": .blob(16_000)]
                ),
                frameBytes: 32_100
            )
        }
        #expect(self.reason(message) == "topic-too-large")
        var other = self.subscribed()
        let many = Dictionary(
            uniqueKeysWithValues: (0...StateLimits.topicRecords).map { (StateKey("attribute/\($0)"), ValueSet()) }
        )
        #expect(self.reason(other.received(self.part(to: 1, many), frameBytes: 100)) == "topic-too-large")
    }

    @Test func `deltas cannot make a topic exceed its limits`() {
        var machine = self.subscribed(window: StateLimits.maxCredit)
        _ = machine.received(self.part(to: 0), frameBytes: 100)
        var message: StateMessage?
        for version in UInt64(0)..<100 {
            message = machine.received(
                self.part(from: version, to: version + 1, ["blob/\(version)": .blob(16_000)]),
                frameBytes: 16_100
            )
            if message != nil { break }
        }
        #expect(self.reason(message) == "topic-too-large")
        #expect(machine.bytes <= StateLimits.topicBytes)
    }

    @Test(
        arguments: [
            ["blob/a": .blob(StateLimits.recordBytes)], ["": [:]],
            [StateKey("attribute/" + String(repeating: "x", count: StateLimits.keyBytes)): [:]],
        ] as [[StateKey: ValueSet]]
    )
    func `a record or a key beyond its limits is refused`(put: [StateKey: ValueSet]) {
        var machine = self.subscribed()
        #expect(self.reason(machine.received(self.part(to: 1, put), frameBytes: 100)) == "record-invalid")
    }

    @Test func `more bytes than granted are refused`() {
        var machine = self.subscribed()
        #expect(machine.received(self.part(), frameBytes: StateLimits.minCredit)?.operation == .credit)
        #expect(machine.received(self.part(number: 1), frameBytes: 1) == nil)
        #expect(
            self.reason(machine.received(self.part(number: 2), frameBytes: StateLimits.minCredit)) == "credit-exceeded"
        )
    }

    @Test func `data after an objection is ignored until the END`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(number: 9), frameBytes: 100)
        #expect(machine.received(self.part(to: 1, ["system": ["name": "a"]]), frameBytes: 100) == nil)
        #expect(machine.records.isEmpty)
        #expect(machine.subscribe() == nil)
        #expect(machine.ended(.unsubscribed) == .rulesBroken(.partUnexpected))
        #expect(machine.ended(.unsubscribed) == nil)
    }

    @Test func `keys that look equal but have different bytes are different keys`() {
        var machine = self.subscribed()
        _ = machine.received(
            self.part(to: 1, ["attribute/\u{e9}": .text("1"), "attribute/e\u{301}": .text("2")]),
            frameBytes: 100
        )
        #expect(machine.records.count == 2)
        _ = machine.received(self.part(from: 1, to: 2, drop: ["attribute/\u{e9}"]), frameBytes: 100)
        #expect(machine.records["attribute/e\u{301}"]?.value == .text("2"))
    }

    // MARK: Credit

    @Test func `credit is granted rarely, and not before the received data was read`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["system": ["name": "a"]]), frameBytes: 30_000)
        _ = machine.takeChange()
        #expect(machine.grant() == nil)
        #expect(machine.received(self.part(from: 1, to: 2, ["attribute/x": .text("1")]), frameBytes: 3_000) == nil)
        #expect(machine.grant() == nil)
        _ = machine.takeChange()
        #expect(machine.grant() == .credit(topic: "test", bytes: 33_000))
        #expect(machine.grant() == nil)
    }

    @Test func `credit for incomplete data is granted again, since it would never complete otherwise`() {
        var machine = self.subscribed()
        var granted = 0
        for number in UInt64(0)..<20 {
            let message = machine.received(
                self.part(number: number, ["blob/\(number)": .blob(16_000)]),
                frameBytes: 16_100
            )
            if case .credit(_, let bytes)? = message { granted += Int(bytes) }
        }
        #expect(granted >= 19 * 16_100 - StateLimits.minCredit / 2)
    }

    // MARK: Ends

    @Test(arguments: [StateEndReason.topicUnknown, .topicClosed])
    func `records that are no longer published are dropped`(reason: StateEndReason) {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["system": ["name": "a"]]), frameBytes: 100)
        _ = machine.takeChange()
        #expect(machine.ended(reason) == .publisher(reason))
        #expect(machine.takeChange()?.drop == ["system"])
        #expect(machine.bytes == 0)
        #expect(machine.position == nil)
    }

    @Test func `incomplete data is dropped when the connection ends, the rest is kept`() {
        var machine = self.subscribed()
        _ = machine.received(self.part(to: 1, ["system": ["name": "a"]]), frameBytes: 100)
        let kept = machine.bytes
        _ = machine.received(self.part(from: 1, ["attribute/x": .text("1")]), frameBytes: 100)
        #expect(machine.bytes > kept)
        #expect(machine.connectionEnded() == .connectionEnded)
        #expect(machine.bytes == kept)
        #expect(machine.connectionEnded() == nil)
    }

    @Test func `the budget counts all subscribers, and those of one system`() throws {
        let budget = StateBudget(total: 100, perHolder: 60)
        let (first, second, third) = (try GreedyPeers.peer(1), try GreedyPeers.peer(2), try GreedyPeers.peer(3))
        #expect(budget.add(60, of: first))
        #expect(!budget.add(1, of: first))
        #expect(budget.add(39, of: second))
        #expect(!budget.add(1, of: third))
        #expect(budget.add(-61, of: first))
        #expect(budget.bytes == 40)
    }

    @Test func `linked accounts share a quarter of the budget, and systems of the own account use the rest`() throws {
        let budget = StateBudget(total: 1000, perHolder: 200, smallShare: 10)
        #expect(budget.add(125, of: try GreedyPeers.account(1)))
        // Half of the quarter is for accounts with little state.
        #expect(!budget.add(11, of: try GreedyPeers.account(2)))
        #expect(budget.add(-1, of: try GreedyPeers.account(2)))
        // Beyond the quarter not even those grow.
        for number: UInt8 in 3..<14 { #expect(budget.add(10, of: try GreedyPeers.account(number))) }
        #expect(budget.add(5, of: try GreedyPeers.account(14)))
        #expect(!budget.add(1, of: try GreedyPeers.account(14)))
        #expect(budget.bytes == 251)
        // The own account's systems with much state have their half.
        #expect(budget.add(200, of: try GreedyPeers.peer(1)))
        #expect(budget.add(200, of: try GreedyPeers.peer(2)))
        #expect(budget.add(100, of: try GreedyPeers.peer(3)))
        #expect(!budget.add(1, of: try GreedyPeers.peer(3)))
        #expect(budget.add(10, of: try GreedyPeers.peer(4)))
    }
}
