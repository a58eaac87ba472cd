// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValueSets

@testable import UserNotifications

/// The rules by which systems agree how notifications have ended.
@Suite struct NotificationStatesTests {
    private typealias Key = NotificationState.Key

    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let key = Key(systemID: "s", deliveryID: UUID())
    /// Every end, at two dates.
    private static let ends = NotificationState.Status.allCases.filter { $0 != .waiting }.flatMap { status in
        [1.0, 2.0].map { NotificationState(status: status, date: Self.now - $0) }
    }
    /// What the user can do with one that waits: read it, snooze it for two times, or both.
    private static let waiting: [NotificationState] =
        ([
            (true, nil), (false, 600), (true, 600), (false, 1200), (true, 1200),
        ] as [(Bool, Double?)]).map { isRead, seconds in
            let until = seconds.map { Self.now + $0 }
            return NotificationState(status: .waiting, date: Self.now - 1, isRead: isRead, snoozedUntil: until)
        }
    private static let states = Self.ends + Self.waiting

    /// A state without its date, which each system knows differently.
    private static func fact(_ state: NotificationState) -> NotificationState {
        var state = state
        state.date = Self.now
        return state
    }

    /// Whether nothing of a state is taken back by a later one.
    private static func keeps(_ later: NotificationState, _ earlier: NotificationState) -> Bool {
        guard later.status == .waiting else {
            return later.status >= earlier.status && !later.isRead && later.snoozedUntil == nil
        }
        return earlier.status == .waiting && (later.isRead || !earlier.isRead)
            && (later.snoozedUntil ?? .distantPast) >= (earlier.snoozedUntil ?? .distantPast)
    }

    @Test func `any number of merges in any order and grouping has one result (X-40)`() {
        for a in Self.states {
            #expect(a.merged(with: a) == a)
            for b in Self.states {
                #expect(Self.fact(a.merged(with: b)) == Self.fact(b.merged(with: a)))
                for c in Self.states {
                    let merged = Self.fact(a.merged(with: b).merged(with: c))
                    #expect(merged == Self.fact(a.merged(with: b.merged(with: c))))
                    let status = [a, b, c].map(\.status).max() ?? .waiting
                    let counting = [a, b, c].filter { $0.status == status }
                    #expect(merged.status == status)
                    #expect(merged.isRead == counting.contains { $0.isRead })
                    #expect(merged.snoozedUntil == counting.compactMap(\.snoozedUntil).max())
                }
            }
        }
    }

    /// Three systems act on one notification and read each other's tables: every state of the model is visited.
    @Test func `systems agree in the end, whichever acts, reads or is away, and nothing comes back (X-40)`() {
        struct World: Hashable {
            /// What each system knows; `nil` for a notification with which nothing was done yet.
            var known: [NotificationState?]
        }
        let actions = Self.states.filter { $0.date == Self.now - 1 }
        var (seen, open, quiet) = (Set<World>(), [World(known: [nil, nil, nil])], 0)
        while let world = open.popLast() {
            guard seen.insert(world).inserted else { continue }
            var (acted, read) = ([World](), [World]())
            for system in 0..<3 {
                let own = world.known[system]
                // The user or the sender acts where the notification still waits.
                for action in actions where (own?.status ?? .waiting) == .waiting {
                    var after = world
                    after.known[system] = own?.merged(with: action) ?? action
                    acted.append(after)
                }
                for other in 0..<3 where other != system {
                    guard let published = world.known[other] else { continue }
                    var table = NotificationStates()
                    if let own { table.restore(own, for: Self.key) }
                    // Their clocks are a week apart.
                    _ = table.merge([Self.key: published], at: Self.now + Double(system - 1) * 7 * 86_400)
                    var after = world
                    after.known[system] = table[Self.key]
                    // What has ended does not come back, and what was read or snoozed stays so.
                    guard let new = table[Self.key], own.map({ Self.keeps(new, $0) }) ?? true else {
                        Issue.record("Something was taken back: \(world)")
                        return
                    }
                    read.append(after)
                }
            }
            // When reading changes nothing more, all agree.
            if !world.known.contains(nil), read.allSatisfy({ $0 == world }) {
                quiet += 1
                #expect(Set(world.known.map { $0.map(Self.fact) }).count == 1)
            }
            open += acted + read
        }
        #expect(seen.count > 1000 && quiet >= actions.count)
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
            #expect(table.merge([Self.key: state], at: Self.now) == NotificationStates.Change())
            #expect(table.merge([Self.key: Self.waiting[0]], at: Self.now).put.count == 1)
        }
    }

    @Test func `what was read or snoozed is forgotten before any end`() {
        var table = NotificationStates()
        _ = table.merge([Self.key: Self.waiting[0]], at: Self.now)
        for _ in 0..<NotificationStates.max {
            let state = NotificationState(status: .withdrawn, date: Self.now - 86_400)
            _ = table.merge([Key(systemID: "s", deliveryID: UUID()): state], at: Self.now)
        }
        #expect(table[Self.key] == nil && table.all.count == NotificationStates.max)
    }

    @Test func `the table has 1024 states, and forgets the oldest first`() {
        var table = NotificationStates()
        func state(_ age: Int) -> NotificationState { .init(status: .dismissed, date: Self.now - Double(age)) }
        let keys = (0..<NotificationStates.max).map { _ in Key(systemID: "s", deliveryID: UUID()) }
        let first = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, state(1000 + $0)) })
        #expect(table.merge(first, at: Self.now).put.count == NotificationStates.max)
        let change = table.merge([Self.key: state(1)], at: Self.now)
        #expect(Set(change.put.keys) == [Self.key])
        #expect(change.dropped == [keys[NotificationStates.max - 1]])
        #expect(table.all.count == NotificationStates.max)
        // One that is older than all others comes and goes at once.
        let old = Key(systemID: "s", deliveryID: UUID())
        #expect(table.merge([old: state(10_000)], at: Self.now) == NotificationStates.Change())
        #expect(table[old] == nil)
    }

    @Test func `a system that publishes what never was displaces nothing that others know`() {
        var table = NotificationStates()
        let dismissed = NotificationState(status: .dismissed, date: Self.now - 86_400)
        _ = table.merge([Self.key: dismissed], at: Self.now)
        let honest = Key(systemID: "t", deliveryID: UUID())
        _ = table.merge([honest: dismissed], from: "honest", at: Self.now)
        for round in 0..<20 {
            let state = NotificationState(status: .activated, date: Self.now + 1e9)
            let keys = (0..<NotificationStates.max).map { _ in Key(systemID: "s", deliveryID: UUID()) }
            let flood = Dictionary(uniqueKeysWithValues: keys.map { ($0, state) })
            _ = table.merge(flood, from: "liar \(round / 15)", at: Self.now)
        }
        #expect(table[Self.key] == dismissed && table[honest] == dismissed)
        #expect(table.all.count == 2 + 2 * NotificationStates.maxPerSource)
    }

    @Test func `what senders withdraw is forgotten before what the user has done`() {
        var table = NotificationStates()
        let old = NotificationState(status: .dismissed, date: Self.now - 86_400)
        _ = table.merge([Self.key: old], at: Self.now)
        for number in 0..<(2 * NotificationStates.max) {
            let state = NotificationState(status: .withdrawn, date: Self.now - Double(number))
            _ = table.merge([Key(systemID: "s", deliveryID: UUID()): state], at: Self.now)
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

    @Test(arguments: ["", ".", "s", "s.", ".6F9619FF-8B86-D011-B42D-00CF4FC964FF", "s.no-uuid"])
    func `what is no key is ignored`(text: String) { #expect(Key(text) == nil) }

    @Test func `a state survives its published form, and one of a later version is ignored`() throws {
        for state in Self.states { #expect(NotificationState(state.valueSet) == state) }
        #expect(Key(Self.key.text) == Self.key)
        #expect(NotificationState(["Status": "archived", "Date": .date(Self.now)]) == nil)
        #expect(NotificationState(["Status": "activated"]) == nil)
        #expect(NotificationState(["Status": "waiting", "Date": .date(Self.now), "Archived": true])?.isRead == false)
        // Only what waits is read or snoozed.
        let ended = NotificationState(["Status": "dismissed", "Date": .date(Self.now), "Read": true])
        #expect(ended == NotificationState(status: .dismissed, date: Self.now))
        let record = try NotificationRecord(Self.states[0], of: Self.key, from: nil)
        #expect(try record.state() == (Self.states[0], key: Self.key, system: nil))
        let merged = try NotificationRecord(Self.states[0], of: Self.key, from: "other")
        #expect(try merged.state().system == "other")
    }
}
