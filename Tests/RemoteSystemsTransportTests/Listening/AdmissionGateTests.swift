// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

@Suite struct AdmissionGateTests {
    private let gate = AdmissionGate(total: 4, perPeer: 2)

    private static func key(_ name: String) -> PeerKey { PeerKey(transport: .ip, name.utf8) }
    private static let (a, b, c) = (key("a"), key("b"), key("c"))

    @Test func `peers with one key are limited to their share`() {
        #expect(self.gate.enter(Self.a) == .enters)
        #expect(self.gate.enter(Self.a) == .enters)
        #expect(self.gate.enter(Self.a) == .isFull)
        #expect(self.gate.enter(Self.b) == .enters)
    }

    @Test func `all peers together are limited to the total`() {
        for peer in [Self.a, Self.a, Self.b, Self.b] { #expect(self.gate.enter(peer) == .enters) }
        #expect(self.gate.enter(Self.c) == .isFull)
    }

    @Test func `a connection that leaves frees its place`() {
        for peer in [Self.a, Self.a, Self.b, Self.b] { _ = self.gate.enter(peer) }
        self.gate.leave(Self.a)
        #expect(self.gate.enter(Self.c) == .enters)
        #expect(self.gate.enter(Self.a) == .isFull)
    }

    @Test func `leaving without entering frees no place`() {
        for peer in [Self.a, Self.a, Self.b, Self.b] { _ = self.gate.enter(peer) }
        self.gate.leave(Self.c)
        #expect(self.gate.enter(Self.c) == .isFull)
    }

    @Test func `a refused connection takes no place`() {
        _ = self.gate.enter(Self.a)
        _ = self.gate.enter(Self.a)
        for _ in 0..<10 { _ = self.gate.enter(Self.a) }
        self.gate.leave(Self.a)
        #expect(self.gate.enter(Self.a) == .enters)
    }

    @Test func `the addresses of one IPv6 network share a limit`() throws {
        func key(_ address: String) throws -> PeerKey { PeerKey(try SocketAddress(ipAddress: address, port: 1)) }
        #expect(try self.gate.enter(key("2001:db8::1")) == .enters)
        #expect(try self.gate.enter(key("2001:db8::2")) == .enters)
        for number in 3...20 { #expect(try self.gate.enter(key("2001:db8::\(number)")) == .isFull) }
        #expect(try self.gate.enter(key("2001:db8:0:1::1")) == .enters)
    }

    // MARK: Failures

    @Test func `a peer key that fails again and again is refused before its handshake, and others are not`() {
        let clock = ManualClock()
        let gate = AdmissionGate(time: TimeSource(manual: clock), exempting: [])
        for _ in 0..<Int(AdmissionGate.failures) {
            #expect(gate.enter(Self.a) == .enters)
            gate.leave(Self.a)
            gate.fail(Self.a)
        }
        #expect(gate.enter(Self.a) == .hasFailed)
        #expect(gate.enter(Self.b) == .enters)
        // Two a second return.
        clock.advance(by: .milliseconds(600))
        #expect(gate.enter(Self.a) == .enters)
        gate.leave(Self.a)
        gate.fail(Self.a)
        #expect(gate.enter(Self.a) == .hasFailed)
        clock.advance(by: .seconds(20))
        for _ in 0..<32 { #expect(gate.enter(Self.a) == .enters) }
    }

    @Test func `failures of this machine's own programs do not count`() throws {
        let gate = AdmissionGate()
        for address in ["127.0.0.1", "::1"] {
            let key = PeerKey(try SocketAddress(ipAddress: address, port: 1))
            for _ in 0..<1000 { gate.fail(key) }
            #expect(gate.enter(key) == .enters)
        }
        let other = PeerKey(try SocketAddress(ipAddress: "127.0.0.2", port: 1))
        for _ in 0..<1000 { gate.fail(other) }
        #expect(gate.enter(other) == .hasFailed)
    }

    @Test func `the machines of an IPv6 network have more failures together than one machine`() throws {
        let gate = AdmissionGate(time: TimeSource(manual: ManualClock()))
        func key(_ address: String) throws -> PeerKey { PeerKey(try SocketAddress(ipAddress: address, port: 1)) }
        let (network, linkLocal) = (try key("2001:db8::1"), try key("fe80::1"))
        for _ in 0..<Int(AdmissionGate.failures) {
            gate.fail(network)
            gate.fail(linkLocal)
        }
        #expect(gate.enter(network) == .enters && gate.enter(linkLocal) == .hasFailed)
        for _ in 0..<1000 { gate.fail(network) }
        #expect(try gate.enter(key("2001:db8::2")) == .hasFailed)
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
        #expect(gate.enter(Self.a) == .enters)
        for _ in 0..<1000 { gate.counting(Self.a)(.unknown) }
        #expect(gate.enter(Self.a) == .hasFailed)
        clock.advance(by: .seconds(1))
        #expect(gate.enter(Self.a) == .enters)
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
                #expect(gate.enter(Self.a) == .enters)
                gate.leave(Self.a)
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
            if gate.enter(Self.a) == .enters {
                gate.leave(Self.a)
                handshakes += 1
                _ = gate.open(system, from: Self.a)
            }
            if attempt > 5_000, attempt.isMultiple(of: 100), gate.enter(Self.a) == .enters {
                gate.leave(Self.a)
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
