// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// What the caller gets on the wire when a request fails, with and without interceptors around the handler.
@Suite struct InterceptedFailureTests {
    struct Oops: Error {}

    /// Forwards everything.
    private static let plain = ServerInterceptor { request, _, next in try await next(request) }

    private static let services = [
        AppService(
            "test.strict",
            requestSchema: AllowedValueSchema(fields: [.required("n", .integer)]),
            responseSchema: AllowedValueSchema(fields: [.required("n", .integer)])
        ) { request in
            switch request.message["n"]?.int {
            case 1: throw Oops()
            case 2: throw CancellationError()
            case 3: ["n": "three"]
            default: request.message
            }
        }
    ]

    /// Connects to a host without the SDK's interpretation of its responses.
    static func talk(
        _ services: [AppService],
        _ interceptors: AppServiceInterceptors = AppServiceInterceptors(),
        _ body: (Connection) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var loopbackSystem = loopbackSystem
            loopbackSystem.interceptors = interceptors
            try await loopbackSystem.withHost(services) { host in
                let context = ApplicationContext(loopbackSystem.configuration("test.caller"))
                let connector = try await context.connector()
                let connection = try await connector.connect(
                    to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
                    expecting: nil,
                    hello: context.hello(
                        service: services[0].name,
                        targetApplication: nil,
                        limits: connector.limits
                    ),
                    handler: { _, _ in Response(status: .failure) }
                )
                try await body(connection)
                await connection.abortAndWait()
            }
        }
    }

    @Test(arguments: [false, true])
    func `the codes of failures are the same with interceptors as without`(isIntercepted: Bool) async throws {
        let interceptors = AppServiceInterceptors(server: isIntercepted ? [Self.plain] : [])
        try await Self.talk(Self.services, interceptors) { connection in
            let cases: [(ValueSet, FailureCode)] = [
                (["n": "one"], .messageNotAllowed), (["n": 1], .handlerFailed), (["n": 2], .cancelled),
                (["n": 3], .responseNotAllowed),
            ]
            for (message, code) in cases {
                let response = try await connection.send(message, timeout: .seconds(10))
                #expect(response.failure?.code == code.rawValue, "\(message)")
                #expect(response.failure?.canRetry == (code == .cancelled), "\(message)")
            }
            let key: [UInt8] = [1]
            for (number, code) in [(4, nil), (5, FailureCode.keyReused)] as [(Int64, FailureCode?)] {
                let response = try await connection.send(["n": .integer(number)], timeout: .seconds(10), key: key)
                #expect(response.failure?.code == code?.rawValue)
            }
        }
    }

    @Test(
        arguments: [
            ("com.example.sold-out", "com.example.sold-out"), ("busy", nil), ("com.example.Sold Out", nil), (".", "."),
            ("com.example." + String(repeating: "x", count: 52), "com.example." + String(repeating: "x", count: 52)),
            ("com.example." + String(repeating: "x", count: 53), nil), ("", nil), (nil, nil),
        ] as [(String?, String?)]
    )
    func `a service's own code reaches the caller, if it is valid`(code: String?, sent: String?) async throws {
        let service = AppService("test.failing") { _ in throw AppServiceFailure("No.", code: code) }
        for interceptors in [AppServiceInterceptors(), AppServiceInterceptors(server: [Self.plain])] {
            try await LoopbackSystem.with { loopbackSystem in
                var loopbackSystem = loopbackSystem
                loopbackSystem.interceptors = interceptors
                try await loopbackSystem.withHost([service]) { host in
                    let description = AppServiceDescription(name: "test.failing")
                    let (connection, _) = try await Loopback.connect(loopbackSystem, host, description)
                    let response = try await connection.send([:])
                    #expect(response.error?.failureCode == sent)
                    #expect(response.error?.message == "No.")
                    await connection.close()
                }
            }
        }
    }

    @Test func `protocol codes reach the caller, from interceptors as from errors`() async throws {
        let seen = Mutex<[String?]>([])
        let noting = ServerInterceptor { request, _, next in
            do {
                return try await next(request)
            } catch let failure as AppServiceFailure {
                seen.withLock { $0.append(failure.code) }
                throw failure
            }
        }
        try await LoopbackSystem.with { loopbackSystem in
            var hosting = loopbackSystem
            hosting.interceptors.server = [noting]
            try await hosting.withHost(Self.services) { host in
                let absent = AppServiceDescription(name: "test.absent")
                let (missing, status) = try await Loopback.connect(loopbackSystem, host, absent)
                #expect(status == .appServiceUnavailable)
                #expect(missing.openError?.failureCode == "service-not-found")
                let strict = AppServiceDescription(name: "test.strict")
                let (connection, _) = try await Loopback.connect(loopbackSystem, host, strict)
                let response = try await connection.send(["n": 3])
                #expect(response.error?.failureCode == "response-not-allowed")
                await connection.close()
            }
        }
        #expect(seen.withLock { $0 } == ["response-not-allowed"])
    }

    @Test func `a repeated request fails like the first, with the same interceptor's explanation`() async throws {
        let runs = Mutex(0)
        let service = AppService("test.breaking") { _ in
            runs.withLock { $0 += 1 }
            throw Oops()
        }
        let explaining = ServerInterceptor { request, _, next in
            do {
                return try await next(request)
            } catch is Oops {
                throw AppServiceFailure("Out of paper.", status: .resourceLimitsExceeded)
            }
        }
        try await Self.talk([service.intercepted(by: explaining)]) { connection in
            for _ in 0..<3 {
                let response = try await connection.send([:], timeout: .seconds(10), key: [1])
                #expect(response.failure?.text == "Out of paper.")
                #expect(response.status == .resourceLimitsExceeded)
            }
        }
        #expect(runs.withLock { $0 } == 1)
    }

    @Test func `a failure that an interceptor marks as worth a retry runs again`() async throws {
        let runs = Mutex(0)
        let service = AppService("test.breaking") { request in
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            guard run > 1 else { throw Oops() }
            return ["run": .integer(Int64(run))]
        }
        let explaining = ServerInterceptor { request, _, next in
            do {
                return try await next(request)
            } catch is Oops {
                throw AppServiceFailure("Out of paper.", canRetry: true)
            }
        }
        try await Self.talk([service.intercepted(by: explaining)]) { connection in
            let first = try await connection.send([:], timeout: .seconds(10), key: [1])
            #expect(first.failure?.canRetry == true)
            for _ in 0..<2 {
                let response = try await connection.send([:], timeout: .seconds(10), key: [1])
                #expect(response.message == ["run": 2])
            }
        }
        #expect(runs.withLock { $0 } == 2)
    }

    @Test func `a success is kept, even if an interceptor turns it into a failure`() async throws {
        let runs = Mutex(0)
        let service = AppService("test.counting") { _ in
            [
                "run": .integer(
                    runs.withLock { runs in
                        runs += 1
                        return Int64(runs)
                    }
                )
            ]
        }
        let refusals = Mutex(0)
        let refusing = ServerInterceptor { request, _, next in
            let response = try await next(request)
            let isFirst = refusals.withLock { refusals in
                refusals += 1
                return refusals == 1
            }
            if isFirst { throw AppServiceFailure("Later.", canRetry: true) }
            return response
        }
        try await Self.talk([service.intercepted(by: refusing)]) { connection in
            let first = try await connection.send([:], timeout: .seconds(10), key: [1])
            #expect(first.failure?.text == "Later.")
            let second = try await connection.send([:], timeout: .seconds(10), key: [1])
            #expect(second.message == ["run": 1])
        }
        #expect(runs.withLock { $0 } == 1)
    }

    @Test(arguments: [false, true])
    func `after a host has stopped no handler starts, even if interceptors continue`(hasKey: Bool) async throws {
        let (arrived, gate, ended) = (AsyncStream<Void>.makeStream(), Promise<Void>(), AsyncStream<Void>.makeStream())
        let runs = Mutex(0)
        let service = AppService("test.late") { _ in
            runs.withLock { $0 += 1 }
            return [:]
        }
        let stubborn = ServerInterceptor { request, _, next in
            arrived.continuation.yield()
            // Ignores its cancellation.
            await Task { try? await gate.value }.value
            defer { ended.continuation.yield() }
            return try await next(request)
        }
        try await Self.talk([service.intercepted(by: stubborn)]) { connection in
            let sending = Task.immediate {
                try? await connection.send([:], timeout: .seconds(60), key: hasKey ? [1] : nil)
            }
            for await _ in arrived.stream { break }
            await connection.abortAndWait()
            _ = await sending.value
        }
        gate.succeed(())
        for await _ in ended.stream { break }
        #expect(runs.withLock { $0 } == 0)
    }
}
