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
    /// Every status, at two dates.
    private static let states = NotificationState.Status.allCases.flatMap { status in
        [1.0, 2.0].map { NotificationState(status: status, date: Self.now - $0) }
    }

    @Test func `any number of merges in any order and grouping has one result (X-40)`() {
        for a in Self.states {
            #expect(a.merged(with: a) == a)
            for b in Self.states {
                #expect(a.merged(with: b).status == b.merged(with: a).status)
                for c in Self.states {
                    let status = a.merged(with: b).merged(with: c).status
                    #expect(status == a.merged(with: b.merged(with: c)).status)
                    #expect(status == [a, b, c].map(\.status).max())
                }
            }
        }
    }

    /// Three systems act on one notification and read each other's tables: every state of the model is visited.
    @Test func `systems agree in the end, whichever acts, reads or is away, and nothing comes back (X-40)`() {
        struct World: Hashable {
            /// What each system knows; `nil` for a notification that it still shows.
            var known: [NotificationState?]
        }
        var (seen, open, quiet) = (Set<World>(), [World(known: [nil, nil, nil])], 0)
        while let world = open.popLast() {
            guard seen.insert(world).inserted else { continue }
            var next: [World] = []
            for system in 0..<3 {
                // The user or the sender acts where the notification is still shown.
                for state in Self.states where world.known[system] == nil {
                    var after = world
                    after.known[system] = state
                    next.append(after)
                }
                for other in 0..<3 where other != system {
                    guard let published = world.known[other] else { continue }
                    var table = NotificationStates()
                    if let own = world.known[system] { table.restore(own, for: Self.key) }
                    // Their clocks are a week apart.
                    _ = table.merge([Self.key: published], at: Self.now + Double(system - 1) * 7 * 86_400)
                    var after = world
                    after.known[system] = table[Self.key]
                    // What has ended does not come back, and no status is taken back.
                    #expect(after.known[system] != nil)
                    if let own = world.known[system], let new = after.known[system] {
                        #expect(new.status >= own.status)
                    }
                    next.append(after)
                }
            }
            // When reading changes nothing more, all agree.
            if !world.known.contains(nil), next.allSatisfy({ $0 == world }) {
                quiet += 1
                #expect(Set(world.known.map { $0?.status }).count == 1)
            }
            open += next
        }
        #expect(seen.count > 200 && quiet >= Self.states.count)
    }

    @Test func `a response counts more than a dismissal, and a dismissal more than a withdrawal (X-40)`() {
        let ranked: [NotificationState.Status] = [.withdrawn, .dismissed, .activated]
        #expect(ranked.sorted() == ranked && ranked == NotificationState.Status.allCases)
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
        let record = try NotificationRecord(Self.states[0], of: Self.key, from: nil)
        #expect(try record.state() == (Self.states[0], key: Self.key, system: nil))
        let merged = try NotificationRecord(Self.states[0], of: Self.key, from: "other")
        #expect(try merged.state().system == "other")
    }
}
