// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// The inviter's port and strangers. Joining as a whole is tested through the public API.
@Suite(.timeLimit(.minutes(1))) struct JoinListenerTests {
    @Test func `garbage ends its own connection and no other`() async throws {
        try await Inviting.with { inviting, running in
            let stranger = try await inviting.stranger()
            // On a busy machine, the connection may have been closed because no byte arrived in time.
            try? await stranger.writeAndFlush(ByteBuffer(repeating: 0x55, count: 4096))
            try await stranger.closeFuture.get()
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
        }
    }

    @Test func `a silent connection does not block other joiners`() async throws {
        try await Inviting.with { inviting, running in
            let silent = try await inviting.stranger()
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
            try? await silent.close()
        }
    }

    @Test func `a connection without a first byte is closed long before the others`() async throws {
        var times = IntroductionTimes(all: .minutes(10))
        times.firstByte = .milliseconds(50)
        try await Inviting.with(times: times) { inviting, _ in
            try await inviting.stranger().closeFuture.get()
        }
    }

    @Test func `a silent connection is closed at its timeout`() async throws {
        try await Inviting.with(times: IntroductionTimes(all: .milliseconds(50))) { inviting, _ in
            try await inviting.stranger().closeFuture.get()
        }
    }

    // MARK: Wrong proofs

    @Test func `wrong secrets do not end an invitation, and the right one still joins`() async throws {
        let log = TestLog()
        try await Inviting.with(log: log) { inviting, running in
            for _ in 1...30 { #expect(try await inviting.joinWrongly() == .wrongSecret) }
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
        }
        // The first one, and the number of all at the end.
        let lines = log.all.filter { $0.contains("wrong invitation") }
        #expect(lines.first?.contains("copied incompletely") == true)
        #expect(lines.first?.contains("stays valid") == true && lines.first?.contains("127.0.0.1") == true)
        #expect(lines.count == 2 && lines.last?.contains("30") == true, "\(lines)")
        #expect(lines.allSatisfy { $0.contains("invitation-wrong") })
    }

    @Test func `a flood of wrong proofs is logged once a minute, and its size at the end`() {
        let (log, clock) = (TestLog(), ManualClock())
        let wrongProofs = WrongProofLog(log.logger, time: TimeSource(manual: clock))
        // A hundred a second, for the life of an invitation.
        for _ in 0..<Int(Invitation.life) {
            for _ in 1...100 { wrongProofs.add(from: "192.0.2.7") }
            clock.advance(by: .seconds(1))
        }
        #expect(log.all.count == 10)
        for _ in 1...2 { wrongProofs.finish() }
        #expect(log.all.count == 11)
        #expect(log.all.last?.contains("60000") == true)
    }

    @Test func `no wrong proof, no message`() {
        let log = TestLog()
        WrongProofLog(log.logger, time: .system).finish()
        #expect(log.all.isEmpty)
    }

    // MARK: Impostors

    /// A machine without the account's key at an address of the invitation. It answers the first message with a
    /// challenge, and records the bytes that it receives, decrypted.
    private final class Impostor: Sendable {
        private let received = Mutex<[UInt8]>([])

        var bytes: [UInt8] { self.received.withLock { $0 } }

        func listen(as identity: SystemIdentity, sending challenge: JoinChallenge) async throws -> any Channel {
            let tls = try JoinTLS(certificate: identity.certificate, privateKeyPEM: identity.privateKeyPEM)
            var message = ByteBuffer()
            try JoinMessage.challenge(challenge).write(to: &message)
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { [message] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            tls.serverHandler(),
                            Recorder(self, response: message)
                        )
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
        }

        private final class Recorder: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer

            private let impostor: Impostor
            private let response: ByteBuffer
            private var decoder = FrameDecoder(limit: JoinMessage.maxBytes)

            init(_ impostor: Impostor, response: ByteBuffer) {
                self.impostor = impostor
                self.response = response
            }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let bytes = self.unwrapInboundIn(data)
                self.impostor.received.withLock { $0 += bytes.readableBytesView }
                self.decoder.append(bytes)
                guard (try? self.decoder.next()) != nil else { return }
                context.writeAndFlush(self.wrapOutboundOut(self.response), promise: nil)
            }
        }
    }

    @Test(arguments: [false, true])
    func `an impostor at the invitation's address learns nothing, and the joiner tries the next address`(
        showsCopy: Bool
    ) async throws {
        try await Inviting.with { inviting, running in
            let own = try TestAccount().system()
            // It shows its own account, or what an inviter of the account once showed to it.
            let shown = try showsCopy ? inviting.store.identity() : own
            let impostor = Impostor()
            let listener = try await impostor.listen(
                as: own,
                sending: JoinChallenge(
                    nonce: JoinLimit.randomNonce(),
                    certificate: shown.certificate,
                    rootCertificate: shown.rootCertificate
                )
            )
            let port = try #require(listener.localAddress?.port)
            let second = try #require(inviting.invitation.addresses.first)
            let uri = inviting.invitation.uri.replacing(
                "address=\(second)",
                with: "address=127.0.0.1:\(port)&address=\(second)"
            )
            let invitation = try Invitation(uri: uri)
            #expect(invitation.addresses.count == 2 && invitation.secret == inviting.invitation.secret)
            let joined = try await JoinCall.join(invitation, logger: Logger(label: "joiner")).identity
            #expect(try await running.value == joined.systemID)
            #expect(joined.accountID == invitation.accountID)
            try await listener.close()

            let bytes = impostor.bytes
            var decoder = FrameDecoder(limit: JoinMessage.maxBytes)
            decoder.append(ByteBuffer(bytes: bytes))
            // One hello, which contains no secret, and no proof after it.
            let frame = try #require(try decoder.next())
            guard case .hello = try JoinMessage(frame) else {
                Issue.record("it was not a hello")
                return
            }
            #expect(decoder.pendingBytes == 0)
            let text = invitation.secret.revealed
            let secret = try #require(Base32.decode(text, count: InvitationSecret.byteCount))
            #expect(bytes.firstRange(of: secret) == nil && bytes.firstRange(of: Array(text.utf8)) == nil)
        }
    }

    // MARK: The end of an invitation

    @Test func `an unused invitation ends at its expiry`() async throws {
        try await Inviting.with(age: Invitation.life - 0.5) { _, running in
            await #expect {
                _ = try await running.value
            } throws: {
                ($0 as? IdentityError)?.code == .invitationExpired
            }
        }
    }

    @Test func `a certificate that cannot be recorded is not issued`() async throws {
        struct DiskFull: Error {}
        try await Inviting.with { inviting, _ in
            let identity = try inviting.store.identity()
            let listener = try await JoinListener.start(
                host: "127.0.0.1",
                port: 0,
                identity: identity,
                logger: Logger(label: "inviter")
            )
            let invitation = try Invitation(
                accountID: identity.accountID,
                addresses: [Invitation.Address(host: "127.0.0.1", port: UInt16(listener.port))],
                now: Date()
            )
            let authority = try inviting.store.authority()
            let inviter = Task { try await listener.run(invitation, authority: authority) { _, _ in throw DiskFull() } }
            await #expect {
                _ = try await JoinCall.join(invitation, logger: Logger(label: "joiner"))
            } throws: {
                ($0 as? IdentityError)?.code == .joinFailed
            }
            await #expect(throws: DiskFull.self) { try await inviter.value }
        }
    }

    @Test func `an invitation that is withdrawn while a system is recorded reports that system`() async throws {
        try await Inviting.with { inviting, _ in
            let identity = try inviting.store.identity()
            let listener = try await JoinListener.start(
                host: "127.0.0.1",
                port: 0,
                identity: identity,
                times: IntroductionTimes(all: .seconds(60)),
                logger: Logger(label: "inviter")
            )
            let invitation = try Invitation(
                accountID: identity.accountID,
                addresses: [Invitation.Address(host: "127.0.0.1", port: UInt16(listener.port))],
                now: Date()
            )
            let authority = try inviting.store.authority()
            let (begun, mayEnd) = (Gate(), Gate())
            let inviter = Task {
                try await listener.run(invitation, authority: authority) { _, _ in
                    begun.open()
                    // As the queue of the account's files, it does not end early when the task is cancelled.
                    await mayEnd.wait()
                }
            }
            let joiner = Task { try await JoinCall.join(invitation, logger: Logger(label: "joiner")).identity }
            await begun.wait()
            inviter.cancel()
            mayEnd.open()
            let joined = try await joiner.value
            let reported = try await inviter.value
            #expect(reported == joined.systemID)
        }
    }

    @Test func `a port in use is reported`() async throws {
        try await Inviting.with { inviting, _ in
            await #expect {
                _ = try await JoinListener.start(
                    host: "127.0.0.1",
                    port: inviting.listener.port,
                    identity: try inviting.store.identity(),
                    logger: Logger(label: "second")
                )
            } throws: {
                ($0 as? TransportError)?.code == .cannotListen
            }
        }
    }
}
