// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import RemoteSystems
import Synchronization
import Testing

/// Interceptors over loopback with TLS.
@Suite struct InterceptorTests {
    struct Oops: Error, CustomStringConvertible { var description: String { "s3cret" } }

    /// Runs a host with the service, and a connection to it.
    private static func talk(
        _ service: AppService,
        _ interceptors: AppServiceInterceptors = AppServiceInterceptors(),
        connection own: [any AppServiceClientInterceptor] = [],
        log: InMemoryLogHandler? = nil,
        onRequest: AppServiceConnection.RequestHandler? = nil,
        _ body: (AppServiceConnection) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var loopbackSystem = loopbackSystem
            loopbackSystem.interceptors = interceptors
            loopbackSystem.logger = log.map { log in Logger(label: "test") { _ in log } }
            try await loopbackSystem.withHost([service]) { host in
                let connection = AppServiceConnection(
                    to: AppServiceDescription(name: service.name),
                    onRequest: onRequest
                )
                var request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                request.interceptors = own
                #expect(try await connection.open(request) == .success)
                try await body(connection)
                await connection.close()
            }
        }
    }

    private static func echo(_ diary: Diary) -> AppService {
        AppService("test.echo") { request in
            diary.write("handler")
            return request.message
        }
    }

    // MARK: Order

    @Test func `interceptors surround a request in order, those of the program outermost`() async throws {
        let diary = Diary()
        let service = Self.echo(diary)
            .intercepted(by: ServerInterceptor("server 2", diary), ServerInterceptor("server 3", diary))
        let interceptors = AppServiceInterceptors(
            client: [ClientInterceptor("client 1", diary), ClientInterceptor("client 2", diary)],
            server: [ServerInterceptor("server 1", diary)]
        )
        try await Self.talk(service, interceptors, connection: [ClientInterceptor("client 3", diary)]) { connection in
            let response = try await connection.response(["a": 1])
            #expect(response == ["a": 1])
        }
        #expect(
            diary.entries == [
                "client 1: test.echo", "client 2: test.echo", "client 3: test.echo", "server 1: test.echo",
                "server 2: test.echo", "server 3: test.echo", "handler", "server 3: answered", "server 2: answered",
                "server 1: answered", "client 3: success", "client 2: success", "client 1: success",
            ]
        )
    }

    @Test(arguments: [AppService.Execution.onEventLoop, .onThreadPool], [false, true])
    func `interceptors surround every kind of handler`(execution: AppService.Execution, hasKey: Bool) async throws {
        let diary = Diary()
        let services = [
            AppService("test.immediate", execution: execution) { $0.message },
            AppService("test.awaiting", execution: execution) { request in
                await Task.yield()
                return request.message
            },
        ]
        for service in services {
            try await Self.talk(service.intercepted(by: ServerInterceptor("server", diary))) { connection in
                let key = hasKey ? IdempotencyKey() : nil
                let response = try await connection.response(["a": 1], idempotencyKey: key)
                #expect(response == ["a": 1])
            }
            #expect(diary.entries.suffix(2) == ["server: \(service.name)", "server: answered"])
        }
        #expect(diary.entries.count == 4)
    }

    @Test func `interceptors may change message and response, which are then validated`() async throws {
        let schema = AllowedValueSchema(fields: [.required("n", .integer)])
        let service = AppService("test.adding", requestSchema: schema, responseSchema: schema) { request in
            ["n": .integer((request.message["n"]?.int64 ?? 0) + 1)]
        }
        let changing = ServerInterceptor { request, _, next in
            var request = request
            if request.message["n"] == nil { request.message = ["n": 40] }
            var response = try await next(request)
            if response.message["n"] == 1 { response.message["n"] = "one" }
            return response
        }
        let log = InMemoryLogHandler()
        try await Self.talk(service.intercepted(by: changing), log: log) { connection in
            let changed = try await connection.send(["n": 0])
            #expect(changed.status == .failure)
            #expect(changed.error?.message.contains("response is not allowed") == true)
            let response = try await connection.response(["n": 2])
            #expect(response == ["n": 3])
        }
        // A message that the service's own schema forbids is refused after the interceptors.
        let diary = Diary()
        let breaking = ServerInterceptor { request, _, next in
            var request = request
            request.message["n"] = "many"
            return try await next(request)
        }
        let both = service.intercepted(by: ServerInterceptor("server", diary), breaking)
        try await Self.talk(both) { connection in
            let response = try await connection.send(["n": 1])
            #expect(response.status == .failure)
            #expect(response.error?.message.contains("not allowed here") == true)
        }
        #expect(diary.entries == ["server: test.adding", "server: AppServiceFailure"])
    }

    // MARK: Refusals

    @Test func `an interceptor's refusal reaches the caller, and the handler does not run`() async throws {
        let diary = Diary()
        let refusing = ServerInterceptor { request, _, next in
            guard request.metadata["role"] == "operator" else {
                throw AppServiceFailure("Only operators.", canRetry: true, status: .resourceLimitsExceeded)
            }
            return try await next(request)
        }
        let service = Self.echo(diary).intercepted(by: refusing)
        let interceptors = AppServiceInterceptors(server: [ServerInterceptor("log", diary)])
        try await Self.talk(service, interceptors) { connection in
            for metadata in [[:], ["role": "guest"], ["roles": "operator"]] as [RequestMetadata] {
                let response = try await connection.send([:], metadata: metadata)
                #expect(response.status == .resourceLimitsExceeded)
                #expect(response.error?.message == "Only operators.")
                #expect(response.error?.canRetry == true && response.error?.outcome == .failed)
            }
            #expect(!diary.entries.contains("handler"))
            #expect(diary.entries.last == "log: AppServiceFailure")
            #expect(try await connection.send([:], metadata: ["Role": "operator"]).status == .success)
        }
    }

    @Test(arguments: [false, true])
    func `an unexpected error of an interceptor is a failure without details`(awaits: Bool) async throws {
        let diary = Diary()
        let breaking = ServerInterceptor { _, _, _ in
            if awaits { await Task.yield() }
            throw Oops()
        }
        let log = InMemoryLogHandler()
        try await Self.talk(Self.echo(diary).intercepted(by: breaking), log: log) { connection in
            let response = try await connection.send([:])
            #expect(response.status == .failure)
            #expect(response.error?.message == "The service failed to handle the request.")
            #expect(response.message.isEmpty)
            // The connection continues.
            #expect(try await connection.send([:]).status == .failure)
        }
        #expect(diary.entries.isEmpty)
        #expect(log.entries.contains { $0.message == "A handler failed" })
    }

    @Test func `a refusal also applies to a request whose response is in the idempotency cache`() async throws {
        let diary = Diary()
        let authorising = ServerInterceptor { request, _, next in
            guard request.metadata["token"] == "right" else { throw AppServiceFailure("No.") }
            return try await next(request)
        }
        try await Self.talk(Self.echo(diary).intercepted(by: authorising)) { connection in
            let key = IdempotencyKey()
            // Refusals are not kept in the cache.
            for (token, status) in [("wrong", AppServiceResponseStatus.failure), ("right", .success)] {
                for _ in 0..<2 {
                    let response = try await connection.send(
                        ["a": 1],
                        idempotencyKey: key,
                        metadata: ["token": token]
                    )
                    #expect(response.status == status)
                }
            }
            let repeated = try await connection.send(["a": 1], idempotencyKey: key, metadata: ["token": "wrong"])
            #expect(repeated.status == .failure)
        }
        #expect(diary.entries == ["handler"])
    }

    @Test(arguments: [false, true])
    func `interceptors see the handler's own error, and may replace it`(onThreadPool: Bool) async throws {
        let service = AppService("test.breaking", execution: onThreadPool ? .onThreadPool : .onEventLoop) { _ in
            throw Oops()
        }
        let explaining = ServerInterceptor { request, _, next in
            do {
                return try await next(request)
            } catch is Oops {
                throw AppServiceFailure("Out of paper.", canRetry: true)
            }
        }
        let log = InMemoryLogHandler()
        try await Self.talk(service.intercepted(by: explaining), log: log) { connection in
            for key in [nil, IdempotencyKey()] {
                let response = try await connection.send([:], idempotencyKey: key)
                #expect(response.error?.message == "Out of paper.")
                #expect(response.error?.canRetry == true)
            }
        }
        #expect(!log.entries.contains { $0.message == "A handler failed" })
    }

    // MARK: Sending

    @Test func `an interceptor that throws while sending prevents the request`() async throws {
        let diary = Diary()
        let breaking = ClientInterceptor { _, _, _ in throw Oops() }
        try await Self.talk(Self.echo(diary), connection: [ClientInterceptor("log", diary), breaking]) { connection in
            await #expect(throws: Oops.self) { try await connection.send([:]) }
        }
        #expect(diary.entries == ["log: test.echo", "log: Oops"])
    }

    @Test func `an interceptor may respond itself, add metadata, and read the target`() async throws {
        let service = AppService("test.metadata") { request in
            ["token": .string(request.metadata["token"] ?? "none"), "own": .string(request.metadata["own"] ?? "none")]
        }
        let adding = ClientInterceptor { request, context, next in
            #expect(context.connection.peer.isLocal)
            #expect(!context.isPush)
            guard request.message["cached"] == nil else {
                return AppServiceResponse(status: .success, message: ["token": "cached"])
            }
            var request = request
            request.metadata["token"] = "abc"
            return try await next(request)
        }
        try await Self.talk(service, connection: [adding]) { connection in
            let own = try await connection.send([:], metadata: ["own": "1"]).get()
            #expect(own == ["token": "abc", "own": "1"])
            let response = try await connection.response(["cached": true])
            #expect(response == ["token": "cached"])
            // Metadata that it adds must be valid, too.
            let error = await #expect(throws: RemoteSystemError.self) {
                try await connection.send([:], metadata: ["own": "\n"])
            }
            #expect(error?.code == .invalidMessage)
        }
    }

    @Test func `a cancelled or late request is cancelled in interceptors on both sides`() async throws {
        let diary = Diary()
        let arrived = AsyncStream<Void>.makeStream()
        let waiting = ServerInterceptor { request, _, next in
            guard request.message["wait"] == nil else {
                arrived.continuation.yield()
                // Runs until it is cancelled.
                for await _ in AsyncStream<Never>.makeStream().stream {}
                diary.write("server: cancelled \(Task.isCancelled)")
                throw CancellationError()
            }
            return try await next(request)
        }
        let service = Self.echo(diary).intercepted(by: waiting)
        try await Self.talk(service, connection: [ClientInterceptor("client", diary)]) { connection in
            let sending = Task { try await connection.send(["wait": true]) }
            for await _ in arrived.stream { break }
            sending.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
            try await until { diary.entries.contains("server: cancelled true") }
            #expect(diary.entries.contains("client: CancellationError"))
            let late = try await connection.send(["wait": true], timeout: .milliseconds(20))
            #expect(late.status == .unknown)
            try await until { diary.entries.filter { $0 == "server: cancelled true" }.count == 2 }
            #expect(!diary.entries.contains("handler"))
            #expect(try await connection.send([:]).status == .success)
        }
    }

    @Test(arguments: [Duration.seconds(10 * 24 * 3600), .seconds(-5)])
    func `a timeout set by an interceptor has the same range as the sender's own`(timeout: Duration) async throws {
        let diary = Diary()
        let setting = ClientInterceptor { request, _, next in
            var request = request
            request.timeout = timeout
            return try await next(request)
        }
        try await Self.talk(Self.echo(diary), connection: [setting]) { connection in
            let error = await #expect(throws: RemoteSystemError.self) { try await connection.send([:]) }
            #expect(error?.code == .invalidArgument)
        }
        #expect(diary.entries.isEmpty)
        // An interceptor may replace an invalid timeout of the sender.
        let mending = ClientInterceptor { request, _, next in
            var request = request
            request.timeout = .seconds(10)
            return try await next(request)
        }
        try await Self.talk(Self.echo(diary), connection: [mending]) { connection in
            let response = try await connection.send([:], timeout: timeout)
            #expect(response.status == .success)
        }
    }

    // MARK: Pushes

    @Test func `a request of a service to its caller is intercepted at both ends, and marked as such`() async throws {
        let diary = Diary()
        let service = AppService("test.pushing") { request in
            let response = try await request.connection.send(["n": 1], metadata: ["from": "service"]).get()
            return ["answer": .dictionary(response)]
        }
        let interceptors = AppServiceInterceptors(
            client: [ClientInterceptor("client", diary)],
            server: [ServerInterceptor("server", diary)]
        )
        try await Self.talk(service, interceptors) { request in
            diary.write("onRequest: \(request.metadata["from"] ?? "none")")
            return ["n": 2]
        } _: { connection in
            let response = try await connection.response([:])
            #expect(response == ["answer": ["n": 2]])
        }
        #expect(
            diary.entries == [
                "client: test.pushing", "server: test.pushing", "client: test.pushing push",
                "server: test.pushing push", "onRequest: service", "server: answered", "client: success",
                "server: answered", "client: success",
            ]
        )
    }

    // MARK: Other ways to send

    @Test func `every way to send takes metadata and is intercepted`() async throws {
        struct Message: Codable { var text: String }
        let diary = Diary()
        let service = AppService("test.metadata") { request in
            ["text": .string("\(request.metadata["a"] ?? "none") \(request.metadata["b"] ?? "none")")]
        }
        let adding = ClientInterceptor { request, _, next in
            diary.write("sent")
            var request = request
            request.metadata["b"] = "2"
            return try await next(request)
        }
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([service]) { host in
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                ).intercepted(by: adding)
                let description = AppServiceDescription(name: "test.metadata")
                let stateless = try await AppServiceConnection.sendStateless(
                    [:],
                    to: description,
                    request: request,
                    metadata: ["a": "1"]
                )
                #expect(stateless.message == ["text": "1 2"])
                let typed: Message = try await AppServiceConnection.with(description, request) { connection in
                    try await connection.send(Message(text: ""), metadata: ["a": "1"])
                }
                #expect(typed.text == "1 2")
                let longLived = LongLivedConnection(to: description, request)
                try longLived.start()
                let response = try await longLived.send([:], metadata: ["a": "1"])
                #expect(response.message == ["text": "1 2"])
                let typedResponse: Message = try await longLived.send(Message(text: ""), metadata: ["a": "1"])
                #expect(typedResponse.text == "1 2")
                await longLived.close()
            }
        }
        #expect(diary.entries.count == 4)
    }
}
