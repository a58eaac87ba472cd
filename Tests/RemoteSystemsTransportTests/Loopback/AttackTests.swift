// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOCore
import NIOSSL
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Attacks that succeeded against comparable systems, each with its id (`Docs/security-model.md`, "How each promise is
/// tested"). Attacks that other tests run have their ids there.
@Suite(.timeLimit(.minutes(1))) struct AttackTests {
    // MARK: Identity

    @Test func `an identity that a hello claims is ignored (CVE-2025-66270)`() async throws {
        try await LoopbackHost.with { _, connection in
            Response(message: ["caller": .string("\(connection.peer.systemID)")])
        } _: { host in
            let attacker = try host.account.system()
            let victim = try host.account.system()
            let peer = try await host.connectRaw(as: attacker)
            var hello = Hello.test.valueSet
            for key in ["system", "systemID", "system-id", "id", "peer", "certificate"] {
                hello[key] = .string("\(victim.systemID)")
            }
            for key in ["account", "accountID", "account-id"] { hello[key] = .string("\(victim.accountID)") }
            var bytes = ByteBuffer()
            try bytes.writeTestFrame([0, .dictionary(hello)])
            peer.send(Array(bytes.readableBytesView))
            guard case .accept? = try await peer.nextFrame() else {
                Issue.record("it was not accepted")
                return
            }
            // The second message of the protocol repeats the claim.
            let claim: ValueSet = ["system": .string("\(victim.systemID)"), "id": .string("\(victim.systemID)")]
            try peer.send(.request(id: 1, timeoutMilliseconds: 10_000, message: claim))
            guard case .response(1, .success, let message, nil)? = try await peer.nextFrame() else {
                Issue.record("there is no response")
                return
            }
            #expect(message["caller"] == .string("\(attacker.systemID)"))
            #expect(try await host.connections.first().peer.systemID == attacker.systemID)
        }
    }

    /// A key that signs like another one.
    private struct OtherKey: NIOSSLCustomPrivateKey, Hashable {
        let key: [UInt8]

        var signatureAlgorithms: [SignatureAlgorithm] { [.ecdsaSecp256R1Sha256] }

        func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer>
        {
            channel.eventLoop.makeCompletedFuture {
                let key = try P256.Signing.PrivateKey(rawRepresentation: self.key)
                return ByteBuffer(bytes: try key.signature(for: Array(data.readableBytesView)).derRepresentation)
            }
        }

        func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
            channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
    }

    @Test(arguments: [true, false])
    func `a certificate is accepted only with its own key (CVE-2022-25638, CVE-2022-25640)`(isOwn: Bool) async throws {
        try await LoopbackHost.with { host in
            let victim = try host.account.system()
            let key = isOwn ? victim.systemKey : P256.Signing.PrivateKey()
            var tls = try TLSConfiguration.raw(certificate: nil, key: nil)
            tls.certificateChain = [.certificate(try NIOSSLCertificate(bytes: victim.certificate, format: .der))]
            tls.privateKey = .privateKey(
                NIOSSLPrivateKey(customPrivateKey: OtherKey(key: Array(key.rawRepresentation)))
            )
            let peer = try await RawPeer.connect(port: host.listener.port, tls: tls)
            try peer.send(.hello(.test))
            if isOwn {
                guard case .accept? = try await peer.nextFrame() else {
                    Issue.record("it was not accepted, so the other case proves nothing")
                    return
                }
            } else {
                #expect(try await peer.nextFrame() == nil)
                #expect(host.hellos.value == 0)
                #expect(host.connections.all.isEmpty)
                #expect(try await host.isServing())
            }
        }
    }

    // MARK: Replay

    @Test func `recorded bytes of a connection, sent again, execute nothing (CVE-2024-38272)`() async throws {
        let handled = Counter()
        try await LoopbackHost.with { request, _ in
            handled.increase()
            return Response(message: request.message)
        } _: { host in
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let connection = try await host.connect(through: tunnel.port)
            _ = try await connection.send(["launch": "it"], timeout: .seconds(20))
            await connection.close()
            let recorded = tunnel.sent
            await tunnel.stop()
            #expect(handled.value == 1)
            #expect(recorded.count > 1000)
            let replay = try await RawPeer.connect(port: host.listener.port, tls: nil)
            replay.send(recorded)
            try await replay.waitUntilClosed()
            #expect(try await host.isServing())
            #expect(handled.value == 2)
            #expect(host.hellos.value == 2)
        }
    }

    // MARK: Exhaustion

    @Test func `connections that stop within TLS's first message delay no other (CVE-2026-44296)`() async throws {
        try await LoopbackHost.with { host in
            var stalled: [RawPeer] = []
            for _ in 0..<31 {
                let peer = try await RawPeer.connect(port: host.listener.port, tls: nil)
                // A handshake record of 512 bytes, of which 100 come.
                peer.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC] + [UInt8](repeating: 3, count: 91))
                stalled.append(peer)
            }
            #expect(try await host.isServing())
            #expect(stalled.allSatisfy { !$0.isClosed }, "They were closed, so this proves nothing")
            for peer in stalled { peer.close() }
        }
    }

    // MARK: Tracking

    /// The parts of a TLS client hello (RFC 8446, section 4.1.2), which a listener on the network can read.
    struct ClientHello {
        var random: [UInt8]
        var sessionID: [UInt8]
        /// Cipher suites and compression methods.
        var offers: [UInt8]
        var extensions: [Int: [UInt8]] = [:]

        init?(_ bytes: [UInt8]) {
            // Five bytes of the record and four of the message are before it.
            var rest = ByteBuffer(bytes: bytes.dropFirst(9))
            guard bytes.prefix(1) == [22], bytes.count > 9, bytes[5] == 1, rest.readBytes(length: 2) != nil,
                let random = rest.readBytes(length: 32),
                let session = rest.readInteger(as: UInt8.self), let id = rest.readBytes(length: Int(session)),
                let suites = rest.readInteger(as: UInt16.self), let offers = rest.readBytes(length: Int(suites)),
                let methods = rest.readInteger(as: UInt8.self), let others = rest.readBytes(length: Int(methods)),
                let length = rest.readInteger(as: UInt16.self), var all = rest.readSlice(length: Int(length))
            else { return nil }
            (self.random, self.sessionID, self.offers) = (random, id, offers + others)
            while let type = all.readInteger(as: UInt16.self), let length = all.readInteger(as: UInt16.self),
                let content = all.readBytes(length: Int(length))
            {
                self.extensions[Int(type)] = content
            }
        }
    }

    /// The clear bytes with which a caller begins its connections.
    private func clientHellos(of caller: SystemIdentity, to host: LoopbackHost) async throws -> [ClientHello] {
        let security = try TransportSecurity(identity: caller)
        var hellos: [ClientHello] = []
        for _ in 0..<2 {
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let connection = try? await host.connect(with: security, through: tunnel.port)
            _ = try? await connection?.send(["a": 1], timeout: .seconds(20))
            await connection?.close()
            hellos.append(try #require(ClientHello(tunnel.sent)))
            await tunnel.stop()
        }
        return hellos
    }

    @Test func `connections of a caller cannot be linked by their first bytes (Martin 2019, Stute 2021)`() async throws
    {
        try await LoopbackHost.with { host in
            let ours = try await self.clientHellos(of: host.account.system(), to: host)
            let others = try await self.clientHellos(of: TestAccount().system(), to: host)
            let all = ours + others
            #expect(Set(all.map(\.random)).count == all.count)
            // Random, too: only for middleboxes (RFC 8446, appendix D.4).
            #expect(Set(all.map(\.sessionID)).count == all.count)
            for hello in all {
                // A server name, a ticket or a certificate's id could be recognised (RFC 8446, appendix C.4).
                for type in [0, 35, 41, 42] where hello.extensions[type]?.isEmpty == false {
                    Issue.record("extension \(type) has content")
                }
            }
            let keyShare = 51
            #expect(Set(all.compactMap { $0.extensions[keyShare] }).count == all.count)
            // Everything else is the same for every system of every account.
            let first = try #require(all.first)
            for hello in all {
                #expect(hello.offers == first.offers)
                let mine = hello.extensions.filter { $0.key != keyShare }
                #expect(mine == first.extensions.filter { $0.key != keyShare })
            }
        }
    }
}
