// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Glibc
import Measuring
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import SwiftASN1
import ValueSets
import X509

/// Connections that keep no rule. They come from 127.0.0.2, so that they count as another machine's.
struct AttackingClient: Sendable {
    let port: Int
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    init(port: Int) { self.port = port }

    /// Connects, and returns before anything is sent.
    ///
    /// - Parameters:
    ///   - identity: The certificate and the greeting that is sent after the TLS handshake; nil for no TLS.
    ///   - bytes: What is sent after the response to the greeting, or after the handshake if there is no greeting.
    func connect(_ identity: AttackerIdentity?, sending bytes: ByteBuffer = ByteBuffer()) async throws -> any Channel {
        try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                // Closing resets the connection, so that no port stays reserved.
                (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    .whenFailure { _ in channel.close(promise: nil) }
                return channel.eventLoop.makeCompletedFuture {
                    guard let identity else { return }
                    let tls = try NIOSSLClientHandler(context: identity.context, serverHostname: nil) { _, promise in
                        promise.succeed(.certificateVerified)
                    }
                    try channel.pipeline.syncOperations.addHandlers(tls, Sender([identity.greeting, bytes]))
                }
            }
            .bind(to: SocketAddress(ipAddress: "127.0.0.2", port: 0))
            .connect(to: SocketAddress(ipAddress: "127.0.0.1", port: port)).get()
    }

    /// Returns when the server has closed the connection, at the latest after two seconds.
    func end(of channel: any Channel) async {
        let timer = channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
        try? await channel.closeFuture.get()
        timer.cancel()
    }

    /// Sends the first of its messages after the handshake, and each further one when something has arrived.
    private final class Sender: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var unsent: [ByteBuffer]

        init(_ messages: [ByteBuffer]) { unsent = messages.filter { $0.readableBytes > 0 } }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted = event { sendNext(context) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { sendNext(context) }

        private func sendNext(_ context: ChannelHandlerContext) {
            guard !unsent.isEmpty else { return }
            context.writeAndFlush(wrapOutboundOut(unsent.removeFirst()), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// The certificate and the first bytes of an attacker, for either protocol.
struct AttackerIdentity: Sendable {
    let context: NIOSSLContext
    /// The first message: a hello, or nothing where the protocol has none.
    let greeting: ByteBuffer

    /// - Parameters:
    ///   - identity: the certificate and key in PEM; nil for none.
    ///   - service: the service that the greeting names.
    init(
        _ identity: Credentials.Identity?,
        against contestant: ContestantName,
        service: String = Ours.service
    ) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv13
        tls.certificateVerification = .noHostnameVerification
        tls.trustRoots = .certificates([])
        if let identity {
            tls.certificateChain = [
                .certificate(try NIOSSLCertificate(bytes: Array(identity.certificate.utf8), format: .pem))
            ]
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem))
        }
        var greeting = ByteBuffer()
        if contestant == .ours {
            tls.applicationProtocols = ["remote-systems/1"]
            let hello: Value = [
                0,
                .dictionary([
                    "version": [1, 0], "service": .string(service), "application": "org.example.attacker",
                    "limit": 1_048_576, "window": 128, "window-bytes": 8_388_608,
                ]),
            ]
            let bytes = try hello.encoded()
            greeting.writeInteger(UInt32(bytes.count))
            greeting.writeBytes(bytes)
        }
        context = try NIOSSLContext(configuration: tls)
        self.greeting = greeting
    }

    /// Most of a message of a megabyte.
    static func halfMessage(against contestant: ContestantName) -> ByteBuffer {
        var bytes = ByteBuffer()
        let length = 1_000_000
        if contestant == .ours {
            bytes.writeInteger(UInt32(length))
        } else {
            var header = RawFrame(bodyBytes: length, answer: .acknowledgement).header
            bytes.writeBuffer(&header)
        }
        bytes.writeRepeatingByte(0x84, count: length - 100_000)
        return bytes
    }

    /// Requests of a member for a new certificate (Docs/wire/presence.md).
    static func renewals(of identity: Credentials.Identity, count: Int) throws -> ByteBuffer {
        let request = try CertificateSigningRequest(
            version: .v1,
            subject: DistinguishedName { CommonName("RemoteSystems system") },
            privateKey: Certificate.PrivateKey(P256.Signing.PrivateKey(pemRepresentation: identity.privateKey)),
            attributes: CertificateSigningRequest.Attributes(),
            signatureAlgorithm: .ecdsaWithSHA256
        )
        var serializer = DER.Serializer()
        try serializer.serialize(request)
        var frames = ByteBuffer()
        for number in 1...count {
            let frame: Value = [
                3, .integer(Int64(number)), 30_000,
                .dictionary(["Type": "renew", "Request": .data(Data(serializer.serializedBytes))]),
            ]
            let bytes = try frame.encoded()
            frames.writeInteger(UInt32(bytes.count))
            frames.writeBytes(bytes)
        }
        return frames
    }

    /// The certificate and key of the account in a state directory.
    static func ofAccount(in state: String) throws -> Credentials.Identity {
        func text(_ name: String) throws -> String {
            try String(contentsOfFile: "\(state)/account/\(name).pem", encoding: .utf8)
        }
        return Credentials.Identity(certificate: try text("system-certificate"), privateKey: try text("system-key"))
    }
}
