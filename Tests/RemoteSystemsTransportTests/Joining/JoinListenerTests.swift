// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// The inviter's port and strangers. Joining as a whole is tested through the public API.
@Suite(.timeLimit(.minutes(1))) struct JoinListenerTests {
    private struct Inviting {
        let store: AccountStore
        let listener: JoinListener
        let invitation: Invitation

        /// - Parameters:
        ///   - age: The age of the invitation, in seconds.
        ///   - times: The timeouts of a connection.
        static func with(
            age: TimeInterval = 0,
            // Generous, since no test measures how fast a handshake is.
            times: IntroductionTimes = IntroductionTimes(all: .seconds(60)),
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
                logger: Logger(label: "inviter")
            )
            let invitation = try Invitation(
                accountID: identity.accountID,
                addresses: [Invitation.Address(host: "127.0.0.1", port: UInt16(listener.port))],
                now: Date().addingTimeInterval(-age)
            )
            let running = Task {
                try await listener.run(invitation, authority: authority) { try store.recordJoined($0) }
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

        /// Opens a connection without TLS.
        func stranger(from address: String = "127.0.0.1") async throws -> any Channel {
            try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(to: SocketAddress(ipAddress: address, port: 0))
                .connect(host: "127.0.0.1", port: self.listener.port).get()
        }
    }

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

    @Test(arguments: [12, 200])
    func `silent connections from the joiner's own address do not keep it from joining`(count: Int) async throws {
        // Longer than the test may take, so that no connection is closed by its timeout.
        try await Inviting.with(times: IntroductionTimes(all: .minutes(10))) { inviting, running in
            var strangers: [any Channel] = []
            for _ in 1...count { strangers.append(try await inviting.stranger()) }
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
            for channel in strangers { try? await channel.close() }
        }
    }

    @Test func `a join succeeds while silent connections keep arriving from its address`() async throws {
        try await Inviting.with(times: IntroductionTimes(all: .minutes(10))) { inviting, running in
            let attack = Task {
                var strangers: [any Channel] = []
                for _ in 1...400 where !Task.isCancelled {
                    guard let stranger = try? await inviting.stranger() else { break }
                    strangers.append(stranger)
                }
                for channel in strangers { try? await channel.close() }
            }
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
            attack.cancel()
            await attack.value
        }
    }

    @Test func `beyond eight connections of an address, the oldest silent one is closed`() async throws {
        try await Inviting.with(times: IntroductionTimes(all: .minutes(10))) { inviting, _ in
            var strangers: [any Channel] = []
            for _ in 1...9 { strangers.append(try await inviting.stranger(from: "127.0.0.2")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for channel in strangers { group.addTask { try await channel.closeFuture.get() } }
                try await group.next()
                #expect(strangers.count { $0.isActive } == strangers.count - 1)
                for channel in strangers { try? await channel.close() }
            }
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
            let inviter = Task { try await listener.run(invitation, authority: authority) { _ in throw DiskFull() } }
            await #expect {
                _ = try await JoinCall.join(invitation, logger: Logger(label: "joiner"))
            } throws: {
                ($0 as? IdentityError)?.code == .joinFailed
            }
            await #expect(throws: DiskFull.self) { try await inviter.value }
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
