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

    /// The locks after a round that states this together, and what the login manager has stated.
    private static func locks(_ together: ScreenLocks.State?, login: ScreenLocks.State?) -> ScreenLocks {
        var locks = ScreenLocks()
        let round = locks.ask()
        if let together {
            for (name, _) in ScreenLocks.interfaces { _ = locks.responded(name, together, in: round) }
        }
        if let login { locks.loginReported(login) }
        return locks
    }

    @Test func `the session is unlocked if neither a lock nor the login manager says that it is locked (H-98)`() {
        let states: [ScreenLocks.State] = [.none, .unlocked, .locked, .unknown]
        for together in states {
            for login in states {
                let isLocked = ![together, login].allSatisfy { $0 == .none || $0 == .unlocked }
                #expect(Self.locks(together, login: login).isLocked == isLocked, "\(together) \(login)")
            }
        }
    }

    @Test func `nothing is known before both have responded, unless one says that it is locked`() {
        #expect(Self.locks(nil, login: nil).isLocked == nil)
        #expect(Self.locks(.unlocked, login: nil).isLocked == nil)
        #expect(Self.locks(nil, login: .unlocked).isLocked == nil)
        #expect(Self.locks(.locked, login: nil).isLocked == true)
        #expect(Self.locks(nil, login: .locked).isLocked == true)
    }

    @Test func `a lock that reports that it is unlocked stays locked until it has responded`() {
        var locks = Self.locks(.unlocked, login: .unlocked)
        locks.reportedLocked()
        #expect(locks.isLocked == true)
        locks.reportedUnlocked()
        #expect(locks.isLocked == true)
        let round = locks.ask()
        locks.loginReported(.unlocked)
        #expect(locks.isLocked == true)
        for (name, _) in ScreenLocks.interfaces { _ = locks.responded(name, .unlocked, in: round) }
        #expect(locks.isLocked == false)
    }

    @Test(arguments: [(.none, false), (.unlocked, false), (.locked, true)] as [(ScreenLocks.State, Bool)])
    func `a session whose lock ends or is replaced stays locked until the locks have responded`(
        state: ScreenLocks.State,
        isLocked: Bool
    ) {
        var locks = Self.locks(.locked, login: .unlocked)
        locks.changedOwner()
        #expect(locks.canAsk)
        #expect(locks.isLocked == true)
        let round = locks.ask()
        #expect(locks.isLocked == true)
        for (name, _) in ScreenLocks.interfaces {
            _ = locks.responded(name, name == Self.first ? state : .none, in: round)
        }
        #expect(locks.isLocked == isLocked)
    }

    @Test(
        arguments: [
            ("org.freedesktop.login1.NoSessionForPID", .none), ("org.freedesktop.DBus.Error.ServiceUnknown", .none),
            ("org.freedesktop.DBus.Error.UnknownProperty", .none), ("org.freedesktop.DBus.Error.AccessDenied", .none),
            ("org.freedesktop.DBus.Error.NoReply", .unknown), (nil, .unknown),
        ] as [(String?, ScreenLocks.State)]
    )
    func `a login manager that knows no session does not lock it, and one that does not respond does`(
        error: String?,
        state: ScreenLocks.State
    ) {
        #expect(ScreenLocks.State(ofLoginManager: MessageBus.Failure(name: error)) == state)
    }

    @Test(arguments: [ScreenLocks.State.locked, .unlocked])
    func `a session of which the login manager has stated something stays locked while the bus is away`(
        stated: ScreenLocks.State
    ) {
        var login = LoginLockState()
        #expect(login.responded(stated) == stated)
        #expect(login.responded(stated) == nil)
        #expect(login.ended() == .unknown)
        // The system bus accepts no connection, or has no login manager yet, any number of times.
        for _ in 0..<3 { #expect(login.absent() == nil) }
        #expect(login.responded(.unlocked) == .unlocked)
        // Also if the end of the connection was not noticed before.
        #expect(login.absent() == .unknown)
    }

    @Test func `a system without a bus or a login manager locks no session`() {
        var login = LoginLockState()
        #expect(login.absent() == ScreenLocks.State.none)
        #expect(login.absent() == nil)
        #expect(login.responded(.unknown) == .unknown)
        #expect(login.responded(.none) == ScreenLocks.State.none)
        #expect(login.ended() == .unknown)
        #expect(login.absent() == ScreenLocks.State.none)
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
