// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import InMemoryTracing
import Instrumentation
import RemoteSystemsTesting
import RemoteSystemsTracing
import Synchronization
import Testing
import Tracing

@testable import RemoteSystems

/// A trace follows a request: on a stage, over loopback with TLS, and through a service that calls another one.
@Suite struct TracingTests {
    private static let trace = W3CTrace(
        parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        state: "vendor=1"
    )

    /// The trace and metadata that a handler finds.
    private static func seen(_ request: AppServiceRequest) -> ValueSet {
        let trace = ServiceContext.current?.w3c
        return [
            "parent": .string(trace?.parent ?? "none"), "state": .string(trace?.state ?? "none"),
            "hasContext": .bool(ServiceContext.current != nil),
            "metadata": .string(request.metadata.map { "\($0.key)=\($0.value)" }.joined(separator: ";")),
        ]
    }

    private static let services = [
        AppService("test.immediate", options: .init(callers: .anyoneNearby)) { Self.seen($0) },
        AppService("test.awaiting", options: .init(callers: .anyoneNearby)) { request in
            await Task.yield()
            return Self.seen(request)
        },
        AppService("test.pool", execution: .onThreadPool, options: .init(callers: .anyoneNearby)) { Self.seen($0) },
    ]

    /// Runs the body in a trace of its own.
    private static func inTrace<Result>(
        _ trace: W3CTrace = Self.trace,
        _ body: () async throws -> Result
    ) async throws -> Result {
        _ = Tracers.inMemory
        var context = ServiceContext.topLevel
        context.w3c = trace
        return try await ServiceContext.$current.withValue(context) { try await body() }
    }

    // MARK: Propagation

    @Test(arguments: services.map(\.name), [false, true])
    func `a handler of any kind is in its caller's trace`(name: String, hasKey: Bool) async throws {
        let service = try #require(Self.services.first { $0.name == name })
        try await Loopback.talk(service) { connection in
            let key = hasKey ? IdempotencyKey() : nil
            let response = try await Self.inTrace { try await connection.send([:], idempotencyKey: key).get() }
            #expect(response["parent"]?.string == Self.trace.parent)
            #expect(response["state"]?.string == Self.trace.state)
            // Without a trace nothing is sent, and the handler has none.
            let plain = try await connection.send([:]).get()
            #expect(plain["hasContext"] == false)
            #expect(plain["metadata"] == "")
            // The program's own keys are sent. A trace among them is replaced by the current one.
            let metadata: RequestMetadata = ["own": "1", "traceparent": "00-old"]
            let both = try await Self.inTrace { try await connection.send([:], metadata: metadata).get() }
            #expect(both["metadata"]?.string == "own=1;tracestate=vendor=1;traceparent=\(Self.trace.parent)")
        }
    }

    @Test func `a trace follows a request through a service that calls a third system`() async throws {
        _ = Tracers.inMemory
        try await DiscoveryStage.with { stage in
            let last = try stage.system("Last", services: Self.services)
            try await stage.appears(last)
            let onward = try await stage.connect(to: last, service: "test.awaiting")
            let middle = AppService("test.middle") { request in
                ["here": .dictionary(Self.seen(request)), "there": .dictionary(try await onward.send([:]).get())]
            }
            let system = try stage.system("Middle", services: [middle])
            try await stage.appears(system)
            let connection = try await stage.connect(to: system, service: "test.middle")
            let response = try await Self.inTrace { try await connection.send([:]).get() }
            for place in ["here", "there"] {
                #expect(response[place]?.dictionary?["parent"]?.string == Self.trace.parent, "\(place)")
            }
            let untraced = try await connection.send([:]).get()
            for place in ["here", "there"] {
                #expect(untraced[place]?.dictionary?["hasContext"] == false, "\(place)")
            }
        }
    }

    @Test func `the response to a service's request is in the service's trace`() async throws {
        let service = AppService("test.pushing") { request in
            ["answer": .dictionary(try await request.connection.send([:]).get())]
        }
        try await Loopback.talk(service, onRequest: { Self.seen($0) }) { connection in
            let response = try await Self.inTrace { try await connection.send([:]).get() }
            #expect(response["answer"]?.dictionary?["parent"]?.string == Self.trace.parent)
        }
    }

    @Test func `requests read as a sequence are intercepted in the service's trace`() async throws {
        let parents = Mutex<[String?]>([])
        let noting = ServerInterceptor { request, context, next in
            if context.isPush { parents.withLock { $0.append(ServiceContext.current?.w3c?.parent) } }
            return try await next(request)
        }
        let service = AppService("test.pushing") { request in
            ["answer": .dictionary(try await request.connection.send([:]).get())]
        }
        try await LoopbackSystem.with { loopbackSystem in
            var loopbackSystem = loopbackSystem
            loopbackSystem.interceptors.server = [noting]
            try await loopbackSystem.withHost([service]) { host in
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: loopbackSystem.configuration("test.caller")
                )
                let description = AppServiceDescription(name: "test.pushing")
                try await AppServiceConnection.with(description, request) { connection, requests in
                    async let response = Self.inTrace { try await connection.send([:]).get() }
                    for try await request in requests {
                        #expect(request.metadata["traceparent"] == Self.trace.parent)
                        break
                    }
                    _ = try await response
                }
            }
        }
        #expect(parents.withLock { $0 } == [Self.trace.parent])
    }

    @Test func `concurrent requests keep their traces apart`() async throws {
        try await Loopback.talk(Self.services[1]) { connection in
            try await withThrowingTaskGroup { group in
                for number in 0..<200 {
                    group.addTask {
                        let parent = number.isMultiple(of: 3) ? "none" : "00-\(number)"
                        let send = { try await connection.send([:]).get() }
                        let response =
                            parent == "none" ? try await send() : try await Self.inTrace(.init(parent: parent), send)
                        #expect(response["parent"]?.string == parent)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a request without a trace is handled in none, in every kind of handler`() async throws {
        _ = Tracers.inMemory
        var context = ServiceContext.topLevel
        context.w3c = Self.trace
        let plain = AppServiceRequest.staged()
        let traced = AppServiceRequest.staged(metadata: ["traceparent": "00-other"])
        ServiceContext.$current.withValue(context) {
            #expect(TraceContext.handling(plain) { ServiceContext.current == nil })
            #expect(TraceContext.handling(traced) { ServiceContext.current?.w3c?.parent } == "00-other")
            #expect(ServiceContext.current?.w3c == Self.trace)
        }
        await ServiceContext.$current.withValue(context) {
            #expect(await TraceContext.handling(plain) { () async -> Bool in ServiceContext.current == nil })
        }
        guard case .unchanged = TraceContext.scope(of: plain) else {
            Issue.record("Without any trace there is something to do.")
            return
        }
    }

    // MARK: Invalid and foreign traces

    @Test func `an oversized or invalid trace is ignored, and the request runs`() async throws {
        _ = Tracers.inMemory
        try await Loopback.talk(Self.services[0]) { connection in
            for parent in [String(repeating: "0", count: 129), String(repeating: "0", count: 8000)] {
                let response = try await connection.send([:], metadata: ["traceparent": parent]).get()
                #expect(response["hasContext"] == false)
            }
            let state = String(repeating: "0", count: 513)
            let metadata: RequestMetadata = ["traceparent": "00-1", "tracestate": state]
            let response = try await connection.send([:], metadata: metadata).get()
            #expect(response["parent"] == "00-1")
            #expect(response["state"] == "none")
        }
    }

    @Test func `a trace that does not fit beside the program's own metadata is left out`() async throws {
        try await Loopback.talk(Self.services[0]) { connection in
            let metadata: RequestMetadata = ["a": .init(repeating: "b", count: 8191)]
            let response = try await Self.inTrace { try await connection.send([:], metadata: metadata).get() }
            #expect(response["hasContext"] == false)
            #expect(response["metadata"]?.string?.utf8.count == 8193)
        }
    }

    @Test func `no trace is sent to a system of another account, or accepted from one`() async throws {
        _ = Tracers.inMemory
        try await DiscoveryStage.with { stage in
            let application = StagedApplication("test.open", services: Self.services, allowsAnyoneNearby: true)
            try await stage.appears(try stage.system("Theirs", account: .other, applications: [application]))
            let watcher = stage.watcher(filters: [.authorizationKind(.anonymous)])
            try await watcher.start()
            try await stage.eventually("it is listed") { !watcher.systems.isEmpty }
            let open = try #require(watcher.systems.first?.application("test.open"))
            try await open.withAppService("test.awaiting") { connection in
                let response = try await Self.inTrace { try await connection.send([:]).get() }
                #expect(response["metadata"] == "")
                let forced = try await connection.send([:], metadata: ["traceparent": "00-1", "own": "1"]).get()
                #expect(forced["hasContext"] == false)
                #expect(forced["metadata"] == "own=1;traceparent=00-1")
            }
        }
    }

    // MARK: Spans

    @Test func `spans of both sides belong to one trace, each the parent of the next`() async throws {
        let tracer = Tracers.inMemory
        let operation: @Sendable (ValueSet) -> String? = { $0["Type"]?.string }
        try await DiscoveryStage.with { stage in
            var application = StagedApplication(
                "test.host",
                services: [
                    AppService("test.traced") { request in
                        guard request.message["Type"] != "fail" else { throw AppServiceFailure("No.") }
                        return await withSpan("inside") { _ in
                            await Task.yield()
                            return request.message
                        }
                    }
                ]
            )
            application.interceptors.server = [TracingServerInterceptor(operation: operation)]
            let system = try stage.system("Host", applications: [application])
            try await stage.appears(system)
            let request = try await stage.request(to: system).intercepted(
                by: TracingClientInterceptor(operation: operation)
            )
            let connection = AppServiceConnection(to: AppServiceDescription(name: "test.traced"))
            #expect(try await connection.open(request) == .success)

            let trace = try await tracer.withSpan("root") { span in
                _ = try await connection.send(["Type": "list"]).get()
                return span.traceID
            }
            let spans = Tracers.spans(of: trace)
            let name = "test.traced/list"
            try #require(spans.map(\.operationName) == ["inside", name, name, "root"])
            #expect(spans.map(\.kind) == [.internal, .server, .client, .internal])
            for (child, parent) in zip(spans, spans.dropFirst()) { #expect(child.parentSpanID == parent.spanID) }
            for span in spans[1...2] {
                #expect(span.attributes.get("rpc.system.name") == .string("remote_systems"))
                #expect(span.attributes.get("rpc.method") == .string(name))
                #expect(span.attributes.get("rpc.response.status_code") == .string("success"))
                #expect(span.attributes.get("error.type") == nil)
                #expect(span.status == nil && span.errors.isEmpty)
            }
            let hostID = SpanAttribute.string("\(system.id)")
            #expect(spans[2].attributes.get("remote_systems.peer.system_id") == hostID)
            #expect(spans[2].attributes.get("server.address") == .string(system.address))

            let failing = try await tracer.withSpan("root") { span in
                let response = try await connection.send(["Type": "fail"])
                #expect(response.status == .failure)
                return span.traceID
            }
            let failed = Tracers.spans(of: failing)
            try #require(failed.map(\.operationName) == ["test.traced/fail", "test.traced/fail", "root"])
            for span in failed.prefix(2) {
                #expect(span.attributes.get("rpc.response.status_code") == .string("failure"))
                #expect(span.attributes.get("error.type") == .string("failure"))
                #expect(span.status?.code == .error && span.errors.count == 1)
            }
        }
    }

    @Test func `a span ends with an error if nothing is sent or the response is lost`() async throws {
        let tracer = Tracers.inMemory
        let service = AppService("test.slow") { request in
            // Outlasts the test. Ended by cancellation.
            try await Task.sleep(for: .seconds(600))
            return [:]
        }
        try await LoopbackSystem.with { loopbackSystem in
            var loopbackSystem = loopbackSystem
            loopbackSystem.interceptors.client = [TracingClientInterceptor()]
            try await loopbackSystem.withHost([service]) { [loopbackSystem] host in
                let description = AppServiceDescription(name: "test.slow")
                let (connection, _) = try await Loopback.connect(loopbackSystem, host, description)
                let trace = try await tracer.withSpan("root") { span in
                    _ = try? await connection.send([:], metadata: ["a b": ""])
                    _ = try await connection.send([:], timeout: .milliseconds(10))
                    return span.traceID
                }
                let spans = Tracers.spans(of: trace)
                #expect(spans.map(\.operationName) == ["test.slow", "test.slow", "root"])
                #expect(spans[0].attributes.get("error.type") == .string("invalidMessage"))
                #expect(spans[1].attributes.get("error.type") == .string("unknown"))
                #expect(spans.prefix(2).allSatisfy { $0.status?.code == .error })
                await connection.cancel()
            }
        }
    }
}
