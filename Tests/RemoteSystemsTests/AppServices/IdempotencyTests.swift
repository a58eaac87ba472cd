// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Synchronization
import Testing

/// Requests that may be repeated, over loopback: "nothing is silently sent twice" (issue 3).
@Suite struct IdempotencyTests {
    /// Counts its executions and responds with the count.
    static func counting(_ count: Mutexed<Int>, gate: @escaping @Sendable () async throws -> Void = {}) -> AppService {
        AppService("test.counting") { request in
            let number = count.withLock { value -> Int in
                value += 1
                return value
            }
            try await gate()
            return ["n": .integer(Int64(number)), "hasKey": .bool(request.idempotencyKey != nil)]
        }
    }

    final class Mutexed<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
        func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
            self.value.withLock { value in body(&value) }
        }
    }

    @Test func `a request with a key runs once, over another connection, too`() async throws {
        let count = Mutexed(0)
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Self.counting(count)]) { host in
                let key = IdempotencyKey()
                let description = AppServiceDescription(name: "test.counting")
                var responses: [ValueSet] = []
                for _ in 0..<2 {
                    let (connection, _) = try await Loopback.connect(loopbackSystem, host, description)
                    for _ in 0..<2 {
                        responses.append(try await connection.send(["do": "it"], idempotencyKey: key).get())
                    }
                    await connection.close()
                }
                #expect(responses == Array(repeating: ["n": 1, "hasKey": true], count: 4))
                let (connection, _) = try await Loopback.connect(loopbackSystem, host, description)
                let other = try await connection.send(["do": "it"], idempotencyKey: IdempotencyKey("2")).get()
                #expect(other["n"] == 2)
                let plain = try await connection.send(["do": "it"]).get()
                #expect(plain == ["n": 3, "hasKey": false])
                await connection.close()
            }
        }
    }

    @Test func `a repeated request during the first one waits for its response`() async throws {
        let count = Mutexed(0)
        let isOpen = Mutexed(false)
        let service = Self.counting(count) {
            // A handler in progress: it polls until the test opens the gate.
            while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await Loopback.talk(service) { connection in
            let key = IdempotencyKey()
            let first = Task.immediate { try await connection.send([:], idempotencyKey: key).get() }
            let second = Task.immediate { try await connection.send([:], idempotencyKey: key).get() }
            try await until { count.withLock { $0 } == 1 }
            isOpen.withLock { $0 = true }
            let responses = [try await first.value, try await second.value]
            #expect(responses == [["n": 1, "hasKey": true], ["n": 1, "hasKey": true]])
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func `a caller that lost its connection gets the response over the next one`() async throws {
        let count = Mutexed(0)
        let isOpen = Mutexed(false)
        let service = Self.counting(count) {
            // A handler in progress: it polls until the test opens the gate.
            while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        }
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([service]) { host in
                let key = IdempotencyKey()
                let description = AppServiceDescription(name: "test.counting")
                let (lost, _) = try await Loopback.connect(loopbackSystem, host, description)
                let sending = Task { try await lost.send([:], idempotencyKey: key) }
                try await until { count.withLock { $0 } == 1 }
                await lost.cancel()
                let unknown = try await sending.value
                #expect(unknown.error?.outcome == .unknown)
                let (connection, _) = try await Loopback.connect(loopbackSystem, host, description)
                let again = Task { try await connection.send([:], idempotencyKey: key).get() }
                isOpen.withLock { $0 = true }
                let response = try await again.value
                #expect(response["n"] == 1)
                #expect(count.withLock { $0 } == 1)
                await connection.close()
            }
        }
    }

    @Test func `a key that is used for another message fails, and the handler does not run`() async throws {
        let count = Mutexed(0)
        try await Loopback.talk(Self.counting(count)) { connection in
            let key = IdempotencyKey()
            _ = try await connection.send(["do": "this"], idempotencyKey: key)
            let other = try await connection.send(["do": "that"], idempotencyKey: key)
            #expect(other.status == .failure)
            #expect(other.error?.message.contains("idempotency key") == true)
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func `a handler with a key is cancelled at its deadline`() async throws {
        let wasCancelled = Mutexed(false)
        let slow = AppService("test.slow") { _ in
            // Outlasts the deadline. Ended by cancellation.
            try? await Task.sleep(for: .seconds(60))
            wasCancelled.withLock { $0 = Task.isCancelled }
            return [:]
        }
        try await Loopback.talk(slow) { connection in
            let key = IdempotencyKey()
            let response = try await connection.send([:], timeout: .milliseconds(50), idempotencyKey: key)
            #expect(response.status == .unknown)
            try await until { wasCancelled.withLock { $0 } }
        }
    }

    @Test func `a key has 1 to 64 bytes`() {
        #expect(IdempotencyKey("") == nil)
        #expect(IdempotencyKey([UInt8](repeating: 1, count: 64)) != nil)
        #expect(IdempotencyKey([UInt8](repeating: 1, count: 65)) == nil)
        #expect(IdempotencyKey() != IdempotencyKey())
    }

    /// Sends a request for each key of a range, many at the same time. Returns the number of each response status.
    private static func flood(
        _ connection: AppServiceConnection,
        _ keys: Range<Int>
    ) async throws -> [AppServiceResponseStatus: Int] {
        var counts: [AppServiceResponseStatus: Int] = [:]
        for start in stride(from: keys.lowerBound, to: keys.upperBound, by: 50) {
            try await withThrowingTaskGroup(of: AppServiceResponse.self) { group in
                for number in start..<min(start + 50, keys.upperBound) {
                    guard let key = IdempotencyKey("flood \(number)") else { continue }
                    group.addTask { try await connection.send([:], idempotencyKey: key) }
                }
                for try await response in group { counts[response.status, default: 0] += 1 }
            }
        }
        return counts
    }

    @Test func `a member's flood of keys fills its own quota, and another member's request runs once (issue 10 §1.10)`()
        async throws
    {
        let victim = Mutexed(0)
        let order = AppService("test.order") { _ in
            [
                "n": .integer(
                    victim.withLock { count -> Int64 in
                        count += 1
                        return Int64(count)
                    }
                )
            ]
        }
        let account = MemberSegment()
        let host = RemoteSystemHost(
            try account.configuration(1),
            services: [order, AppService("test.flooded") { _ in [:] }]
        )
        let running = Task { try await host.run() }
        defer { running.cancel() }
        func connect(_ member: Int, _ service: String) async throws -> AppServiceConnection {
            let connection = AppServiceConnection(to: AppServiceDescription(name: service))
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: try account.configuration(member)
            )
            #expect(try await connection.open(request) == .success)
            return connection
        }
        let key = IdempotencyKey()
        let honest = try await connect(2, "test.order")
        #expect(try await honest.send([:], idempotencyKey: key).get() == ["n": 1])
        let hostile = try await connect(3, "test.flooded")
        // The other service of the host shares the cache.
        #expect(try await Self.flood(hostile, 0..<1_300) == [.success: 1_300])
        let hostileOrder = try await connect(3, "test.order")
        #expect(try await Self.flood(hostileOrder, 0..<1_300) == [.success: 1_300])
        // A system has 8 192 keys, over all its connections and services.
        let refused = 40
        #expect(
            try await Self.flood(hostile, 1_300..<(8_192 - 1_300 + refused)) == [
                .success: 8_192 - 2 * 1_300, .resourceLimitsExceeded: refused,
            ]
        )
        let new = try await hostileOrder.send([:], idempotencyKey: IdempotencyKey())
        #expect(new.error?.failureCode == "key-quota-exceeded")
        #expect(new.error?.canRetry == true)
        let executed = victim.withLock { $0 }
        #expect(try await honest.send([:], idempotencyKey: key).get() == ["n": 1])
        #expect(victim.withLock { $0 } == executed)
        // The other member's next request is executed.
        #expect(try await honest.send([:], idempotencyKey: IdempotencyKey()).status == .success)
        for connection in [honest, hostile, hostileOrder] { await connection.close() }
    }
}
