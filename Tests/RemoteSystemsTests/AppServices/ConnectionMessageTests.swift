// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Synchronization
import Testing

/// Messages over an open connection in both directions, over loopback with TLS (R-35 to R-42, X-22).
@Suite struct ConnectionMessageTests {
    @Test func `the ping of the guide returns with its creation date (R-38, R-41, R-42)`() async throws {
        let ping = AppService("test.ping") { request in
            ["Type": "pong", "CreationDate": request.message["CreationDate"] ?? .null]
        }
        try await Loopback.talk(ping) { connection in
            let created = Value.date(.now)
            let response = try await connection.send(
                ["Type": "ping", "CreationDate": created, "TargetId": "test.host"]
            )
            #expect(response.status == .success)
            #expect(response.message == ["Type": "pong", "CreationDate": created])
        }
    }

    @Test func `a message that the schema forbids is not sent, and the error names the place (R-37)`() async throws {
        try await Loopback.talk(Loopback.echo) { connection in
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.send(["list": [1, "two"]])
            }
            #expect(error?.code == .invalidMessage)
            #expect(error?.message.contains("list") == true)
            let value4 = try await connection.send(["list": [1, 2]]).status
            #expect(value4 == .success)
        }
    }

    @Test func `callers know the schema that a service declares before they send`() async throws {
        let strict = AppService(
            "test.volume",
            requestSchema: AllowedValueSchema(fields: [.required("Volume", .number)], allowsFurtherKeys: false)
        ) { $0.message }
        try await Loopback.talk(strict) { connection in
            let missing = await #expect(throws: RemoteSystemError.self) { _ = try await connection.send([:]) }
            #expect(missing?.message.contains("Volume") == true)
            let wrong = await #expect(throws: RemoteSystemError.self) {
                _ = try await connection.send(["Volume": "loud"])
            }
            #expect(wrong?.code == .invalidMessage)
            let value5 = try await connection.send(["Volume": 0.5]).status
            #expect(value5 == .success)
        }
    }

    @Test func `a response that the caller's schema forbids is not delivered`() async throws {
        let free = AppService("test.free", requestSchema: .full, responseSchema: .full) { _ in
            ["data": .data(Data([1]))]
        }
        try await Loopback.talk(free, responseSchema: .appService) { connection in
            let response = try await connection.send([:])
            #expect(response.status == .failure)
            #expect(response.error?.message.contains("data") == true)
        }
        try await Loopback.talk(free) { connection in
            let value6 = try await connection.send([:]).message
            #expect(value6 == ["data": .data(Data([1]))])
        }
    }

    @Test func `a handler's failure reaches the caller verbatim, other errors do not`() async throws {
        struct Secret: Error { let password = "hunter2" }
        let failing = AppService("test.failing") { request in
            if request.message["secret"] != nil { throw Secret() }
            throw AppServiceFailure("The tape is full.", canRetry: true)
        }
        try await Loopback.talk(failing) { connection in
            let reported = try await connection.send([:])
            #expect(reported.status == .failure)
            #expect(reported.error?.message == "The tape is full.")
            #expect(reported.error?.canRetry == true)
            #expect(reported.error?.outcome == .failed)
            let unreported = try await connection.send(["secret": true])
            #expect(unreported.status == .failure)
            #expect(unreported.error.map { "\($0) \($0.debugDescription)" }?.contains("hunter2") == false)
        }
    }

    @Test func `a message over the limit is not sent, a response over it is reported: status 5`() async throws {
        let growing = AppService("test.growing", requestSchema: .full, responseSchema: .full) { request in
            ["data": .data(Data(count: request.message["size"]?.int ?? 0))]
        }
        try await Loopback.talk(growing) { connection in
            let large = try await connection.send(["data": .data(Data(count: 1 << 20))])
            #expect(large.status == .messageTooLarge)
            #expect(large.error?.side == .local)
            #expect(large.error?.outcome == .notExecuted)
            let response = try await connection.send(["size": .integer(1 << 20)])
            #expect(response.status == .messageTooLarge)
            #expect(response.error?.side == .remote)
            let value7 = try await connection.send(["size": 1000]).status
            #expect(value7 == .success)
        }
    }

    @Test func `no response by the deadline has status 3, outcome unknown, and the handler is cancelled`() async throws
    {
        let wasCancelled = Mutex(false)
        let slow = AppService("test.slow") { _ in
            do {
                // Outlasts the request's deadline. Ended by cancellation.
                try await Task.sleep(for: .seconds(60))
            } catch {
                wasCancelled.withLock { $0 = true }
                throw error
            }
            return [:]
        }
        try await Loopback.talk(slow) { connection in
            let response = try await connection.send([:], timeout: .milliseconds(100))
            #expect(response.status == .unknown)
            #expect(response.error?.code == .deadlineExceeded)
            #expect(response.error?.outcome == .unknown)
            try await until { wasCancelled.withLock { $0 } }
        }
    }

    @Test func `a cancelled send throws, and the handler is cancelled`() async throws {
        let started = Mutex(false)
        let wasCancelled = Mutex(false)
        let slow = AppService("test.slow") { _ in
            started.withLock { $0 = true }
            // Ended by cancellation.
            try? await Task.sleep(for: .seconds(60))
            wasCancelled.withLock { $0 = Task.isCancelled }
            return [:]
        }
        try await Loopback.talk(slow) { connection in
            let sending = Task { try await connection.send([:]) }
            try await until { started.withLock { $0 } }
            sending.cancel()
            await #expect(throws: CancellationError.self) { _ = try await sending.value }
            try await until { wasCancelled.withLock { $0 } }
        }
    }

    @Test func `requests start in the order in which they were sent, one at a time if the service asks for it (R-34)`()
        async throws
    {
        let order = Mutex<[Int]>([])
        let running = Mutex((now: 0, most: 0))
        let sequential = AppService("test.sequential", concurrentRequests: 1) { request in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            order.withLock { $0.append(request.message["n"]?.int ?? -1) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            return [:]
        }
        try await Loopback.talk(sequential) { connection in
            try await Self.sendInOrder(50, on: connection)
            #expect(order.withLock { $0 } == Array(0..<50))
            #expect(running.withLock { $0.most } == 1)
        }
    }

    /// Sends requests in order and waits for all of them.
    static func sendInOrder(_ count: Int, on connection: AppServiceConnection) async throws {
        let sending = (0..<count).map { number in
            Task.immediate { try await connection.send(["n": .integer(Int64(number))]) }
        }
        for task in sending {
            let status = try await task.value.status
            #expect(status == .success)
        }
    }

    @Test func `messages of the user's own types travel in both directions (R-36)`() async throws {
        struct Ping: Codable, Equatable {
            var type = "ping"
            var numbers = [1, 2, 3]
        }
        try await Loopback.talk(Loopback.echo) { connection in
            let response: Ping = try await connection.send(Ping())
            #expect(response == Ping())
        }
    }

    @Test func `a service can send requests to its caller over the same connection (X-36)`() async throws {
        let asking = AppService("test.asking") { request in
            let response = try await request.connection.send(["question": "name?"]).get()
            return ["greeting": .string("Hello, \(response["name"]?.string ?? "?")")]
        }
        try await Loopback.talk(asking) { question in
            #expect(question.message["question"] == "name?")
            return ["name": "caller"]
        } _: { connection in
            let value8 = try await connection.send([:]).message
            #expect(value8 == ["greeting": "Hello, caller"])
        }
    }

    @Test func `a service that must know whether its result arrived sends it as a request (X-36)`()
        async throws
    {
        let reported = Mutex<AppServiceResponseStatus?>(nil)
        let working = AppService("test.working") { request in
            let delivery = try await request.connection.send(["result": 42])
            reported.withLock { $0 = delivery.status }
            return [:]
        }
        let received = Mutex<Value?>(nil)
        try await Loopback.talk(working) { result in
            received.withLock { $0 = result.message["result"] }
            return [:]
        } _: { connection in
            _ = try await connection.send([:]).get()
            #expect(received.withLock { $0 } == 42)
            #expect(reported.withLock { $0 } == .success)
        }
        // A caller without a request handler does not receive the result, and the service is notified.
        try await Loopback.talk(working) { connection in
            _ = try await connection.send([:]).get()
            #expect(reported.withLock { $0 } == .failure)
        }
    }

    @Test func `the caller's verified identity reaches the handler`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let seen = Mutex<AppServiceCaller?>(nil)
            let asking = AppService("test.echo") { request in
                seen.withLock { $0 = request.caller }
                return [:]
            }
            try await loopbackSystem.withHost([asking]) { host in
                let (connection, _) = try await Loopback.connect(loopbackSystem, host)
                _ = try await connection.send([:])
                let identity = try AccountStore(directory: loopbackSystem.directory).identity()
                let caller = try #require(seen.withLock { $0 })
                #expect(caller.systemID == identity.systemID)
                #expect(caller.accountID == identity.accountID)
                #expect(caller.claimedApplicationID == "test.caller")
                await connection.close()
            }
        }
    }
}
