// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

@Suite struct AdmissionGateTests {
    private static func key(_ name: String) -> PeerKey { PeerKey(transport: .ip, name.utf8) }
    private static let (a, b) = (key("a"), key("b"))

    // MARK: Places

    /// A gate by a manual clock, at which connections arrive, each with an address of its own.
    private struct FloodedGate {
        let clock: ManualClock
        let gate: AdmissionGate
        private let sendsByte: Bool
        private var strangers = 0

        /// - Parameter sendsByte: Whether each sends a byte at once. Otherwise they are silent.
        init(sendsByte: Bool = false) {
            self.clock = ManualClock()
            self.gate = AdmissionGate(time: TimeSource(manual: self.clock))
            self.sendsByte = sendsByte
        }

        /// A thousand connections arrive in each second.
        mutating func pass(milliseconds: Int) {
            for _ in 0..<milliseconds {
                self.clock.advance(by: .milliseconds(1))
                self.strangers += 1
                let entry = self.gate.enter(AdmissionGateTests.key("stranger \(self.strangers)"), close: {})
                if case .enters(let place) = entry, self.sendsByte { self.gate.speak(place) }
            }
        }
    }

    /// Connects from ``a``, and expects to keep the place until the end of the handshake.
    ///
    /// - Parameter handshake: the time from the first byte to the end, in milliseconds.
    private static func connect(during flooded: inout FloodedGate, handshake: Int) {
        let closed = Counter()
        guard case .enters(let place) = flooded.gate.enter(Self.a, close: { closed.increase() }) else {
            Issue.record("It was refused.")
            return
        }
        flooded.pass(milliseconds: 50)
        flooded.gate.speak(place)
        flooded.pass(milliseconds: handshake)
        flooded.gate.leave(place)
        #expect(closed.value == 0)
    }

    @Test func `while silent connections from many addresses flood the gate, every other one completes its handshake`()
    {
        var flooded = FloodedGate()
        flooded.pass(milliseconds: 1_000)
        for _ in 1...20 { Self.connect(during: &flooded, handshake: 400) }
    }

    @Test func `a system that has connected before gets a place at once, whatever strangers with many addresses send`()
        throws
    {
        var flooded = FloodedGate(sendsByte: true)
        let system = try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32)))
        flooded.gate.accept(.system(system), from: Self.a)
        flooded.pass(milliseconds: 1_000)
        // Four times as many connections arrive as have guaranteed places.
        #expect(flooded.gate.enter(Self.b, close: {}) == .isFull)
        // The handshakes last far beyond the guaranteed time.
        for _ in 1...20 { Self.connect(during: &flooded, handshake: 600) }
    }

    @Test func `a peer key is known once a hello of a system of an account was accepted, but not of an anonymous one`()
        async throws
    {
        let account = try #require(AccountID(bytes: [UInt8](repeating: 9, count: 32)))
        let (system, own) = (
            try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32))),
            try #require(SystemID(bytes: [UInt8](repeating: 2, count: 32)))
        )
        /// Whether the key has a place although strangers have taken all others, after a hello.
        func isKnown(after standing: Standing, of id: SystemID, accepting isAccepted: Bool) async -> Bool {
            let gate = AdmissionGate(time: TimeSource(manual: ManualClock()), exempting: [])
            let admit = gate.limiting(
                { _, _ in
                    guard isAccepted else { return .refuse(Refusal(.appServiceUnavailable, "no such service")) }
                    return .accept(
                        EstablishedConnection(
                            acceptance: Acceptance(application: "test", limits: ConnectionLimits().peerLimits),
                            limits: ConnectionLimits(),
                            handler: { _, _ in Response(status: .failure) },
                            opened: { _ in }
                        )
                    )
                },
                from: Self.a,
                own: own
            )
            _ = await admit(.test, PeerIdentity(standing, systemID: id, expiry: .distantFuture))
            for number in 0..<UnauthenticatedSlots.maxConnections { _ = gate.enters(Self.key("stranger \(number)")) }
            return gate.enters(Self.a)
        }
        let linked = Standing.linked(account, Grants())
        #expect(await isKnown(after: .sameAccount(account), of: system, accepting: true))
        #expect(await isKnown(after: .sameAccount(account), of: own, accepting: true))
        #expect(await isKnown(after: linked, of: system, accepting: true))
        #expect(await !isKnown(after: .anonymous, of: system, accepting: true))
        #expect(await !isKnown(after: .sameAccount(account), of: system, accepting: false))
    }

    @Test func `a silent connection is closed for a new one, and one whose hello has arrived never is`() {
        var flooded = FloodedGate()
        let (silent, open) = (Counter(), Counter())
        guard case .enters = flooded.gate.enter(Self.a, close: { silent.increase() }),
            case .enters(let place) = flooded.gate.enter(Self.b, close: { open.increase() })
        else {
            Issue.record("One was refused.")
            return
        }
        flooded.gate.leave(place)
        flooded.pass(milliseconds: 2_000)
        #expect(silent.value == 1)
        #expect(open.value == 0)
    }

    @Test func `the addresses of one IPv6 network share their places, and other peers get theirs at once`() throws {
        let gate = AdmissionGate(time: TimeSource(manual: ManualClock()))
        func key(_ address: String) throws -> PeerKey { PeerKey(try SocketAddress(ipAddress: address, port: 1)) }
        for number in 1...UnauthenticatedSlots.maxConnections {
            #expect(try gate.enters(key("2001:db8::\(number)")))
        }
        #expect(try !gate.enters(key("2001:db8::1000")))
        for number in 1...UnauthenticatedSlots.share {
            #expect(try gate.enters(key("2001:db8:0:\(number)::1")))
        }
    }

    // MARK: Failures

    @Test func `a peer key that fails again and again is refused before its handshake, and others are not`() {
        let clock = ManualClock()
        let gate = AdmissionGate(time: TimeSource(manual: clock), exempting: [])
        for _ in 0..<Int(AdmissionGate.failures) {
            #expect(gate.admits(Self.a))
            gate.fail(Self.a)
        }
        #expect(gate.refuses(Self.a))
        #expect(gate.admits(Self.b))
        // Two a second return.
        clock.advance(by: .milliseconds(600))
        #expect(gate.admits(Self.a))
        gate.fail(Self.a)
        #expect(gate.refuses(Self.a))
        clock.advance(by: .seconds(20))
        for _ in 0..<32 { #expect(gate.admits(Self.a)) }
    }

    @Test func `failures of this machine's own programs do not count`() throws {
        let gate = AdmissionGate()
        for address in ["127.0.0.1", "::1"] {
            let key = PeerKey(try SocketAddress(ipAddress: address, port: 1))
            for _ in 0..<1000 { gate.fail(key) }
            #expect(gate.admits(key))
        }
        let other = PeerKey(try SocketAddress(ipAddress: "127.0.0.2", port: 1))
        for _ in 0..<1000 { gate.fail(other) }
        #expect(gate.refuses(other))
    }

    @Test func `the machines of an IPv6 network have more failures together than one machine`() throws {
        let gate = AdmissionGate(time: TimeSource(manual: ManualClock()))
        func key(_ address: String) throws -> PeerKey { PeerKey(try SocketAddress(ipAddress: address, port: 1)) }
        let (network, linkLocal) = (try key("2001:db8::1"), try key("fe80::1"))
        for _ in 0..<Int(AdmissionGate.failures) {
            gate.fail(network)
            gate.fail(linkLocal)
        }
        #expect(gate.admits(network) && gate.refuses(linkLocal))
        for _ in 0..<1000 { gate.fail(network) }
        #expect(try gate.refuses(key("2001:db8::2")))
    }

    @Test func `only young connections that end without a close count, and many at once for no longer than a few`() {
        let clock = ManualClock()
        let gate = AdmissionGate(time: TimeSource(manual: clock), exempting: [])
        for _ in 0..<100 {
            gate.counting(Self.a)(.completed)
            gate.counting(Self.a)(.cancelled)
        }
        let old = (0..<100).map { _ in gate.counting(Self.a) }
        clock.advance(by: AdmissionGate.settledAge)
        for close in old { close(.unknown) }
        #expect(gate.admits(Self.a))
        for _ in 0..<1000 { gate.counting(Self.a)(.unknown) }
        #expect(gate.refuses(Self.a))
        clock.advance(by: .seconds(1))
        #expect(gate.admits(Self.a))
    }

    // MARK: Openings

    private static func system(_ number: UInt8) throws -> AdmissionGate.Opener {
        .holder(.system(try #require(SystemID(bytes: [UInt8](repeating: number, count: 32)))))
    }

    @Test func `a system may open many connections at once, then some in each second`() throws {
        let clock = ManualClock()
        let gate = AdmissionGate(time: TimeSource(manual: clock), exempting: [])
        let system = try Self.system(1)
        for _ in 0..<Int(AdmissionGate.openings) { #expect(gate.open(system, from: Self.a)) }
        #expect(!gate.open(system, from: Self.a))
        // The address does not matter.
        #expect(!gate.open(system, from: Self.b))
        clock.advance(by: .milliseconds(500))
        for _ in 0..<Int(AdmissionGate.openingRate / 2) { #expect(gate.open(system, from: Self.a)) }
        #expect(!gate.open(system, from: Self.a))
    }

    @Test func `twenty systems behind one address that open 50 connections a second each are not limited`() throws {
        let clock = ManualClock()
        let gate = AdmissionGate(time: TimeSource(manual: clock), exempting: [])
        let systems = try (1...20).map { try Self.system($0) }
        for _ in 0..<500 {
            clock.advance(by: .milliseconds(20))
            for system in systems {
                #expect(gate.admits(Self.a))
                #expect(gate.open(system, from: Self.a))
            }
        }
    }

    @Test func `the handshakes that one system causes are bounded, and another at its address gets in`() throws {
        let clock = ManualClock()
        let gate = AdmissionGate(time: TimeSource(manual: clock), exempting: [])
        let (system, other) = (try Self.system(1), try Self.system(2))
        var handshakes = 0
        var entered = 0
        for attempt in 1...10_000 {
            clock.advance(by: .milliseconds(1))
            if gate.admits(Self.a) {
                handshakes += 1
                _ = gate.open(system, from: Self.a)
            }
            if attempt > 5_000, attempt.isMultiple(of: 100), gate.admits(Self.a) {
                entered += 1
                #expect(gate.open(other, from: Self.a))
            }
        }
        // In 10 s: its openings, and sixteen refused ones for each failure.
        #expect(handshakes <= 256 + 10 * 64 + 16 * (32 + 10 * 2))
        #expect(entered > 0)
    }

    @Test func `an opening of this machine or of a network in memory does not count`() throws {
        let gate = AdmissionGate(time: TimeSource(manual: ManualClock()))
        let system = try Self.system(1)
        let local = PeerKey(try SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let memory = PeerKey(transport: TransportKind(rawValue: "memory"), "a".utf8)
        for _ in 0..<1000 { #expect(gate.open(system, from: local) && gate.open(system, from: memory)) }
    }

    @Test func `a stream with a valid ticket does not count, and opens also when the openings are used up`()
        async throws
    {
        let gate = AdmissionGate(time: TimeSource(manual: ManualClock()))
        let (account, system) = (AccountID(bytes: [UInt8](repeating: 9, count: 32)), [UInt8](repeating: 1, count: 32))
        let peer = PeerIdentity(
            .sameAccount(try #require(account)),
            systemID: try #require(SystemID(bytes: system)),
            expiry: .distantFuture
        )
        let (valid, invalid) = (StreamTicket.random(), StreamTicket.random())
        let acceptance = Acceptance(application: "test", limits: StreamLimits.peerLimits)
        let admit = gate.limiting(
            { hello, _ in
                guard hello.stream?.ticket == valid else { return .refuse(Refusal(.unknown, "no such ticket")) }
                return .acceptStream(EstablishedStream(acceptance: acceptance, limits: StreamLimits()) { _ in })
            },
            from: Self.a,
            own: try #require(SystemID(bytes: [UInt8](repeating: 2, count: 32)))
        )
        /// The text of the refusal; `nil` if the hello was accepted.
        func refusal(of ticket: StreamTicket?) async -> String? {
            var hello = Hello.test
            hello.stream = ticket.map { StreamClaim(ticket: $0, purpose: "p") }
            guard case .refuse(let refusal) = await admit(hello, peer) else { return nil }
            return refusal.failure.text
        }
        for _ in 0..<Int(AdmissionGate.openings) { #expect(await refusal(of: invalid) == "no such ticket") }
        for _ in 0..<1000 { #expect(await refusal(of: valid) == nil) }
        for ticket in [invalid, nil] {
            #expect(await refusal(of: ticket)?.hasPrefix("Your system opens connections here more often") == true)
        }
    }

    @Test func `anonymous systems are counted by their address, and all systems of a linked account together`() throws {
        func opener(_ standing: Standing, _ number: UInt8, at key: PeerKey) throws -> AdmissionGate.Opener {
            let system = try #require(SystemID(bytes: [UInt8](repeating: number, count: 32)))
            return AdmissionGate.Opener(PeerIdentity(standing, systemID: system, expiry: .distantFuture), at: key)
        }
        #expect(try opener(.anonymous, 1, at: Self.a) == opener(.anonymous, 2, at: Self.a))
        #expect(try opener(.anonymous, 1, at: Self.a) != opener(.anonymous, 1, at: Self.b))
        let account = try #require(AccountID(bytes: [UInt8](repeating: 9, count: 32)))
        #expect(try opener(.sameAccount(account), 1, at: Self.a) == opener(.sameAccount(account), 1, at: Self.b))
        #expect(try opener(.sameAccount(account), 1, at: Self.a) != opener(.sameAccount(account), 2, at: Self.a))
        let linked = Standing.linked(account, Grants())
        #expect(try opener(linked, 1, at: Self.a) == opener(linked, 2, at: Self.b))
    }
}

extension AdmissionGate {
    /// Whether a connection of the peer gets a place, which it keeps.
    fileprivate func enters(_ peer: PeerKey) -> Bool {
        if case .enters = self.enter(peer, close: {}) { true } else { false }
    }

    /// Whether a connection of the peer gets a place, which it leaves at once.
    fileprivate func admits(_ peer: PeerKey) -> Bool {
        guard case .enters(let place) = self.enter(peer, close: {}) else { return false }
        self.leave(place)
        return true
    }

    /// Whether too many connections of the peer have failed.
    fileprivate func refuses(_ peer: PeerKey) -> Bool { self.enter(peer, close: {}) == .hasFailed }
}
