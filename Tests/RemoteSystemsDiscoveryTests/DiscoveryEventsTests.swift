// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

@Suite struct DiscoveryEventsTests {
    private func hint(_ id: String, port: Int = 1) -> DiscoveryHint {
        DiscoveryHint(id: id, instance: id, endpoints: [DiscoveryEndpoint(address: "10.0.0.1", port: port)])
    }

    @Test func `buffered events are delivered in order, then new ones as they arrive`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        feed.yield(.appeared(hint("a")))
        feed.yield(.settled)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == .appeared(hint("a")))
        #expect(await iterator.next() == .settled)
        async let next = iterator.next()
        feed.yield(.vanished("a"))
        #expect(await next == .vanished("a"))
    }

    @Test func `finishing ends the sequence after the buffered events`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        feed.yield(.appeared(hint("a")))
        feed.finish()
        feed.yield(.appeared(hint("b")))
        var reported: [DiscoveryEvent] = []
        for await event in events { reported.append(event) }
        #expect(reported == [.appeared(hint("a"))])
    }

    @Test func `cancelling the listener's task ends the browse`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        let (ended, ending) = AsyncStream<Void>.makeStream()
        feed.onEnd { ending.finish() }
        let task = Task {
            var count = 0
            for await _ in events { count += 1 }
            return count
        }
        task.cancel()
        #expect(await task.value == 0)
        for await _ in ended {}
    }

    @Test func `releasing the sequence ends the browse`() async {
        let (ended, ending) = AsyncStream<Void>.makeStream()
        do {
            let (events, feed) = DiscoveryEvents.makeStream()
            feed.onEnd { ending.finish() }
            feed.yield(.settled)
            var iterator = events.makeAsyncIterator()
            #expect(await iterator.next() == .settled)
        }
        for await _ in ended {}
    }

    @Test func `an end callback that is set after the end is called at once`() async {
        let (ended, ending) = AsyncStream<Void>.makeStream()
        let feed = DiscoveryEvents.makeStream().feed
        feed.onEnd { ending.finish() }
        for await _ in ended {}
    }

    @Test func `too many hints are reported as trouble, once`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        for number in 0..<(DiscoveryLimits.hints + 10) { feed.yield(.appeared(hint("\(number)"))) }
        feed.finish()
        var appeared = 0
        var troubles: [DiscoveryProblem.Code] = []
        for await event in events {
            switch event {
            case .appeared: appeared += 1
            case .trouble(let trouble): troubles.append(trouble.code)
            default: Issue.record("unexpected \(event)")
            }
        }
        #expect(appeared == DiscoveryLimits.hints)
        #expect(troubles == [.tooManyHints])
    }

    @Test func `a trouble that ended before anyone listened is not reported`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        feed.yield(.trouble(.daemonUnavailable))
        feed.yield(.recovered(.daemonUnavailable))
        feed.yield(.settled)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == .settled)
    }

    @Test func `the end of a reported trouble is reported`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        var iterator = events.makeAsyncIterator()
        feed.yield(.trouble(.daemonUnavailable))
        #expect(await iterator.next() == .trouble(.daemonUnavailable))
        feed.yield(.recovered(.daemonUnavailable))
        #expect(await iterator.next() == .recovered(.daemonUnavailable))
    }

    @Test func `a second listener replaces the first, whose sequence ends`() async {
        let (events, feed) = DiscoveryEvents.makeStream()
        let listeners = (0..<2).map { _ in
            Task {
                var iterator = events.makeAsyncIterator()
                return await iterator.next()
            }
        }
        // One of the two ends without an event as soon as both wait. The other gets the event.
        let ended = await withTaskGroup { group in
            for listener in listeners { group.addTask { await listener.value } }
            let first = await group.next()
            feed.yield(.settled)
            return (first, await group.next())
        }
        #expect(ended == (.some(nil), .some(.settled)))
    }
}
