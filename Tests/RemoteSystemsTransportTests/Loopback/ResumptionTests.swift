// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// A resumed TLS session skips the check of certificates. That must let nobody in (`Docs/wire-protocol.md`, section 3).
///
/// Swift's TLS client does not resume, so the client is OpenSSL's own.
@Suite(.timeLimit(.minutes(1)), .enabled(if: OpenSSL.isThere, "no openssl command")) struct ResumptionTests {
    @Test func `a session is resumed, and the peer is known again`() async throws {
        try await LoopbackHost.with { host in
            let openssl = try OpenSSL(as: host.account.system(), to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("Reused, TLSv1.3"), "otherwise these tests prove nothing")
            #expect(again.frame == .accepted)
        }
    }

    @Test func `a session of a system that was revoked since is worth nothing`() async throws {
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

    @Test func `a session of a system that was revoked while it was connected is worth nothing`() async throws {
        try await LoopbackHost.with { host in
            let rogue = try host.account.system()
            let openssl = try OpenSSL(as: rogue, to: host)
            defer { openssl.remove() }
            let first = Task { try await openssl.run(["-sess_out", openssl.session], ending: false) }
            let connection = try await host.connections.first()
            // The ticket comes with the first answer, so the client has it when it is thrown out.
            try host.security.update(identity: host.security.identity, revocations: host.account.revoking(rogue))
            #expect(await connection.waitUntilClosed() == .unknown)
            #expect(try await first.value.frame == .accepted)
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.text.contains("New, TLSv1.3"))
            #expect(again.frame == .refused(.notAuthorized))
        }
    }

    @Test func `a session that outlives the certificate it was made with is worth nothing`() async throws {
        try await LoopbackHost.with { host in
            let short = try host.account.system(validFrom: -3600, to: 12)
            let openssl = try OpenSSL(as: short, to: host)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            try await eventually("the certificate's end") { Date() > short.certificateValidity.upperBound }
            // The host's TLS context is the same, so the session is resumed; who it is is asked nevertheless.
            let again = try await openssl.run(["-sess_in", openssl.session])
            #expect(again.frame == .refused(.notAuthorized))
        }
    }

    @Test func `a session from where strangers are let in lets none in where they are not (X-31)`() async throws {
        try await LoopbackHost.with(accepting: [.sameAccount, .anonymous]) { open in
            var openssl = try OpenSSL(as: TestAccount().system(), to: open)
            defer { openssl.remove() }
            #expect(try await openssl.accepted(["-sess_out", openssl.session]))
            #expect(!open.connections.all.contains { $0.peer.standing != .anonymous })
            // The same TLS context, so the session is resumed; who it is is asked nevertheless.
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
}

/// `openssl s_client` with a system's certificate, which says hello and prints what comes back.
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

    /// - Parameter ending: whether to have the host end a connection that it has accepted.
    func run(_ options: [String], ending: Bool = true) async throws -> (text: String, frame: Response) {
        let output = self.directory + "/output"
        let script = """
            timeout 20 \(Self.path) s_client -ign_eof -connect 127.0.0.1:\(self.host.listener.port) -tls1_3 \
            -alpn remote-systems/1 -certform DER -cert "$0/certificate" -key "$0/key" \(options.joined(separator: " ")) \
            <"$0/hello" >"$0/output" 2>&1 || true
            """
        // The command ends when the host closes the connection, which a host that has accepted it does not do by itself.
        let ending = Task { [connections = self.host.connections] in
            while ending, !Task.isCancelled {
                for connection in connections.all { connection.abort() }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        defer { ending.cancel() }
        try await runProcess("/bin/bash", ["-c", script, self.directory])
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: output)))
        return (String(decoding: bytes, as: UTF8.self), Self.response(in: bytes))
    }

    /// Finds the one frame of the opening among what the command prints about TLS.
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
