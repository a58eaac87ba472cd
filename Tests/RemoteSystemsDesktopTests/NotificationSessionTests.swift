// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import Testing

@testable import RemoteSystemsDesktop

/// What a connection to a notification server knows of it.
@Suite struct NotificationSessionTests {
    @Test func `a server counts as silent while a call is late, and while it is left alone`() {
        let now = ContinuousClock.now
        var state = NotificationSession.State(places: [:])
        #expect(!state.isSilent(at: now))
        state.waiting = .init(call: 1, since: now)
        #expect(!state.isSilent(at: now + .milliseconds(1999)))
        #expect(state.isSilent(at: now + .seconds(2)))
        state.waiting = nil
        state.pause = now + .seconds(30)
        #expect(state.isSilent(at: now + .milliseconds(29_999)))
        #expect(!state.isSilent(at: now + .seconds(30)))
    }

    @Test(arguments: [true, false])
    func `notifications for another state of the lock than the present one are outdated`(isLocked: Bool) {
        let (_, feed) = AsyncStream.makeStream(of: DesktopNotificationEvent.self)
        let session = NotificationSession(feed, places: [:], Logger(label: "test"))
        func isOutdated(_ presented: Bool?) -> Bool {
            session.present([], isLocked: presented)
            return session.state.withLock { $0.isOutdated }
        }
        #expect(!isOutdated(nil))
        session.state.withLock { state in
            let round = state.locks.ask()
            for (name, _) in ScreenLocks.interfaces { _ = state.locks.responded(name, .none, in: round) }
            state.locks.loginReported(isLocked ? .locked : .unlocked)
        }
        // Made before the report of the lock has arrived, also at the start.
        #expect(isOutdated(nil))
        #expect(isOutdated(!isLocked))
        #expect(!isOutdated(isLocked))
        // The report of an earlier state arrives after the list for the present one.
        #expect(isOutdated(!isLocked))
    }
}
