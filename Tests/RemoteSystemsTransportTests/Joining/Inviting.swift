// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// A machine that waits for the system that it has invited, on loopback.
struct Inviting {
    let store: AccountStore
    let listener: JoinListener
    let invitation: Invitation

    /// - Parameters:
    ///   - age: The age of the invitation, in seconds.
    ///   - times: The timeouts of a connection.
    ///   - log: Receives what the inviter logs.
    static func with(
        age: TimeInterval = 0,
        // Generous, since no test measures how fast a handshake is.
        times: IntroductionTimes = IntroductionTimes(all: .seconds(60)),
        log: TestLog = TestLog(),
        _ body: (Inviting, Task<SystemID, any Error>) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "inviting-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = AccountStore(directory: directory)
        let identity = try store.identity()
        let authority = try store.authority()
        let listener = try await JoinListener.start(
            host: "127.0.0.1",
            port: 0,
            identity: identity,
            times: times,
            logger: log.logger
        )
        let invitation = try Invitation(
            accountID: identity.accountID,
            addresses: [Invitation.Address(host: "127.0.0.1", port: UInt16(listener.port))],
            now: Date().addingTimeInterval(-age)
        )
        let running = Task {
            try await listener.run(invitation, authority: authority) { system, _ in try store.recordJoined(system) }
        }
        do {
            try await body(Inviting(store: store, listener: listener, invitation: invitation), running)
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        _ = await running.result
    }

    func join() async throws -> SystemIdentity {
        try await JoinCall.join(self.invitation, logger: Logger(label: "joiner")).identity
    }

    /// Tries to join with another secret, like a machine that has found the port.
    ///
    /// - Returns: The code of the error.
    func joinWrongly() async throws -> IdentityError.Code? {
        let wrong = try Invitation(
            accountID: self.invitation.accountID,
            addresses: self.invitation.addresses,
            now: Date()
        )
        do {
            _ = try await JoinCall.join(wrong, logger: Logger(label: "stranger"))
            return nil
        } catch {
            return (error as? IdentityError)?.code
        }
    }

    /// Opens a connection without TLS.
    func stranger(from address: String = "127.0.0.1") async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .connect(host: "127.0.0.1", port: self.listener.port).get()
    }

    /// Opens a connection that sends a valid first message, and nothing more.
    func greetedStranger(from address: String = "127.0.0.1") async throws -> any Channel {
        var joiner = try JoinJoiner(invitation: self.invitation, now: Date())
        let tls = try JoinTLS(certificate: joiner.certificate, privateKeyPEM: joiner.privateKeyPEM)
        var hello = ByteBuffer()
        try JoinMessage.hello(try joiner.start()).write(to: &hello)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(tls.clientHandler())
                }
            }
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .connect(host: "127.0.0.1", port: self.listener.port).get()
        try await channel.writeAndFlush(hello)
        return channel
    }
}
