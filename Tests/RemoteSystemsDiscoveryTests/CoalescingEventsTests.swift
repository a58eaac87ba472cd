// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import RemoteSystemsDiscovery

@Suite struct CoalescingEventsTests {
    typealias Note = CoalescingBufferTests.Note

    @MainActor @Test func `a cancelled reader acts on its end in its own task, not in the call that cancels it`() async
    {
        let (events, feed) = CoalescingEvents<Note>.make(limit: 10) { nil }
        let hasActed = Mutex(false)
        feed.onEnd { hasActed.withLock { $0 = true } }
        var hasBegun = false
        let reader = Task { @MainActor in
            hasBegun = true
            for await _ in events {}
        }
        while !hasBegun { await Task.yield() }
        reader.cancel()
        // The reader needs the main actor, which this test has.
        #expect(!hasActed.withLock { $0 })
        await reader.value
        #expect(hasActed.withLock { $0 })
    }

    @Test func `the action of the end is called once, also when it is set after the end`() {
        let calls = Mutex(0)
        var made: CoalescingEvents<Note>? = nil
        let feed: CoalescingEvents<Note>.Feed
        (made, feed) = CoalescingEvents<Note>.make(limit: 10) { nil }
        feed.onEnd { calls.withLock { $0 += 1 } }
        #expect(made != nil)
        made = nil
        feed.end()
        #expect(calls.withLock { $0 } == 1)
        feed.onEnd { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 2)
    }
}
