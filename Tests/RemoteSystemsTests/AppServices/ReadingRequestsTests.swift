// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// Requests of a service to its caller, read as a sequence (X-36; issue 8, section 3).
@Suite struct ReadingRequestsTests {
    /// Sends numbers to each caller once it has connected.
    private final class Counting: AppServiceProvider {
        let count: Int
        let sent = Mutex<[AppServiceResponseStatus]>([])
        let executor: any TaskExecutor

        init(_ count: Int, on executor: any TaskExecutor) {
            self.count = count
            self.executor = executor
        }

        func respond(to request: AppServiceRequest) async throws -> ValueSet { request.message }

        func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {
            for number in 1...self.count {
                Task.immediate(executorPreference: self.executor) {
                    let status = try await connection.send(["n": .integer(Int64(number))], timeout: .seconds(60)).status
                    self.sent.withLock { $0.append(status) }
                }
            }
        }
    }

    private func with(
        count: Int,
        _ body: (DiscoveryStage, Counting, StagedSystem, RemoteSystemConnectionRequest) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let counting = Counting(count, on: stage.taskExecutor)
            let host = try stage.system("Host", services: [AppService("test.count", provider: counting)])
            try await stage.appears(host)
            let request = try await stage.request(to: host)
            try await body(stage, counting, host, request)
        }
    }

    private static let service = AppServiceDescription(name: "test.count")

    @Test func `a body gets every request from the first on, in order, and each is acknowledged when read`()
        async throws
    {
        try await self.with(count: 100) { stage, counting, _, request in
            let numbers = try await AppServiceConnection.with(Self.service, request) { _, requests in
                var numbers: [Int] = []
                for try await request in requests {
                    numbers.append(request.message["n"]?.int ?? -1)
                    if numbers.count == 100 { break }
                }
                return numbers
            }
            #expect(numbers == Array(1...100))
            try await stage.settle()
            #expect(counting.sent.withLock { $0 } == Array(repeating: .success, count: 100))
        }
    }

    @Test func `an unread request waits, keeps the service waiting, and fails when the connection is closed`()
        async throws
    {
        try await self.with(count: 3) { stage, counting, _, request in
            let connection = AppServiceConnection(to: Self.service)
            let requests = connection.requests.makeAsyncIterator()
            _ = try await connection.open(request)
            try await stage.settle()
            #expect(counting.sent.withLock { $0 }.isEmpty)
            let first = try await requests.next()
            #expect(first?.message["n"] == 1)
            try await stage.settle()
            #expect(counting.sent.withLock { $0 } == [.success])
            await connection.close()
            try await stage.settle()
            #expect(counting.sent.withLock { $0 } == [.success, .failure, .failure])
            let end = try await requests.next()
            #expect(end == nil)
        }
    }

    @Test func `a request whose sender has stopped waiting is not delivered`() async throws {
        try await self.with(count: 1) { stage, counting, _, request in
            let connection = AppServiceConnection(to: Self.service)
            let requests = connection.requests
            _ = try await connection.open(request)
            try await stage.advance(by: .seconds(61))
            #expect(counting.sent.withLock { $0 } == [.unknown])
            let reader = Task(executorPreference: stage.taskExecutor) { try await requests.first { _ in true } }
            try await stage.settle()
            reader.cancel()
            await #expect(throws: CancellationError.self) { _ = try await reader.value }
            await connection.close()
        }
    }

    @Test func `a reader ends without an error when the connection is closed, and with one when it is lost`()
        async throws
    {
        for isLost in [false, true] {
            try await self.with(count: 1) { stage, _, host, request in
                let connection = AppServiceConnection(to: Self.service)
                let requests = connection.requests
                _ = try await connection.open(request)
                let reader = Task(executorPreference: stage.taskExecutor) {
                    var count = 0
                    for try await _ in requests { count += 1 }
                    return count
                }
                try await stage.settle()
                if isLost { host.link.cut() } else { await connection.close() }
                try await stage.settle()
                if isLost {
                    let error = await #expect(throws: RemoteSystemError.self) { _ = try await reader.value }
                    #expect(error?.code == .connectionLost)
                } else {
                    let count = try await reader.value
                    #expect(count == 1)
                }
            }
        }
    }

    @Test func `requests fail at the service if they are neither read nor handled`() async throws {
        try await self.with(count: 1) { stage, counting, _, request in
            try await AppServiceConnection.with(Self.service, request) { _ in try await stage.settle() }
            #expect(counting.sent.withLock { $0 } == [.failure])
        }
    }

    @Test func `a scoped connection can have a handler`() async throws {
        try await self.with(count: 2) { stage, counting, _, request in
            let numbers = Mutex<[Int]>([])
            try await AppServiceConnection.with(
                Self.service,
                request,
                onRequest: { request in
                    numbers.withLock { $0.append(request.message["n"]?.int ?? -1) }
                    return [:]
                }
            ) { _ in try await stage.settle() }
            #expect(numbers.withLock { $0 } == [1, 2])
            #expect(counting.sent.withLock { $0 } == [.success, .success])
        }
    }

    @Test func `with a handler there is nothing to read, and the error says so`() async throws {
        try await self.with(count: 1) { _, _, _, request in
            let connection = AppServiceConnection(to: Self.service, onRequest: { _ in [:] })
            let error = await #expect(throws: RemoteSystemError.self) {
                for try await _ in connection.requests {}
            }
            #expect(error?.code == .misuse)
            let status = try await connection.open(request)
            #expect(status == .success)
            await connection.close()
        }
    }

    @Test func `a message that the published schema forbids is not delivered`() async throws {
        let pushing = AppService("test.count") { request in
            var statuses: [Value] = []
            for message in [["n": "one"], ["n": 2]] as [ValueSet] {
                statuses.append(.integer(Int64(try await request.connection.send(message).status.rawValue)))
            }
            return ["statuses": .array(statuses)]
        }
        try await DiscoveryStage.with { stage in
            let host = try stage.system("Host", services: [pushing])
            try await stage.appears(host)
            let request = try await stage.request(to: host)
            let description = AppServiceDescription(
                name: "test.count",
                pushRequestSchema: AllowedValueSchema(fields: [.required("n", .integer)])
            )
            let (statuses, numbers) = try await AppServiceConnection.with(description, request) {
                connection,
                requests in
                async let response = connection.send([:])
                var numbers: [Int?] = []
                for try await request in requests {
                    numbers.append(request.message["n"]?.int)
                    break
                }
                return (try await response.get()["statuses"], numbers)
            }
            #expect(statuses == [1, 0])
            #expect(numbers == [2])
        }
    }

    @Test(arguments: [false, true])
    func `a connection that is neither read nor held is closed, together with its waiting requests`(isIntercepted: Bool)
        async throws
    {
        try await self.with(count: 5) { stage, counting, host, _ in
            var configuration = stage.configuration
            if isIntercepted {
                configuration.interceptors.server = [
                    ServerInterceptor { request, _, next in try await next(request) }
                ]
            }
            let request = RemoteSystemConnectionRequest(
                host: host.address,
                port: try await host.port(),
                configuration: configuration
            )
            func readOne() async throws -> Int? {
                let connection = AppServiceConnection(to: Self.service)
                let requests = connection.requests
                _ = try await connection.open(request)
                var first: Int?
                for try await request in requests {
                    first = request.message["n"]?.int
                    break
                }
                // Waits until the service has the acknowledgement.
                try await stage.settle()
                return first
            }
            let first = try await readOne()
            #expect(first == 1)
            try await stage.settle()
            // They end now, not after their timeout of a minute.
            #expect(counting.sent.withLock { $0 } == [.success, .unknown, .unknown, .unknown, .unknown])
        }
    }

    @Test func `a long-lived connection's requests continue after a loss, and end when it is closed`() async throws {
        try await self.with(count: 2) { stage, _, host, request in
            let numbers = Mutex<[Int]>([])
            let connection = LongLivedConnection(to: Self.service, request)
            let requests = connection.requests
            try connection.start()
            let reader = Task(executorPreference: stage.taskExecutor) {
                for try await request in requests { numbers.withLock { $0.append(request.message["n"]?.int ?? -1) } }
            }
            try await stage.settle()
            #expect(numbers.withLock { $0 } == [1, 2])
            host.link.cut()
            try await stage.advance(by: .seconds(5))
            #expect(numbers.withLock { $0 } == [1, 2, 1, 2])
            await connection.close()
            try await reader.value
        }
    }

    @Test func `a long-lived connection that is only read is kept open by its reader`() async throws {
        try await self.with(count: 2) { stage, _, _, request in
            func subscribe() throws -> AppServiceRequests {
                let connection = LongLivedConnection(to: Self.service, request)
                let requests = connection.requests
                try connection.start()
                return requests
            }
            var numbers: [Int] = []
            for try await request in try subscribe() {
                numbers.append(request.message["n"]?.int ?? -1)
                if numbers.count == 2 { break }
            }
            #expect(numbers == [1, 2])
            try await stage.settle()
        }
    }
}
