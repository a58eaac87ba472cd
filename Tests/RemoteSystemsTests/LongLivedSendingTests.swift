// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// Sending over a connection that reconnects, and abandoning it.
@Suite struct LongLivedSendingTests {
    struct Dim: Codable, Equatable {
        var level: Double
    }

    /// A service that responds only after its task is cancelled, and records the cancellation.
    static func slow(_ wasCancelled: Flag) -> AppService {
        AppService("test.slow") { _ in
            // Outlasts the test. Ended by cancellation.
            try? await Task.sleep(for: .seconds(3600))
            if Task.isCancelled { wasCancelled.raise() }
            return [:]
        }
    }

    final class Flag: Sendable {
        private let state = Mutex(false)
        func raise() { self.state.withLock { $0 = true } }
        var isRaised: Bool { self.state.withLock { $0 } }
    }

    /// Runs the body with a started connection to the service, on a stage.
    static func with(
        _ service: AppService,
        _ body: (LongLivedConnection, DiscoveryStage) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let host = try stage.system("Host", services: [service])
            try await stage.appears(host)
            let request = try await stage.request(to: host)
            let connection = LongLivedConnection(to: AppServiceDescription(name: service.name), request)
            try connection.start()
            try await body(connection, stage)
            await connection.cancel()
        }
    }

    @Test func `messages and responses of the user's own types can be sent (R-36)`() async throws {
        try await Self.with(AppService("test.echo") { $0.message }) { connection, _ in
            let response: Dim = try await connection.send(Dim(level: 0.5))
            #expect(response == Dim(level: 0.5))
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.send(Dim(level: 1), as: [String: String].self, retry: .idempotent)
            }
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test func `cancelling a send cancels the handler, and the connection continues`() async throws {
        let wasCancelled = Flag()
        try await Self.with(Self.slow(wasCancelled)) { connection, stage in
            let sending = Task(executorPreference: stage.taskExecutor) { try await connection.send([:]) }
            try await stage.settle()
            sending.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
            try await stage.eventually("the service was cancelled") { wasCancelled.isRaised }
            #expect(connection.info != nil)
        }
    }

    @Test func `cancelling the connection ends requests in progress with an unknown outcome and refuses later ones`()
        async throws
    {
        try await Self.with(Self.slow(Flag())) { connection, stage in
            async let sending = connection.send([:], retry: .idempotent)
            try await stage.settle()
            await connection.cancel()
            let response = try await sending
            #expect(response.status == .unknown)
            #expect(response.error?.outcome == .unknown)
            guard case .closed = connection.state else {
                Issue.record("It is \(connection.state).")
                return
            }
            let late = try await connection.send([:])
            #expect(late.status == .connectionClosed)
        }
    }
}
