// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import RemoteSystemsIdentity
import Synchronization
import Testing

@testable import RemoteSystemsTransport

/// Which tickets open a stream, over TLS on the loopback interface.
@Suite(.timeLimit(.minutes(1))) struct StreamTicketTests {
    private static func refusal(_ body: () async throws -> ByteStream) async -> TransportError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? TransportError
        }
    }

    @Test func `a wrong, used, withdrawn or foreign ticket gets the same refusal`() async throws {
        try await LoopbackHost.with { host in
            let caller = try host.account.system()
            let other = try host.account.system()
            let offer = try host.tickets.offer(
                to: caller.systemID,
                of: .system(caller.systemID),
                purpose: LoopbackHost.purpose
            )
            let withdrawn = try host.tickets.offer(
                to: caller.systemID,
                of: .system(caller.systemID),
                purpose: LoopbackHost.purpose
            )
            withdrawn.withdraw()
            var refusals: [TransportError?] = []
            // Unknown, withdrawn, another system's, for another purpose.
            refusals.append(await Self.refusal { try await host.openStream(.random(), as: caller) })
            refusals.append(await Self.refusal { try await host.openStream(withdrawn.ticket, as: caller) })
            refusals.append(await Self.refusal { try await host.openStream(offer.ticket, as: other) })
            refusals.append(
                await Self.refusal { try await host.openStream(offer.ticket, as: caller, purpose: "another") }
            )
            // None of these attempts has used up the ticket. Then it is used.
            let stream = try await host.openStream(offer.ticket, as: caller)
            let opened = try await offer.opened()
            #expect(opened.peer.systemID == caller.systemID)
            refusals.append(await Self.refusal { try await host.openStream(offer.ticket, as: caller) })
            // A hello without a ticket.
            let peer = try await host.connectRaw(as: caller)
            try peer.send(
                .hello(
                    Hello(
                        service: StreamClaim.service,
                        targetApplication: nil,
                        application: "raw",
                        limits: StreamLimits.peerLimits
                    )
                )
            )
            guard case .refuse(let status, let failure)? = try await peer.nextFrame() else {
                Issue.record("no refusal")
                return
            }
            #expect(refusals.count == 5)
            for refusal in refusals {
                #expect(refusal?.code == .refused)
                #expect(refusal?.openStatus == status && status == .notAuthorized)
                #expect(refusal?.failureCode == failure.code && failure.code == "stream-ticket-refused")
                #expect(refusal?.message == failure.text)
                #expect(refusal?.canRetry == failure.canRetry)
            }
            // None of them affects the open stream.
            try await stream.write("x")
            #expect(try await opened.read() == ByteBuffer(string: "x"))
            // No ticket is logged.
            let secret = offer.ticket.bytes.map { String($0, radix: 16) }.joined()
            #expect(!host.log.all.contains { $0.contains(secret) || $0.contains("\(offer.ticket.bytes)") })
        }
    }

    @Test func `a system that is not trusted is refused before its ticket is checked`() async throws {
        try await LoopbackHost.with { host in
            let stranger = try TestAccount().system()
            let offer = try host.tickets.offer(
                to: stranger.systemID,
                of: .system(stranger.systemID),
                purpose: LoopbackHost.purpose
            )
            let security = try TransportSecurity(identity: stranger)
            let error = await Self.refusal {
                try await host.openStream(offer.ticket, as: stranger, security: security)
            }
            #expect(error?.code == .peerNotTrusted)
            #expect(host.tickets.count == 1)
        }
    }

    @Test func `an offer that is no longer awaited is withdrawn`() async throws {
        try await LoopbackHost.with { host in
            let caller = try host.account.system()
            let offer = try host.tickets.offer(
                to: caller.systemID,
                of: .system(caller.systemID),
                purpose: LoopbackHost.purpose
            )
            let waiting = Task { try await offer.opened() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(host.tickets.count == 0)
        }
    }

    /// The refusal of a hello with this ticket; `nil` if it is accepted.
    private static func refusal(
        _ ticket: StreamTicket,
        from peer: TrustedPeer,
        at tickets: StreamTickets
    ) -> Refusal? {
        let hello = Hello(
            service: StreamClaim.service,
            targetApplication: nil,
            application: "a",
            limits: StreamLimits.peerLimits,
            stream: StreamClaim(ticket: ticket, purpose: "p")
        )
        let admission = tickets.admission(
            of: hello,
            from: peer.identity,
            application: "b",
            limits: StreamLimits()
        )
        switch admission {
        case .refuse(let refusal): return refusal
        case .accept, .acceptStream: return nil
        }
    }

    @Test func `an expired ticket gets the refusal of an unknown one, also before its offer is removed`() throws {
        let account = try TestAccount()
        let peer = try TrustedPeer(account.system(), of: account)
        let passing = Gate()
        defer { passing.open() }
        let time = StandingTime(passing: passing)
        let tickets = StreamTickets(network: TransportNetwork([], time: TimeSource(manual: time)))
        let (early, late) = (
            try tickets.offer(to: peer.identity.systemID, of: .system(peer.identity.systemID), purpose: "p"),
            try tickets.offer(to: peer.identity.systemID, of: .system(peer.identity.systemID), purpose: "p")
        )
        time.set(.at(29_999))
        #expect(Self.refusal(early.ticket, from: peer, at: tickets) == nil)
        time.set(.at(30_000))
        #expect(tickets.count == 1)
        let unknown = try #require(Self.refusal(.random(), from: peer, at: tickets))
        #expect(Self.refusal(late.ticket, from: peer, at: tickets) == unknown)
    }

    @Test func `an offer whose connection was accepted but never opened expires, too`() async throws {
        let account = try TestAccount()
        let peer = try TrustedPeer(account.system(), of: account)
        let passing = Gate()
        let time = TimeSource(manual: StandingTime(passing: passing))
        let tickets = StreamTickets(network: TransportNetwork([], time: time))
        let offer = try tickets.offer(to: peer.identity.systemID, of: .system(peer.identity.systemID), purpose: "p")
        #expect(Self.refusal(offer.ticket, from: peer, at: tickets) == nil)
        passing.open()
        let error = await streamError { _ = try await offer.opened() }
        #expect(error?.code == .offerExpired)
    }

    @Test func `revoking a system ends its stream, and a later revocation another's`() async throws {
        try await LoopbackHost.with { host in
            let revoked = try host.account.system()
            let stays = try host.account.system()
            let pair = try await host.streams(as: revoked)
            let other = try await host.streams(as: stays)
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(revoked))
            let error = await streamError { _ = try await pair.host.read() }
            #expect(error?.code == .peerNotTrusted)
            let peers = await streamError { _ = try await pair.caller.read() }
            #expect(peers?.code == .abortedByPeer)
            #expect(peers?.failureCode == "revoked")
            try await other.host.write("x")
            #expect(try await other.caller.read() == ByteBuffer(string: "x"))
            // A system that leaves its account ends all of them.
            host.security.end()
            let error1 = await streamError { _ = try await other.caller.read() }
            #expect(error1?.code == .abortedByPeer)
        }
    }

    @Test func `an expiring certificate ends its stream`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams(as: host.account.system(validFrom: -60, to: 2))
            let error = await streamError { _ = try await pair.host.read() }
            #expect(error?.code == .peerNotTrusted)
            let peers = await streamError { _ = try await pair.caller.read() }
            #expect(peers?.failureCode == "certificate-expired")
        }
    }

    @Test func `a clock that is set past the certificate's end ends its stream at the next check`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams(as: host.account.system(validFrom: -60, to: 3600))
            for step: TimeInterval in [-365 * 86_400, 3000] { host.security.closeExpired(at: Date() + step) }
            try await pair.host.write("x")
            #expect(try await pair.caller.read() == ByteBuffer(string: "x"))
            host.security.closeExpired(at: Date() + 3601)
            let error = await streamError { _ = try await pair.host.read() }
            #expect(error?.code == .peerNotTrusted)
            let peers = await streamError { _ = try await pair.caller.read() }
            #expect(peers?.failureCode == "certificate-expired")
        }
    }

    @Test func `a host without streams refuses one like an unknown service`() async throws {
        try await LoopbackHost.with { host in
            #expect(StreamClaim.service == "remote-systems.stream")
            let error = await #expect(throws: TransportError.self) {
                try await host.connect(service: "remote-systems.other")
            }
            #expect(error?.openStatus == .appServiceUnavailable)
        }
    }
}

/// A system of the account as a host knows it after the handshake.
private struct TrustedPeer {
    let identity: PeerIdentity

    init(_ system: SystemIdentity, of account: TestAccount) throws {
        let security = try TransportSecurity(identity: account.system())
        self.identity = try security.authenticate(TrustStore.Presented(system.certificate))
    }
}

/// A clock that a test sets. Its timers go off when the test releases them, all at once.
private final class StandingTime: ManualTime {
    private let passing: Gate
    private let time = Mutex(NIODeadline.at(0))

    init(passing: Gate) { self.passing = passing }

    var now: ContinuousClock.Instant { .now }
    var deadline: NIODeadline { self.time.withLock { $0 } }
    func set(_ time: NIODeadline) { self.time.withLock { $0 = time } }
    // Not a wait of real time: the test opens the gate.
    func sleep(until instant: ContinuousClock.Instant) async throws { await self.passing.wait() }
}
