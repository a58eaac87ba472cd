// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDesktop

/// What the screen locks of a session state together.
@Suite struct ScreenLocksTests {
    private static let (first, second) = (ScreenLocks.interfaces[0].0, ScreenLocks.interfaces[1].0)

    @Test(
        arguments: [
            "ServiceUnknown", "NameHasNoOwner", "UnknownMethod", "UnknownObject", "UnknownInterface", "NotSupported",
        ]
    )
    func `these errors mean that there is no such lock`(name: String) {
        let failure = MessageBus.Failure(name: "org.freedesktop.DBus.Error.\(name)")
        #expect(ScreenLocks.State(failure) == .none)
    }

    @Test(arguments: [nil, "NoReply", "AccessDenied", "Failed", "TimedOut", "Disconnected"])
    func `any other failure leaves it unknown`(name: String?) {
        let failure = MessageBus.Failure(name: name.map { "org.freedesktop.DBus.Error.\($0)" }, isTimeout: name == nil)
        #expect(ScreenLocks.State(failure) == .unknown)
        #expect(ScreenLocks.State(isActive: nil) == .unknown)
    }

    @Test(
        arguments: [
            (.none, .none, .none), (.none, .unlocked, .unlocked), (.unlocked, .locked, .locked),
            (.unknown, .unlocked, .unknown), (.none, .unknown, .unknown), (.locked, .unknown, .locked),
        ] as [(ScreenLocks.State, ScreenLocks.State, ScreenLocks.State)]
    )
    func `the session is unlocked if each lock says so or does not exist`(
        one: ScreenLocks.State,
        other: ScreenLocks.State,
        together: ScreenLocks.State
    ) {
        var locks = ScreenLocks()
        let round = locks.ask()
        let others = ScreenLocks.interfaces.dropFirst(2).map { locks.responded($0.0, .none, in: round) }
        let (early, late) = (
            locks.responded(Self.first, one, in: round), locks.responded(Self.second, other, in: round)
        )
        #expect(others.allSatisfy { $0 == nil })
        #expect(early == nil)
        #expect(late == together)
    }

    @Test(arguments: ["freedesktop", "gnome", "cinnamon", "mate", "xfce"])
    func `the lock of each desktop is asked`(desktop: String) {
        var locks = ScreenLocks()
        let round = locks.ask()
        let states = ScreenLocks.interfaces.map { name, path in
            let isAsked = name == "org.\(desktop).ScreenSaver" && path == "/org/\(desktop)/ScreenSaver"
            return locks.responded(name, isAsked ? .locked : .none, in: round)
        }
        #expect(states.compactMap(\.self) == [.locked])
    }

    @Test func `a report that the session is locked ends the round, and one that it is unlocked begins one`() {
        var locks = ScreenLocks()
        #expect(locks.isDue)
        let round = locks.ask()
        _ = locks.responded(Self.first, .unlocked, in: round)
        locks.reportedLocked()
        let late = ScreenLocks.interfaces.dropFirst().map { locks.responded($0.0, .unlocked, in: round) }
        #expect(late.allSatisfy { $0 == nil })
        #expect(!locks.isDue)
        locks.reportedUnlocked()
        #expect(locks.isDue)
    }

    @Test func `a lock that did not respond is asked again, once`() {
        var locks = ScreenLocks()
        let round = locks.ask()
        locks.retry(after: round)
        #expect(locks.isDue)
        _ = locks.ask()
        locks.retry(after: round)
        #expect(!locks.isDue)
    }
}
