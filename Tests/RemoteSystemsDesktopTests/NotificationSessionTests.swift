// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

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
}
