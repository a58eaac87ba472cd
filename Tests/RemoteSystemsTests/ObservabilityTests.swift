// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Metrics
import MetricsTestKit
import RemoteSystems
import Testing

/// What operators see: logs without the content of messages, and metrics.
@Suite struct ObservabilityTests {
    /// The metrics of this process. Hosts that are created from now on report to it.
    static let metrics: TestMetrics = {
        let metrics = TestMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }()

    private enum Key: String, CodingKey { case text }

    private struct Unexpected: Error, CustomStringConvertible { var description: String }

    private static func description(_ name: String) -> AppServiceDescription {
        AppServiceDescription(name: name, requestSchema: .full, responseSchema: .full)
    }

    // MARK: Logs

    /// Services that fail in every way.
    private static let services: [AppService] = [
        AppService("test.echo", requestSchema: .full, responseSchema: .full) { $0.message },
        AppService("test.refusing", requestSchema: .full) { request in
            throw AppServiceFailure("Not \(request.message["text"]?.string ?? "")")
        },
        AppService("test.failing", requestSchema: .full) { request in
            // A handler's error is logged. Keeping the message's content out of it is up to the handler's author.
            throw Unexpected(description: "\(request.message.count) keys are too many.")
        },
        AppService("test.decoding", requestSchema: .full) { request in
            // Like a decoder's error, which contains the refused value.
            let context = DecodingError.Context(
                codingPath: [Key.text],
                debugDescription: "Not a number: \(request.message["text"]?.string ?? "")"
            )
            throw DecodingError.dataCorrupted(context)
        },
        AppService("test.encoding", requestSchema: .full) { request in
            let context = EncodingError.Context(codingPath: [Key.text], debugDescription: "Not allowed.")
            throw EncodingError.invalidValue(request.message["text"]?.string ?? "", context)
        },
        AppService("test.strict", requestSchema: AllowedValueSchema(fields: [.required("text", .integer)])) {
            $0.message
        },
        AppService(
            "test.breaking-its-word",
            requestSchema: .full,
            responseSchema: AllowedValueSchema(fields: [.required("text", .integer)])
        ) { $0.message },
    ]

    @Test func `no log at any level contains the content of messages, in every outcome`() async throws {
        let secret = "s3cret-payload"
        let forms = [
            secret, Data(secret.utf8).base64EncodedString(), secret.utf8.map { String($0, radix: 16) }.joined(),
        ]
        let (hostLog, callerLog) = (InMemoryLogHandler(), InMemoryLogHandler())
        let asked = LaunchingTests.Asked()
        let provider = asked.provider { request in
            guard request.inputData == nil else { throw Unexpected(description: "There is input data.") }
            return .opened
        }
        try await LoopbackSystem.with { loopbackSystem in
            var (hosting, calling) = (loopbackSystem, loopbackSystem)
            hosting.logger = Self.logger(hostLog)
            calling.logger = Self.logger(callerLog)
            let caller = calling
            try await hosting.withHost(Self.services, launchURIProvider: provider) { host in
                let message: ValueSet = ["text": .string(secret), "data": .data(Data(secret.utf8))]
                for service in Self.services {
                    let (connection, status) = try await Loopback.connect(caller, host, Self.description(service.name))
                    #expect(status == .success)
                    // A message that a declared schema forbids is refused before it is sent.
                    let response = try? await connection.send(message)
                    #expect((response?.status == .success) == (service.name == "test.echo"), "\(service.name)")
                    await connection.close()
                }
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: caller.configuration("test.caller")
                )
                for inputData in [nil, message] {
                    _ = try await RemoteLauncher().launchURI("player:\(secret)", with: request, inputData: inputData)
                }
            }
        }
        #expect(asked.requests.count == 2)
        // The host logs a failed handler, so the log is not empty. A caller gets its errors and logs none.
        #expect(hostLog.entries.contains { "\($0.message)" == "A handler failed" })
        #expect(hostLog.entries.contains { "\($0.metadata)".contains("DecodingError: dataCorrupted at text") })
        for (side, log) in [("host", hostLog), ("caller", callerLog)] {
            for entry in log.entries {
                let text = "\(entry.message) \(entry.metadata) \(entry.error.map { "\($0)" } ?? "")"
                #expect(!forms.contains { text.contains($0) }, "\(side): \(text)")
            }
        }
    }

    @Test(arguments: [false, true])
    func `a caller logs the errors of its own request handler`(isIntercepted: Bool) async throws {
        let log = InMemoryLogHandler()
        let service = AppService("test.pushing") { request in
            ["status": .integer(Int64(try await request.connection.send([:]).status.rawValue))]
        }
        try await LoopbackSystem.with { loopbackSystem in
            var calling = loopbackSystem
            calling.logger = Self.logger(log)
            if isIntercepted {
                calling.interceptors.server = [ServerInterceptor { request, _, next in try await next(request) }]
            }
            let caller = calling
            try await loopbackSystem.withHost([service]) { host in
                let (connection, status) = try await Loopback.connect(
                    caller,
                    host,
                    AppServiceDescription(name: "test.pushing"),
                    onRequest: { _ in throw Unexpected(description: "The screen is off.") }
                )
                #expect(status == .success)
                let response = try await connection.send([:])
                #expect(response.message == ["status": 1])
                await connection.close()
            }
        }
        let entry = log.entries.first { "\($0.message)" == "A handler failed" }
        #expect(entry.map { "\($0.metadata)".contains("The screen is off.") } == true)
        #expect(entry.map { "\($0.metadata)".contains("test.pushing") } == true)
    }

    @Test func `a caller that makes a handler fail again and again does not fill the log`() async throws {
        let log = InMemoryLogHandler()
        try await LoopbackSystem.with { loopbackSystem in
            var system = loopbackSystem
            system.logger = Self.logger(log)
            let failing = AppService("test.failing") { _ in throw Unexpected(description: "The screen is off.") }
            try await system.withHost([failing]) { host in
                let (connection, _) = try await Loopback.connect(
                    loopbackSystem,
                    host,
                    AppServiceDescription(name: "test.failing")
                )
                for _ in 0..<200 { #expect(try await connection.send([:]).status == .failure) }
                await connection.close()
            }
        }
        let entries = log.entries.filter { "\($0.message)" == "A handler failed" }
        // Three in a minute; a busy machine may need more than one.
        #expect((3...9).contains(entries.count))
        #expect(entries.allSatisfy { $0.metadata["event"].map { "\($0)" } == "handler-failed" })
    }

    private static func logger(_ handler: InMemoryLogHandler) -> Logger {
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        return logger
    }

    // MARK: Metrics

    @Test func `a host counts and times its responses, by service and outcome (R-14)`() async throws {
        let metrics = Self.metrics
        let name = "test.counted-\(UUID())"
        let service = AppService(name, requestSchema: .full) { request in
            guard request.message["ok"] == true else { throw AppServiceFailure("It is not.") }
            // Real time, since the test checks the measured durations.
            try await Task.sleep(for: .milliseconds(20))
            return [:]
        }
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([service]) { host in
                for _ in 0..<2 {
                    let (connection, _) = try await Loopback.connect(loopbackSystem, host, Self.description(name))
                    for isOK in [true, false, true] {
                        _ = try await connection.send(["ok": .bool(isOK)])
                    }
                    await connection.close()
                }
            }
        }
        let dimensions = [("service", name)]
        func total(_ label: String, _ more: [(String, String)] = []) throws -> Int64 {
            try metrics.expectCounter(label, dimensions + more).totalValue
        }
        #expect(try total("remote_systems_requests_total", [("status", "success")]) == 4)
        #expect(try total("remote_systems_requests_total", [("status", "failure")]) == 2)
        #expect(try total("remote_systems_connections_opened_total") == 2)
        #expect(try total("remote_systems_connections_closed_total") == 2)
        let times = try metrics.expectTimer("remote_systems_request_duration", dimensions).values
        #expect(times.count == 6)
        // In nanoseconds: the four slow requests took at least 20 ms, and none takes minutes, which would show another
        // unit.
        #expect(times.count { $0 >= 20_000_000 } >= 4)
        #expect(times.allSatisfy { (1..<60_000_000_000).contains($0) })
    }
}
