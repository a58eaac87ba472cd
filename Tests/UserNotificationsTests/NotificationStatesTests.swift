// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import UserNotifications

/// The rules by which systems agree how notifications have ended.
@Suite struct NotificationStatesTests {
    private typealias Key = NotificationState.RecordKey

    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let system = String(repeating: "a", count: 52)
    private static let delivery = NotificationState.Key(systemID: Self.system, deliveryID: UUID())
    private static let key = Key.end(Self.delivery)
    /// Every end, at two dates.
    private static let ends = NotificationState.Status.allCases.filter { $0 != .waiting }.flatMap { status in
        [1.0, 2.0].map { NotificationState(status: status, date: Self.now - $0) }
    }
    /// What the user can do with one that waits: read it, or snooze it for two times.
    private static let waiting: [NotificationState] =
        ([(true, nil), (false, 600), (false, 1200)] as [(Bool, Double?)]).map { isRead, seconds in
            let until = seconds.map { Self.now + $0 }
            return NotificationState(status: .waiting, date: Self.now - 1, isRead: isRead, snoozedUntil: until)
        }
    private static let states = Self.ends + Self.waiting
    private static let shorter = Self.delivery.record(Self.waiting[1])
    private static let longer = Self.delivery.record(Self.waiting[2])

    private static func end() -> Key { .end(.init(systemID: "s", deliveryID: UUID())) }

    private static func flood(_ count: Int, _ state: NotificationState) -> [Key: NotificationState] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { _ in (Self.end(), state) })
    }

    @Test func `any number of merges in any order and grouping has one result (X-40)`() {
        for a in Self.ends {
            #expect(a.merged(with: a) == a)
            for b in Self.ends {
                #expect(a.merged(with: b).status == b.merged(with: a).status)
                for c in Self.ends {
                    let status = [a, b, c].map(\.status).max()
                    #expect(a.merged(with: b).merged(with: c).status == status)
                    #expect(a.merged(with: b.merged(with: c)).status == status)
                }
            }
        }
    }

    /// Three systems act on one notification and read each other's tables: every state of the model is visited.
    @Test func `systems agree in the end, whichever acts, reads or is away, and nothing comes back (X-40)`() {
        struct World: Hashable {
            /// What each system knows. The dates are those of the systems, and do not matter.
            var known: [[Key: NotificationState.Status]]

            func end(_ system: Int) -> NotificationState.Status? { self.known[system][NotificationStatesTests.key] }

            /// Whether nothing that a system knew is taken back, and nothing waits that has ended. A shorter snooze may
            /// have been replaced by a longer one.
            func isKept(by later: World, _ system: Int) -> Bool {
                guard let end = later.end(system) else {
                    return self.known[system].keys.allSatisfy { key in
                        later.known[system][key] != nil
                            || key == NotificationStatesTests.shorter
                                && later.known[system][NotificationStatesTests.longer] != nil
                    }
                }
                return end >= self.end(system) ?? .waiting && later.known[system].count == 1
            }
        }
        let actions = Self.states.filter { $0.date == Self.now - 1 }
        let byKey = Dictionary(actions.map { (Self.delivery.record($0), $0) }) { first, _ in first }
        func merged(_ known: [Key: NotificationState.Status], _ incoming: [Key: NotificationState], _ clock: Double)
            -> [Key: NotificationState.Status]
        {
            var table = NotificationStates()
            for (key, status) in known {
                var state = byKey[key] ?? NotificationState(status: status, date: Self.now - 1)
                state.status = status
                table.restore(state, for: key)
            }
            _ = table.merge(incoming, at: Self.now + clock)
            return table.all.mapValues(\.status)
        }
        var (seen, open, quiet) = (Set<World>(), [World(known: [[:], [:], [:]])], 0)
        while let world = open.popLast() {
            guard seen.insert(world).inserted else { continue }
            var (acted, read) = ([World](), [World]())
            for system in 0..<3 {
                // Their clocks are a week apart.
                let clock = Double(system - 1) * 7 * 86_400
                // The user or the sender acts where the notification still waits.
                for action in actions where world.end(system) == nil {
                    var after = world
                    after.known[system] = merged(world.known[system], [Self.delivery.record(action): action], clock)
                    acted.append(after)
                }
                for other in 0..<3 where other != system {
                    var incoming: [Key: NotificationState] = [:]
                    for (key, status) in world.known[other] {
                        incoming[key] = byKey[key]
                        incoming[key]?.status = status
                    }
                    var after = world
                    after.known[system] = merged(world.known[system], incoming, clock)
                    // What has ended does not come back, and what was read or snoozed stays so.
                    guard world.isKept(by: after, system) else {
                        Issue.record("Something was taken back: \(world)")
                        return
                    }
                    read.append(after)
                }
            }
            // When reading changes nothing more, all agree.
            if read.allSatisfy({ $0 == world }) {
                quiet += 1
                #expect(Set(world.known).count == 1)
            }
            open += acted + read
        }
        // Read or not, with no snooze or one of two, and three ends: on each system, and on all together.
        #expect(seen.count == 9 * 9 * 9 && quiet == 9)
    }

    @Test
    func `a response counts more than a dismissal, that more than a withdrawal, and all more than a snooze (X-40)`() {
        let ranked: [NotificationState.Status] = [.waiting, .withdrawn, .dismissed, .activated]
        #expect(ranked.sorted() == ranked && ranked == NotificationState.Status.allCases)
    }

    @Test func `a snooze of 31 days or more, or until no date, is ignored`() {
        for seconds in [NotificationStates.life, .infinity, .nan] {
            var table = NotificationStates()
            let state = NotificationState(status: .waiting, date: Self.now, snoozedUntil: Self.now + seconds)
            #expect(table.merge([Self.delivery.record(state): state], at: Self.now) == NotificationStates.Change())
            let read = Self.waiting[0]
            #expect(table.merge([Self.delivery.record(read): read], at: Self.now).put.count == 1)
        }
    }

    @Test(arguments: [NotificationState.Status.withdrawn, .dismissed])
    func `what is read or snoozed now reaches the others also from a full table`(ended: NotificationState.Status) {
        var table = NotificationStates()
        let old = NotificationState(status: ended, date: Self.now - 86_400)
        _ = table.merge(Self.flood(NotificationStates.max, old), at: Self.now)
        let snooze = Self.waiting[1]
        let key = Self.delivery.record(snooze)
        #expect(table.merge([key: snooze], at: Self.now).put == [key: snooze])
        // However much senders withdraw.
        let withdrawn = NotificationState(status: .withdrawn, date: Self.now)
        _ = table.merge(Self.flood(NotificationStates.max, withdrawn), at: Self.now)
        #expect(table[key] == snooze && table.all.count == NotificationStates.max)
    }

    @Test func `a system that has not received a notification neither learns its id nor changes its state`() {
        let snooze = Self.waiting[1]
        let key = Self.delivery.record(snooze)
        #expect(!key.text.contains(Self.delivery.deliveryID.uuidString.lowercased()))
        // What is published under a known key, but states something else, is not that of the notification.
        var later = snooze
        later.snoozedUntil = Self.now + 30 * 86_400
        var read = snooze
        read.isRead = true
        for forged in [later, read, Self.waiting[0]] {
            #expect(Self.delivery.record(forged) != key)
            var table = NotificationStates()
            _ = table.merge([key: forged], from: "liar", at: Self.now)
            #expect(table.waiting(of: Self.delivery) == [])
        }
        var table = NotificationStates()
        for state in Self.waiting { _ = table.merge([Self.delivery.record(state): state], at: Self.now) }
        #expect(Set(table.waiting(of: Self.delivery)) == [Self.waiting[0], Self.waiting[2]])
        #expect(table.waiting(of: .init(systemID: "t", deliveryID: Self.delivery.deliveryID)) == [])
        // The id names an end only, and a digest none.
        #expect(Key(Self.key.text, .waiting) == nil && Key(key.text, .dismissed) == nil)
        #expect(Key(Self.key.text, .dismissed) == Self.key && Key(key.text, .waiting) == key)
    }

    @Test func `the table has 1024 states, and forgets the oldest first`() {
        var table = NotificationStates()
        func state(_ age: Int) -> NotificationState { .init(status: .dismissed, date: Self.now - Double(age)) }
        let keys = (0..<NotificationStates.max).map { _ in Self.end() }
        let first = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, state(1000 + $0)) })
        #expect(table.merge(first, at: Self.now).put.count == NotificationStates.max)
        let change = table.merge([Self.key: state(1)], at: Self.now)
        #expect(Set(change.put.keys) == [Self.key])
        #expect(change.dropped == [keys[NotificationStates.max - 1]])
        #expect(table.all.count == NotificationStates.max)
        // One that is older than all others comes and goes at once.
        let old = Self.end()
        #expect(table.merge([old: state(10_000)], at: Self.now) == NotificationStates.Change())
        #expect(table[old] == nil)
    }

    @Test func `a system that publishes what never was displaces nothing that others know`() {
        var table = NotificationStates()
        let dismissed = NotificationState(status: .dismissed, date: Self.now - 86_400)
        _ = table.merge([Self.key: dismissed], at: Self.now)
        let honest = Key.end(.init(systemID: "t", deliveryID: UUID()))
        _ = table.merge([honest: dismissed], from: "honest", at: Self.now)
        for round in 0..<20 {
            let state = NotificationState(status: .activated, date: Self.now + 1e9)
            _ = table.merge(Self.flood(NotificationStates.max, state), from: "liar \(round / 15)", at: Self.now)
        }
        #expect(table[Self.key] == dismissed && table[honest] == dismissed)
        #expect(table.all.count == 2 + 2 * NotificationStates.maxPerSource)
    }

    /// The first system reads a table of the second, as its daemon does.
    private static func read(_ table: NotificationStates, of system: String, into reader: inout NotificationStates) {
        let (passedOn, own) = (table.all.filter { table.sources(of: $0.key) != nil }, table.all)
        _ = reader.merge(own.filter { passedOn[$0.key] == nil }, from: system, at: self.now)
        _ = reader.merge(passedOn, from: NotificationStates.relays, at: self.now)
    }

    @Test func `what a system invents displaces nothing of those that believe it and pass it on`() {
        let dismissed = NotificationState(status: .dismissed, date: Self.now - 86_400)
        let invented = NotificationState(status: .activated, date: Self.now)
        let honest = (0..<7).map { _ in Self.flood(100, dismissed) }
        var relays = honest.map { own in
            var table = NotificationStates()
            _ = table.merge(own, at: Self.now)
            return table
        }
        var reader = NotificationStates()
        for _ in 0..<3 {
            for number in relays.indices {
                // Each reads something else, all of it new.
                _ = relays[number].merge(Self.flood(192, invented), from: "liar", at: Self.now)
                Self.read(relays[number], of: "\(number)", into: &reader)
            }
        }
        for own in honest { #expect(own.keys.allSatisfy { reader[$0] == dismissed }) }
        #expect(reader.all.count == 700 + NotificationStates.maxPerSource)
        // Also if the table is full.
        for number in 0..<3 { _ = reader.merge(Self.flood(100, invented), from: "other \(number)", at: Self.now) }
        for own in honest { #expect(own.keys.allSatisfy { reader[$0] == dismissed }) }
        #expect(reader.all.count == NotificationStates.max)
    }

    @Test func `of what is known of a waiting notification only the latest snooze and that it is read are kept`() {
        let snoozes = (0..<1024).map { second in
            NotificationState(status: .waiting, date: Self.now, snoozedUntil: Self.now + 600 + Double(second))
        }
        func records(_ states: [NotificationState]) -> [Key: NotificationState] {
            Dictionary(uniqueKeysWithValues: states.map { (Self.delivery.record($0), $0) })
        }
        let all = records(snoozes + [Self.waiting[0]])
        let kept = records([snoozes[1023], Self.waiting[0]])
        // At once, and one after the other in both orders.
        var table = NotificationStates()
        #expect(table.merge(all, at: Self.now).put == kept && table.all == kept)
        for states in [snoozes, snoozes.reversed()] {
            var table = NotificationStates()
            for state in [Self.waiting[0]] + states { _ = table.merge(records([state]), at: Self.now) }
            #expect(table.all == kept)
            // The shorter ones of others change nothing.
            #expect(table.merge(all, at: Self.now) == NotificationStates.Change())
        }
        // One record states what both do.
        var read = snoozes[1023]
        read.isRead = true
        let change = table.merge(records([read]), at: Self.now)
        #expect(change == NotificationStates.Change(put: records([read]), dropped: Set(kept.keys)))
    }

    @Test(arguments: [NotificationState.Status.dismissed, .activated, .waiting])
    func `a sender that ends or hides its own notifications displaces nothing of others`(
        status: NotificationState.Status
    ) {
        var table = NotificationStates()
        let dismissed = NotificationState(status: .dismissed, date: Self.now - 86_400)
        _ = table.merge([Self.key: dismissed], at: Self.now)
        let direct = Self.flood(20, dismissed)
        _ = table.merge(direct, from: "direct", at: Self.now)
        let passedOn = Self.flood(20, dismissed)
        _ = table.merge(passedOn, from: NotificationStates.relays, at: Self.now)
        for number in 0..<(NotificationStates.max + 100) {
            let delivery = NotificationState.Key(systemID: "sender \(number % 20)", deliveryID: UUID())
            let state = NotificationState(status: status, date: Self.now, isRead: status == .waiting)
            // A linked account certifies any number of systems.
            let key = delivery.record(state)
            _ = table.merge([key: state], senders: [key: "account"], at: Self.now)
        }
        #expect(table[Self.key] == dismissed)
        #expect(
            direct.keys.allSatisfy { table[$0] == dismissed } && passedOn.keys.allSatisfy { table[$0] == dismissed }
        )
        #expect(table.all.count == NotificationStates.max)
    }

    @Test func `what was passed on is forgotten first when the table is full`() {
        var table = NotificationStates()
        let state = NotificationState(status: .activated, date: Self.now)
        let passedOn = Self.flood(NotificationStates.maxPerSource, state)
        _ = table.merge(passedOn, from: NotificationStates.relays, at: Self.now)
        let old = NotificationState(status: .dismissed, date: Self.now - 86_400)
        let direct = (0..<6).map { _ in Self.flood(150, old) }
        for (number, states) in direct.enumerated() { _ = table.merge(states, from: "\(number)", at: Self.now) }
        #expect(direct.allSatisfy { $0.keys.allSatisfy { table[$0] == old } })
        let left = passedOn.keys.count { table[$0] != nil }
        #expect(left == NotificationStates.max - 900)
    }

    @Test func `a system that repeats what others have published cannot make it forgotten`() {
        var table = NotificationStates()
        let dismissed = NotificationState(status: .dismissed, date: Self.now - 86_400)
        let honest = Self.flood(100, dismissed)
        // The liar is read first.
        _ = table.merge(honest, from: "liar", at: Self.now)
        _ = table.merge(honest, from: "honest", at: Self.now)
        let invented = NotificationState(status: .activated, date: Self.now)
        for _ in 0..<3 { _ = table.merge(Self.flood(192, invented), from: "liar", at: Self.now) }
        #expect(honest.keys.allSatisfy { table[$0] == dismissed })
        #expect(table.all.count == 100 + NotificationStates.maxPerSource)
    }

    @Test func `what concerns this system only now is published so`() {
        var table = NotificationStates()
        let dismissed = NotificationState(status: .dismissed, date: Self.now)
        _ = table.merge([Self.key: dismissed], from: NotificationStates.relays, at: Self.now)
        #expect(table.sources(of: Self.key) == [NotificationStates.relays])
        #expect(table.merge([Self.key: dismissed], at: Self.now).put == [Self.key: dismissed])
        #expect(table.sources(of: Self.key) == nil)
        // It stays so, whatever others publish.
        #expect(table.merge([Self.key: dismissed], from: "other", at: Self.now) == NotificationStates.Change())
        #expect(table.sources(of: Self.key) == nil)
    }

    @Test func `of a table that is new each time few states are taken over`() {
        var table = NotificationStates()
        let state = NotificationState(status: .activated, date: Self.now)
        #expect(table.merge(Self.flood(4096, state), from: "liar", at: Self.now).put.count == 192)
        let change = table.merge(Self.flood(4096, state), from: "liar", at: Self.now)
        #expect(change.put.count + change.dropped.count <= 2 * 192)
    }

    @Test func `what senders withdraw is forgotten before what the user has done`() {
        var table = NotificationStates()
        let old = NotificationState(status: .dismissed, date: Self.now - 86_400)
        _ = table.merge([Self.key: old], at: Self.now)
        for number in 0..<(2 * NotificationStates.max) {
            let state = NotificationState(status: .withdrawn, date: Self.now - Double(number))
            _ = table.merge([Self.end(): state], at: Self.now)
        }
        #expect(table[Self.key] == old && table.all.count == NotificationStates.max)
    }

    @Test func `a state is known for 31 days, longer than a notification waits, and a wrong clock does not extend it`()
    {
        var table = NotificationStates()
        let life = NotificationStates.life
        #expect(life > Double(RemoteNotification.maxExpiration))
        let future = NotificationState(status: .activated, date: Self.now + 1e9)
        #expect(table.merge([Self.key: future], at: Self.now).put[Self.key]?.date == Self.now)
        #expect(table.merge([:], at: Self.now + life - 1) == NotificationStates.Change())
        #expect(table.merge([:], at: Self.now + life).dropped == [Self.key])
        // A system that was away for longer brings nothing back.
        let late = NotificationState(status: .activated, date: Self.now)
        #expect(table.merge([Self.key: late], at: Self.now + life) == NotificationStates.Change())
    }

    private static let deliveryID = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"

    /// What is no id of a system, such as one of three spellings of the same character, and a delivery in upper case.
    private static let noKeys: [String] = [
        "", ".", "s", "s.", ".\(Self.deliveryID)", "s.\(Self.deliveryID)", "\(Self.system).no-uuid",
        "\u{1EC7}.\(Self.deliveryID)", "e\u{323}\u{302}.\(Self.deliveryID)", "\u{1EB9}\u{302}.\(Self.deliveryID)",
        "\(Self.system.uppercased()).\(Self.deliveryID)", "\(Self.system).\(Self.deliveryID.uppercased())",
    ]

    @Test(arguments: Self.noKeys)
    func `what is no key, or another spelling of one, is ignored`(text: String) {
        #expect(Key(text, .dismissed) == nil && Key(text, .waiting) == nil)
        #expect(Key("\(Self.system).\(Self.deliveryID)", .dismissed) != nil)
    }

    @Test func `a state survives its published form, and one of a later version is ignored`() throws {
        for state in Self.states { #expect(NotificationState(state.valueSet) == state) }
        #expect(NotificationState(["Status": "archived", "Date": .date(Self.now)]) == nil)
        #expect(NotificationState(["Status": "activated"]) == nil)
        #expect(NotificationState(["Status": "waiting", "Date": .date(Self.now), "Archived": true])?.isRead == false)
        // Only what waits is read or snoozed.
        let ended = NotificationState(["Status": "dismissed", "Date": .date(Self.now), "Read": true])
        #expect(ended == NotificationState(status: .dismissed, date: Self.now))
        let record = try NotificationRecord(Self.states[0], of: Self.key, from: nil, sender: "account")
        #expect(try record.state() == (Self.states[0], key: Self.key, sources: nil, sender: "account"))
        let sources: Set<String> = ["other", NotificationStates.relays]
        let merged = try NotificationRecord(Self.states[0], of: Self.key, from: sources, sender: nil)
        #expect(try merged.state().sources == sources)
        let waiting = Self.delivery.record(Self.waiting[1])
        #expect(try NotificationRecord(Self.waiting[1], of: waiting, from: nil, sender: "s").state().key == waiting)
    }
}
