// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import RemoteSystemsDiscovery
import Testing

/// Defaults of a source that implements only the requirements, and a source that overrides them.
@Suite struct DiscoverySourceTests {
    /// A source as another package may implement it.
    private struct Source: DiscoverySource {
        var name: String { "test" }
        var origin: DiscoveryOrigin
        var events: [DiscoveryEvent]

        func browse() -> DiscoveryEvents {
            let (events, feed) = DiscoveryEvents.makeStream()
            for event in self.events { feed.yield(event) }
            feed.finish()
            return events
        }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}
    }

    /// A source that only browses.
    private struct PlainSource: DiscoverySource {
        var name: String { "plain" }
        func browse() -> DiscoveryEvents { DiscoveryEvents.makeStream().events }
        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}
    }

    private static func hint(_ instance: String) -> DiscoveryHint {
        DiscoveryHint(
            id: instance,
            instance: instance,
            endpoints: [DiscoveryEndpoint(address: "192.0.2.1", port: 1)]
        )
    }

    @Test func `a source without further declarations finds neighbours by advertisements`() async {
        let source = PlainSource()
        #expect(source.discoveryType == .proximal)
        #expect(source.origin == .announced)
        #expect(await source.diagnose(advertisements: 5_000).isEmpty)
    }

    @Test func `static peers are configured and may be anywhere`() throws {
        let source: any DiscoverySource = try StaticPeers([], logger: Logger(label: "test"))
        #expect(source.discoveryType == .cloud)
        #expect(source.origin == .configured)
    }

    @Test func `a browse for some instances reports all unless the source implements the filter`() async {
        let events: [DiscoveryEvent] = [.appeared(Self.hint("a")), .appeared(Self.hint("b")), .settled]
        let source = Source(origin: .announced, events: events)
        var seen: [DiscoveryEvent] = []
        for await event in source.browse(following: { $0.instance == "a" }) { seen.append(event) }
        #expect(seen == events)
    }

    @Test(
        arguments: [
            ([], false), ([.settled], false), ([.appeared(hint("b")), .settled], false), ([.vanished("a")], false),
            ([.appeared(hint("b")), .appeared(hint("a"))], true), ([.changed(hint("a"))], true),
        ] as [([DiscoveryEvent], Bool)]
    )
    func `listening for an instance returns once it is advertised`(events: [DiscoveryEvent], isHeard: Bool) async {
        #expect(await Source(origin: .announced, events: events).hears(anyOf: ["a", "c"]) == isHeard)
        #expect(await Source(origin: .configured, events: events).hears(anyOf: ["a", "c"]) == false)
    }

    @Test func `listening for an instance ends when its task is cancelled`() async {
        let listening = Task { await PlainSource().hears(anyOf: ["a"]) }
        listening.cancel()
        #expect(await listening.value == false)
    }
}
