// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import RemoteSystemsDiscovery

@Suite struct StaticPeersTests {
    @Test(arguments: [
        ("host:1", "host", 1), ("10.0.0.1:65535", "10.0.0.1", 65535), ("[::1]:80", "::1", 80),
        ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
    ])
    func `a peer is written as host and port`(_ text: String, _ host: String, _ port: Int) throws {
        let peer = try StaticPeer(text)
        #expect(peer.host == host)
        #expect(peer.port == port)
        #expect(peer.description == text)
    }

    @Test(arguments: ["", "host", ":1", "host:", "host:0", "host:65536", "::1:80", "[::1:80", "a b:1", "user@host:1"])
    func `text other than host and port is refused`(_ text: String) {
        let error = #expect(throws: DiscoveryError.self) { try StaticPeer(text) }
        #expect(error?.code == .invalidPeer)
    }

    @Test func `configured addresses are reported unchanged, then the browse settles`() async throws {
        let source = try StaticPeers([try StaticPeer("127.0.0.1:9")], logger: Logger(label: "test"))
        var events = source.browse().makeAsyncIterator()
        let endpoint = DiscoveryEndpoint(address: "127.0.0.1", port: 9)
        #expect(
            await events.next()
                == .appeared(DiscoveryHint(id: "127.0.0.1:9", instance: "127.0.0.1:9", endpoints: [endpoint]))
        )
        #expect(await events.next() == .settled)
    }

    @Test func `a name that cannot be resolved is a trouble, and other peers are reported`() async throws {
        let endpoint = DiscoveryEndpoint(address: "10.0.0.1", port: 1)
        let source = StaticPeers(
            [try StaticPeer("bad:1"), try StaticPeer("good:1"), try StaticPeer("good:1")],
            interval: .seconds(60),
            logger: Logger(label: "test")
        ) { peer throws(NameResolver.Failure) in
            if peer.host == "bad" { throw NameResolver.Failure(reason: "no such name") }
            return [endpoint]
        }
        var events = source.browse().makeAsyncIterator()
        #expect(
            await events.next() == .appeared(DiscoveryHint(id: "good:1", instance: "good:1", endpoints: [endpoint]))
        )
        guard case .trouble(let trouble) = await events.next() else {
            Issue.record("no trouble reported")
            return
        }
        #expect(trouble.code == .nameNotResolved)
        #expect(trouble.message.contains("bad:1"))
        #expect(await events.next() == .settled)
    }

    @Test func `a name that takes long to resolve delays no other peer`() async throws {
        let endpoint = DiscoveryEndpoint(address: "10.0.0.1", port: 1)
        let (released, release) = AsyncStream<Void>.makeStream()
        let source = StaticPeers(
            [try StaticPeer("slow:1"), try StaticPeer("10.0.0.1:1")],
            interval: .seconds(60),
            logger: Logger(label: "test")
        ) { peer throws(NameResolver.Failure) in
            if peer.host == "slow" { for await _ in released {} }
            return [endpoint]
        }
        var events = source.browse().makeAsyncIterator()
        let first = await events.next()
        #expect(
            first == .appeared(DiscoveryHint(id: "10.0.0.1:1", instance: "10.0.0.1:1", endpoints: [endpoint]))
        )
        release.finish()
        let second = await events.next()
        #expect(second == .appeared(DiscoveryHint(id: "slow:1", instance: "slow:1", endpoints: [endpoint])))
    }

    @Test func `names that take long to resolve do not delay an address, however many they are`() async throws {
        let endpoint = DiscoveryEndpoint(address: "10.0.0.1", port: 1)
        let (released, release) = AsyncStream<Void>.makeStream()
        let peers =
            try (1...8).map { try StaticPeer("slow\($0):1") } + [StaticPeer("10.0.0.1:1"), StaticPeer("[::1]:1")]
        let source = StaticPeers(peers, interval: .seconds(60), logger: Logger(label: "test")) {
            peer throws(NameResolver.Failure) in
            if peer.host.hasPrefix("slow") { for await _ in released {} }
            return [endpoint]
        }
        var events = source.browse().makeAsyncIterator()
        var found: Set<String> = []
        for _ in 0..<2 {
            guard case .appeared(let hint) = await events.next() else { continue }
            found.insert(hint.id)
        }
        #expect(found == ["10.0.0.1:1", "[::1]:1"])
        release.finish()
    }

    @Test func `a name that still cannot be resolved is reported once`() async throws {
        let endpoint = DiscoveryEndpoint(address: "10.0.0.1", port: 1)
        let name = Name()
        let source = StaticPeers([try StaticPeer("host:1")], interval: .milliseconds(1), logger: Logger(label: "test"))
        { _ throws(NameResolver.Failure) in
            guard await name.isResolved() else { throw NameResolver.Failure(reason: "no such name") }
            return [endpoint]
        }
        var events = source.browse().makeAsyncIterator()
        guard case .trouble = await events.next() else {
            Issue.record("no trouble reported")
            return
        }
        let second = await events.next()
        #expect(second == .settled)
        await name.register(beforeAttempt: 3)
        let third = await events.next()
        #expect(third == .appeared(DiscoveryHint(id: "host:1", instance: "host:1", endpoints: [endpoint])))
        let fourth = await events.next()
        #expect(fourth == .recovered(.nameNotResolved))
    }

    /// A name that can be resolved from one of the next attempts on.
    private actor Name {
        private var attemptsLeft = Int.max

        func register(beforeAttempt attempt: Int) { attemptsLeft = attempt }

        func isResolved() -> Bool {
            attemptsLeft = max(attemptsLeft - 1, 0)
            return attemptsLeft == 0
        }
    }

    @Test func `a name that gets another address is a change`() async throws {
        let place = Place()
        let source = StaticPeers([try StaticPeer("host:1")], interval: .milliseconds(1), logger: Logger(label: "test"))
        { _ in
            [DiscoveryEndpoint(address: await place.address, port: 1)]
        }
        var events = source.browse().makeAsyncIterator()
        var addresses: [String] = []
        while addresses.count < 2, let event = await events.next() {
            if case .appeared(let hint) = event {
                addresses.append(hint.endpoints[0].address)
                // Only now: a listener that has not read the first address would get the second one alone.
                await place.move(to: "10.0.0.2")
            }
            if case .changed(let hint) = event { addresses.append(hint.endpoints[0].address) }
        }
        #expect(addresses == ["10.0.0.1", "10.0.0.2"])
    }

    private actor Place {
        private(set) var address = "10.0.0.1"
        func move(to address: String) { self.address = address }
    }
}
