// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// Timeouts use the stage's clock.
@Suite struct DeadlineTests {
    @Test func `a message without a connection fails at its deadline (X-24)`() async throws {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            try await watcher.start()
            let speaker = try stage.system("Speaker", services: [AppService("echo") { $0.message }])
            try await stage.appears(speaker)
            let request = RemoteSystemConnectionRequest(system: try #require(watcher.systems.first))
            speaker.link.drop()
            let sending = InFlight(on: stage) {
                try await AppServiceConnection.sendStateless(
                    ["Type": "ping"],
                    to: AppServiceDescription(name: "echo"),
                    request: request,
                    timeout: .seconds(3)
                )
            }
            try await stage.advance(by: .seconds(3))
            let response = try sending.outcome()
            #expect(response.status == .remoteSystemUnavailable)
            #expect(response.error?.code == .deadlineExceeded)
        }
    }

    @Test func `a request that expires reports why there is no connection`() async throws {
        try await DiscoveryStage.with { stage in
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.appears(try stage.system("Speaker", services: [AppService("echo") { $0.message }]))
            let request = RemoteSystemConnectionRequest(system: try #require(watcher.systems.first))
            let connection = LongLivedConnection(to: AppServiceDescription(name: "ecko"), request)
            try connection.start()
            let sending = InFlight(on: stage) { try await connection.send([:], timeout: .seconds(3)) }
            try await stage.advance(by: .seconds(3))
            let error = try #require(try sending.outcome().error)
            #expect(error.code == .deadlineExceeded)
            #expect(error.outcome == .notExecuted)
            #expect(error.side == .remote)
            #expect(error.message.contains("Did you mean 'echo'?"), "\(error.message)")
            await connection.close()
        }
    }

    @Test func `the first system that offers a service is found, and nil is returned after the timeout`() async throws {
        try await DiscoveryStage.with { stage in
            try await stage.appears(try stage.system("Kitchen", services: [AppService("test.other") { $0.message }]))
            try await stage.appears(try stage.system("Attic", services: [AppService("test.echo") { $0.message }]))
            let finding = InFlight(on: stage) {
                try await RemoteSystem.find(offering: "test.echo", configuration: stage.configuration)
            }
            try await stage.advance(by: .milliseconds(100))
            #expect(try finding.outcome()?.displayName == "Attic")
            let seeking = InFlight(on: stage) {
                try await RemoteSystem.find(
                    offering: "test.none",
                    within: .seconds(7),
                    configuration: stage.configuration
                )
            }
            try await stage.advance(by: .milliseconds(6900))
            #expect(!seeking.isOver)
            try await stage.advance(by: .milliseconds(200))
            #expect(try seeking.outcome() == nil)
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteSystem.find(offering: "a", within: .zero, configuration: stage.configuration)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `a request with a key runs until its deadline, and its response is kept for five minutes`()
        async throws
    {
        let stage = DiscoveryStage()
        let clock = stage.clock
        let executed = Mutex(0)
        let wasCancelled = Mutex(false)
        let counting = AppService("counting") { request in
            let number = executed.withLock { count in
                count += 1
                return count
            }
            if request.message["Pause"] != nil {
                do { try await clock.sleep(for: .seconds(60)) } catch { wasCancelled.withLock { $0 = true } }
            }
            return ["n": .integer(Int64(number))]
        }
        try await withTaskExecutorPreference(stage.taskExecutor) {
            let host = try stage.system("Host", services: [counting])
            try await stage.appears(host)
            let client = try await stage.connect(to: host, service: "counting")

            let key = IdempotencyKey()
            var responses: [ValueSet] = []
            responses.append(try await client.send([:], idempotencyKey: key).get())
            try await stage.advance(by: .seconds(299))
            responses.append(try await client.send([:], idempotencyKey: key).get())
            try await stage.advance(by: .seconds(1))
            responses.append(try await client.send([:], idempotencyKey: key).get())
            #expect(responses == [["n": 1], ["n": 1], ["n": 2]])

            async let response = client.send(
                ["Pause": true],
                timeout: .seconds(5),
                idempotencyKey: IdempotencyKey()
            )
            try await stage.settle()
            try await stage.advance(by: .seconds(5))
            let late = try await response
            #expect(late.status == .unknown)
            #expect(wasCancelled.withLock { $0 })
        }
        await stage.stop()
    }

    @Test func `a host that does not describe itself in time is not found`() async throws {
        try await DiscoveryStage.with { stage in
            let long = String(repeating: "x", count: 900)
            let attributes = Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", long) })
            let host = try stage.system("Slow", attributes: attributes)
            try await stage.appears(host)
            // Enough for the handshake, but not for the description.
            host.link.limit(bytesPerSecond: 10_000)
            let port = try await host.port()
            let finding = InFlight(on: stage) {
                try await RemoteSystem.find(host: host.address, port: port, configuration: stage.configuration)
            }
            try await stage.advance(by: .seconds(7))
            let error = #expect(throws: RemoteSystemError.self) { try finding.outcome() }
            #expect(error?.code == .protocolViolation)
        }
    }
}

/// A task that runs while a test advances the clock. Its outcome is read without waiting, since it must exist by then.
private final class InFlight<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(on stage: DiscoveryStage, _ work: @escaping @Sendable () async throws -> Value) {
        Task(executorPreference: stage.taskExecutor) {
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            self.result.withLock { $0 = result }
        }
    }

    var isOver: Bool { self.result.withLock { $0 != nil } }

    func outcome() throws -> Value {
        try #require(self.result.withLock { $0 }).get()
    }
}
