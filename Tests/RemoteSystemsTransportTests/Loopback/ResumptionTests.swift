// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// A resumed TLS session skips the check of certificates. That must not admit an untrusted peer
/// (`Docs/wire-protocol.md`, section 3). CVE-2016-5419 (curl) and golang/go#77217 are such faults.
///
/// Swift's TLS client does not resume sessions, so the client is OpenSSL's.
@Suite(.timeLimit(.minutes(1)), .enabled(if: OpenSSL.isThere, "no openssl command")) struct ResumptionTests {
    @Test func `a session is resumed, and the peer is recognised`() async throws {
        try await LoopbackHost.with { host in
            let openssl = try OpenSSL(as: host.account.system(), to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("Reused, TLSv1.3"), "otherwise these tests prove nothing")
            #expect(again.frame == .accepted)
        }
    }

    @Test func `a session of a system that was revoked since is refused (CVE-2016-5419, golang/go#77217)`() async throws
    {
        try await LoopbackHost.with { host in
            let rogue = try host.account.system()
            let openssl = try OpenSSL(as: rogue, to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(rogue))
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("New, TLSv1.3"))
            #expect(again.frame == .refused(.notAuthorized))
        }
    }

    @Test func `a session of a system that was revoked while connected is refused`() async throws {
        try await LoopbackHost.with { host in
            let rogue = try host.account.system()
            let openssl = try OpenSSL(as: rogue, to: host)
            defer { openssl.remove() }
            let first = Task { try await openssl.run(["-sess_out", openssl.session], ending: false) }
            let connection = try await host.connections.first()
            // The ticket comes with the first response, so the client has it before it is revoked.
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(rogue))
            #expect(await connection.waitUntilClosed() == .unknown)
            #expect(try await first.value.frame == .accepted)
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("New, TLSv1.3"))
            #expect(again.frame == .refused(.notAuthorized))
        }
    }

    @Test func `a session that outlives its certificate is refused`() async throws {
        try await LoopbackHost.with { host in
            let short = try host.account.system(validFrom: -3600, to: 12)
            let openssl = try OpenSSL(as: short, to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            try await eventually("the certificate's end") { Date() > short.certificateValidity.upperBound }
            // The host's TLS context is the same, so the session is resumed. The peer is authenticated nevertheless.
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("Reused, TLSv1.3"), "otherwise this test proves nothing")
            #expect(again.frame == .refused(.notAuthorized))
        }
    }

    @Test func `a session of a linked system is resumed, and refused when the link was withdrawn`() async throws {
        let account = try TestAccount()
        let friends = try TestAccount()
        let identity = try account.system()
        var trust = identity.trustStore()
        let shared = TrustedAccount(roots: friends.authority.roots)
        trust.link(LinkedAccount(shared, grants: Grants(services: ["echo"])))
        let security = try TransportSecurity(identity: identity, trust: trust)
        try await LoopbackHost.with(account: account, security: security, accepting: [.sameAccount, .linked]) { host in
            let openssl = try OpenSSL(as: friends.system(), to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("Reused, TLSv1.3"), "otherwise this test proves nothing")
            #expect(again.frame == .accepted)
            #expect(host.connections.all.allSatisfy { $0.peer.standing.kind == .linked })
            try host.security.update(identity: identity, links: [])
            let withdrawn = try await openssl.run(["-sess_in", openssl.session])
            #expect(withdrawn.text.contains("New, TLSv1.3"))
            #expect(withdrawn.frame == .refused(.notAuthorized))
        }
    }

    @Test func `a session from a host that accepts strangers admits none to a host that does not (X-31)`() async throws
    {
        try await LoopbackHost.with(accepting: [.sameAccount, .anonymous]) { open in
            var openssl = try OpenSSL(as: TestAccount().system(), to: open)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            #expect(!open.connections.all.contains { $0.peer.standing != .anonymous })
            // The same TLS context, so the session is resumed. The peer is authenticated nevertheless.
            try await LoopbackHost.with(account: open.account, security: open.security) { closed in
                openssl.host = closed
                let again = try await openssl.run(["-sess_in", openssl.session])
                #expect(again.text.contains("Reused, TLSv1.3"), "otherwise this test proves nothing")
                #expect(again.frame == .refused(.notAuthorized))
                #expect(closed.hellos.value == 0)
            }
            openssl.host = open
            let third = try await openssl.run(["-sess_in", openssl.session])
            #expect(third.frame == .accepted)
            #expect(!open.connections.all.contains { $0.peer.standing != .anonymous })
        }
    }

    // MARK: Tickets in other hands

    @Test func `a ticket of one host is not accepted by another host of the account`() async throws {
        try await LoopbackHost.with { first in
            var openssl = try OpenSSL(as: first.account.system(), to: first)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            try await LoopbackHost.with(account: first.account) { second in
                openssl.host = second
                let again = try await openssl.run(["-sess_in", openssl.session])
                #expect(again.text.contains("New, TLSv1.3"))
                #expect(again.frame == .accepted)
            }
        }
    }

    @Test func `a ticket that another system uses stands for the system that got it, until that is revoked`()
        async throws
    {
        try await LoopbackHost.with { host in
            let owner = try host.account.system()
            let thief = try host.account.system()
            let openssl = try OpenSSL(as: owner, to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            let other = try OpenSSL(as: thief, to: host)
            defer { other.remove() }
            let stolen = try await other.run(["-sess_in", openssl.session])
            #expect(stolen.text.contains("Reused, TLSv1.3"), "otherwise this test proves nothing")
            #expect(stolen.frame == .accepted)
            #expect(host.connections.all.map(\.peer.systemID) == [owner.systemID, owner.systemID])
            // Every change of trust ends the sessions, so that the peer must prove its own certificate.
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(owner))
            let again = try await other.run(["-sess_in", openssl.session])
            #expect(again.text.contains("New, TLSv1.3"))
            #expect(again.frame == .accepted)
            #expect(host.connections.all.last?.peer.systemID == thief.systemID)
        }
    }
}

/// `openssl s_client` with a system's certificate. It sends a hello and prints what it receives.
private struct OpenSSL {
    enum Response: Equatable {
        case accepted
        case refused(OpenStatus)
        case nothing
    }

    static let path = "/usr/bin/openssl"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: Self.path) }

    let directory: String
    var host: LoopbackHost
    var session: String { self.directory + "/session" }

    init(as identity: SystemIdentity, to host: LoopbackHost) throws {
        self.directory = FileManager.default.temporaryDirectory.appending(path: "resumption-\(UUID())").path
        self.host = host
        try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
        try Data(identity.certificate).write(to: URL(filePath: self.directory + "/certificate"))
        try Data(identity.systemKey.pemRepresentation.utf8).write(to: URL(filePath: self.directory + "/key"))
        var hello = ByteBuffer()
        try hello.writeFrame(.hello(.test), limit: 8192)
        try Data(hello.readableBytesView).write(to: URL(filePath: self.directory + "/hello"))
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: self.directory)
    }

    func accepted(_ options: [String]) async throws -> Bool {
        try await self.run(options).frame == .accepted
    }

    /// - Parameter ending: Whether the host ends a connection that it has accepted.
    func run(_ options: [String], ending: Bool = true) async throws -> (text: String, frame: Response) {
        let output = self.directory + "/output"
        let script = """
            timeout 20 \(Self.path) s_client -ign_eof -connect 127.0.0.1:\(self.host.listener.port) -tls1_3 \
            -alpn remote-systems/1 -certform DER -cert "$0/certificate" -key "$0/key" \
            \(options.joined(separator: " ")) \
            <"$0/hello" >"$0/output" 2>&1 || true
            """
        // The command ends when the host closes the connection, which a host does not do by itself after accepting it.
        let ending = Task { [connections = self.host.connections] in
            while ending, !Task.isCancelled {
                for connection in connections.all { connection.abort() }
                // Polls until the host has accepted the connection of the other process.
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        defer { ending.cancel() }
        try await runProcess("/bin/bash", ["-c", script, self.directory])
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: output)))
        return (String(decoding: bytes, as: UTF8.self), Self.response(in: bytes))
    }

    /// Finds the only handshake frame in the command's output about TLS.
    private static func response(in bytes: [UInt8]) -> Response {
        for start in bytes.indices where bytes[start] == 0 {
            var decoder = FrameDecoder(limit: ConnectionLimits.helloBytes)
            decoder.append(ByteBuffer(bytes: bytes[start...]))
            guard let frame = try? decoder.next() else { continue }
            switch try? Frame(frame) {
            case .accept?: return .accepted
            case .refuse(let status, _)?: return .refused(status)
            default: continue
            }
        }
        return .nothing
    }
}
