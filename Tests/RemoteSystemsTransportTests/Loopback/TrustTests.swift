// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOCore
import NIOSSL
import Testing
import ValueSets

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Which peers are accepted and which are refused, and that both sides get the reason (R-27; `Docs/security-model.md`).
@Suite(.timeLimit(.minutes(1))) struct TrustTests {
    /// The error that the host's refusal causes at the caller.
    private func refusal(of rogue: SystemIdentity, by host: LoopbackHost) async throws -> TransportError? {
        // The rogue itself trusts only its own account, so it uses a raw client without that check.
        let peer = try await host.connectRaw(as: rogue)
        guard let refusal = try await peer.refusal() else { return nil }
        #expect(refusal.status == .notAuthorized)
        #expect(host.connections.all.isEmpty)
        #expect(host.hellos.value == 0)
        let logged = try #require(host.log.all.first { $0.contains("certificate-refused") })
        #expect(logged.hasPrefix("warning "))
        #expect(logged.contains("127.0.0.1"))
        // What this side found, not the text for the peer.
        #expect(
            logged.contains("code") && logged.contains("reason") && !logged.contains("You are")
                && !logged.contains("Your ")
        )
        return TransportError(.refused, refusal.failure.text, side: .remote)
    }

    // MARK: Callers

    @Test func `a system of another account is refused, with advice on how to join`() async throws {
        try await LoopbackHost.with { host in
            let error = try await self.refusal(of: TestAccount().system(), by: host)
            #expect(error?.message.contains("account") == true)
            #expect(error?.message.contains("invitation") == true)
        }
    }

    @Test func `an expired certificate is refused, and the error names the clock`() async throws {
        try await LoopbackHost.with { host in
            let error = try await self.refusal(of: host.account.system(validFrom: -7200, to: -3600), by: host)
            #expect(error?.message.contains("expired") == true)
            #expect(error?.message.contains("clock") == true)
        }
    }

    @Test func `a certificate that is not valid yet is refused, and the error names the clock`() async throws {
        try await LoopbackHost.with { host in
            let error = try await self.refusal(of: host.account.system(validFrom: 3600, to: 7200), by: host)
            #expect(error?.message.contains("not valid before") == true)
            #expect(error?.message.contains("clock") == true)
        }
    }

    @Test func `a self-signed certificate is refused`() async throws {
        try await LoopbackHost.with { host in
            let key = P256.Signing.PrivateKey()
            let certificate = try JoiningCertificate.make(with: key, now: Date())
            let peer = try await RawPeer.connect(
                port: host.listener.port,
                tls: .raw(certificate: certificate, key: key)
            )
            #expect(try await peer.refusal()?.status == .notAuthorized)
        }
    }

    /// wolfSSL admitted such clients (CVE-2022-25640).
    @Test func `a client without a certificate fails in TLS`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await RawPeer.connect(
                port: host.listener.port,
                tls: .raw(certificate: nil, key: nil)
            )
            try peer.send(.hello(.test))
            #expect(try await peer.nextFrame() == nil)
            let alert = "\(String(describing: peer.error))".uppercased()
            #expect(alert.contains("CERTIFICATE_REQUIRED"))
            #expect(host.hellos.value == 0)
            try await eventually("a line in the log") { host.log.all.contains { $0.contains("handshake-failed") } }
        }
    }

    @Test func `a revoked system is refused`() async throws {
        try await LoopbackHost.with { host in
            let revoked = try host.account.system()
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(revoked))
            let error = try await self.refusal(of: revoked, by: host)
            #expect(error?.message.contains("revoked") == true)
            // Renewing the host's own certificate does not undo the revocation.
            try host.security.update(identity: host.security.identity)
            #expect(try await self.refusal(of: revoked, by: host) != nil)
            #expect(try await host.isServing())
        }
    }

    @Test func `the log names a refused system whose certificate the account has signed, and no other`() async throws {
        try await LoopbackHost.with { host in
            let (revoked, stranger) = (try host.account.system(), try TestAccount().system())
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(revoked))
            for system in [revoked, stranger] { _ = try await self.refusal(of: system, by: host) }
            let logged = host.log.all.filter { $0.contains("certificate-refused") }
            try #require(logged.count == 2)
            #expect(logged[0].contains("\(revoked.systemID)") && logged[0].contains("revoked"))
            #expect(!logged[1].contains("\(stranger.systemID)") && logged[1].contains("other-account"))
        }
    }

    // MARK: Open connections

    @Test func `an open connection to a revoked system ends at once, others continue`() async throws {
        try await LoopbackHost.with(handler: { request, _ in
            // Outlasts the test. Ended by cancellation.
            if request.message.isEmpty { try? await Task.sleep(for: .seconds(60)) }
            return Response(message: request.message)
        }) { host in
            let (rogue, friend) = (try host.account.system(), try host.account.system())
            let connection = try await host.connect(as: rogue)
            let other = try await host.connect(as: friend)
            let call = Task { try await connection.send([:], timeout: .seconds(60)) }
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(rogue))
            #expect(await connection.waitUntilClosed() == .unknown)
            let error = await #expect(throws: TransportError.self) { _ = try await call.value }
            #expect((error?.cause as? TransportError)?.message.contains("revoked") == true)
            let again = await #expect(throws: TransportError.self) { _ = try await host.connect(as: rogue) }
            #expect(again?.openStatus == .notAuthorized)
            #expect(try await other.send(["still": true], timeout: .seconds(20)).message == ["still": true])
        }
    }

    @Test func `a caller ends its connections to a revoked host, too`() async throws {
        try await LoopbackHost.with { host in
            let security = try TransportSecurity(identity: host.account.system())
            let connection = try await host.connect(with: security)
            _ = try await connection.send([:], timeout: .seconds(20))
            try security.update(identity: security.identity, revocations: host.account.revoking(host.security.identity))
            #expect(await connection.waitUntilClosed() == .unknown)
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == .unknown)
            let again = await #expect(throws: TransportError.self) { _ = try await host.connect(with: security) }
            #expect(again?.code == .peerNotTrusted)
        }
    }

    @Test func `a system that is revoked during its handshake gets no request through`() async throws {
        let handled = Counter()
        let mayDecide = Gate()
        defer { mayDecide.open() }
        try await LoopbackHost.with(
            admitting: mayDecide,
            handler: { request, _ in
                handled.increase()
                return Response(message: request.message)
            }
        ) { host in
            let rogue = try host.account.system()
            let call = Task {
                let connection = try await host.connect(as: rogue)
                return try await connection.send([:], timeout: .seconds(20))
            }
            try await eventually("the hello") { host.hellos.value == 1 }
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(rogue))
            mayDecide.open()
            await #expect(throws: TransportError.self) { _ = try await call.value }
            #expect(handled.value == 0)
        }
    }

    // MARK: Hosts

    private func refusal(of host: LoopbackHost, by caller: SystemIdentity) async throws -> TransportError? {
        let error = await #expect(throws: TransportError.self) { _ = try await host.connect(as: caller) }
        #expect(error?.code == .peerNotTrusted)
        #expect(host.hellos.value == 0)
        return error
    }

    @Test func `a host of another account is refused by the caller, and neither side sees a hello`() async throws {
        try await LoopbackHost.with { host in
            _ = try await self.refusal(of: host, by: TestAccount().system())
            try await eventually("a line in the log") {
                host.log.all.contains { $0.contains("rejected this system's certificate") }
            }
        }
    }

    @Test func `a host with an expired certificate is refused, and gets the reason`() async throws {
        let account = try TestAccount()
        let expired = try account.system(validFrom: -7200, to: -3600)
        try await LoopbackHost.with(identity: expired, account: account) { host in
            let error = try await self.refusal(of: host, by: account.system())
            #expect(error?.message.contains("expired") == true)
            try await eventually("a line in the log") {
                host.log.all.contains { $0.contains("notice") && $0.contains("expired") }
            }
        }
    }

    @Test func `a system of the account other than the expected one is refused`() async throws {
        try await LoopbackHost.with { host in
            let other = try host.account.system()
            let error = await #expect(throws: TransportError.self) {
                _ = try await host.connect(expecting: other.systemID)
            }
            #expect(error?.code == .peerNotTrusted)
            #expect(error?.message.contains(other.systemID.short) == true)
            #expect(host.hellos.value == 0)
        }
    }

    // MARK: Time

    @Test func `a clock that is set past the certificate's end closes the connection at the next check`() async throws {
        try await LoopbackHost.with { host in
            let connection = try await host.connect(as: host.account.system(validFrom: -3600, to: 3600))
            let other = try await host.connect()
            _ = try await connection.send([:], timeout: .seconds(20))
            // Set back, or forward to a time before the end, it changes nothing.
            for step: TimeInterval in [-365 * 86_400, 0, 3000] { host.security.closeExpired(at: Date() + step) }
            let response = try await connection.send(["still": true], timeout: .seconds(20))
            #expect(response.message == ["still": true])
            host.security.closeExpired(at: Date() + 3601)
            #expect(await connection.waitUntilClosed() == .unknown)
            let error = await #expect(throws: TransportError.self) {
                try await connection.send([:], timeout: .seconds(1))
            }
            #expect((error?.cause as? TransportError)?.message.contains("expired") == true)
            #expect(try await other.send(["still": true], timeout: .seconds(20)).message == ["still": true])
            // A closed connection is not closed again.
            host.security.closeExpired(at: Date() + 3601)
        }
    }

    @Test func `a refusal carries the certificate that was shown, also if it was replaced meanwhile`() async throws {
        let gate = Gate()
        try await LoopbackHost.with(admitting: gate) { host in
            let identity = try host.account.system()
            let security = try TransportSecurity(identity: identity)
            let attempt = Task { try await host.connect(service: "other", with: security) }
            try await eventually("the hello") { host.hellos.value == 1 }
            let renewed = try host.account.authority.issueCertificate(for: identity.systemKey.publicKey, now: Date())
            try security.update(identity: identity.replacingCertificate(with: renewed))
            gate.open()
            let error = await #expect(throws: TransportError.self) { _ = try await attempt.value }
            #expect(error?.code == .refused && error?.ownCertificate == identity.certificate)
            let next = await #expect(throws: TransportError.self) {
                _ = try await host.connect(service: "other", with: security)
            }
            #expect(next?.ownCertificate == renewed && renewed != identity.certificate)
        }
    }

    @Test func `a connection ends when the peer's certificate expires`() async throws {
        try await LoopbackHost.with { host in
            let short = try host.account.system(validFrom: -3600, to: 12)
            let connection = try await host.connect(as: short)
            _ = try await connection.send([:], timeout: .seconds(20))
            let call = Task { await connection.waitUntilClosed() }
            #expect(await call.value == .unknown)
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == .unknown)
            let error = await #expect(throws: TransportError.self) {
                try await connection.send([:], timeout: .seconds(1))
            }
            #expect((error?.cause as? TransportError)?.message.contains("expired") == true)
            let again = await #expect(throws: TransportError.self) { _ = try await host.connect(as: short) }
            #expect(again?.openStatus == .notAuthorized)
        }
    }
}
