// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import RemoteSystemsIdentity
import Synchronization
import Testing

@testable import RemoteSystemsTransport

/// What a host learns of a caller before it has proved who it is, seen by the host and in a capture of the connection.
/// Programs that trusted any device at an announced address were taken over (CVE-2025-54792).
@Suite struct ImpostorTests {
    /// A TLS server that records what callers send to it.
    private final class Impostor: Sendable {
        private struct Record {
            var captured: [UInt8] = []
            var certificates = 0
            var isClosed = false
        }

        private let record = Mutex(Record())

        /// The length of each TLS record that came, by its content type (RFC 8446, section 5.1).
        var records: [(type: UInt8, length: Int)] {
            var rest = self.record.withLock { $0.captured }[...]
            var records: [(UInt8, Int)] = []
            while rest.count >= 5, let type = rest.first {
                let length = Int(rest[rest.startIndex + 3]) << 8 | Int(rest[rest.startIndex + 4])
                records.append((type, length))
                rest = rest.dropFirst(5 + length)
            }
            return records
        }

        /// How many certificates callers have shown.
        var certificates: Int { self.record.withLock { $0.certificates } }
        var isClosed: Bool { self.record.withLock { $0.isClosed } }

        func listen(as identity: SystemIdentity) async throws -> any Channel {
            var tls = try TLSConfiguration.raw(as: identity)
            tls.certificateVerification = .noHostnameVerification
            let context = try NIOSSLContext(configuration: tls)
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let handler = NIOSSLServerHandler(context: context) { certificates, promise in
                            self.record.withLock { $0.certificates += certificates.count }
                            promise.succeed(.certificateVerified)
                        }
                        try channel.pipeline.syncOperations.addHandlers(Capture(self), handler)
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
        }

        private final class Capture: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer

            private let impostor: Impostor

            init(_ impostor: Impostor) { self.impostor = impostor }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let bytes = self.unwrapInboundIn(data)
                self.impostor.record.withLock { $0.captured += bytes.readableBytesView }
                context.fireChannelRead(data)
            }

            func channelInactive(context: ChannelHandlerContext) {
                self.impostor.record.withLock { $0.isClosed = true }
                context.fireChannelInactive()
            }
        }
    }

    private func connect(as caller: SystemIdentity, to host: SystemIdentity) async throws -> (Impostor, TransportError?)
    {
        let impostor = Impostor()
        let listener = try await impostor.listen(as: host)
        let connector = Connector(
            security: try TransportSecurity(identity: caller),
            limits: .patient,
            timeout: .seconds(20),
            logger: TestLog().logger
        )
        let port = listener.localAddress?.port ?? 0
        let error = await #expect(throws: TransportError.self) {
            let task = Task {
                _ = try await connector.connect(
                    to: [Endpoint(host: "127.0.0.1", port: port)],
                    expecting: nil,
                    hello: .test
                ) { _, _ in Response() }
            }
            // A host of the account never answers here; what it was sent by then is what counts.
            if host.accountID == caller.accountID {
                try await eventually("the caller's certificate") { impostor.certificates > 0 }
                try await listener.close().get()
                task.cancel()
                throw TransportError(.unreachable, "", side: .local)
            }
            try await task.value
        }
        try? await listener.close().get()
        return (impostor, error)
    }

    @Test func `a host of another account is shown no certificate`() async throws {
        let (impostor, error) = try await self.connect(as: TestAccount().system(), to: TestAccount().system())
        #expect(error?.code == .peerNotTrusted)
        try await eventually("the end of the connection") { impostor.isClosed }
        #expect(impostor.certificates == 0)
        // The hello, and an alert that says nothing: no record has the length of a certificate.
        #expect(impostor.records.first?.type == 22)
        #expect(impostor.records.dropFirst().allSatisfy { $0.length < 32 }, "\(impostor.records)")
    }

    @Test func `a host of the account is shown the certificate`() async throws {
        let account = try TestAccount()
        let (impostor, _) = try await self.connect(as: account.system(), to: account.system())
        #expect(impostor.certificates == 1)
        #expect(impostor.records.contains { $0.length > 400 })
    }
}
