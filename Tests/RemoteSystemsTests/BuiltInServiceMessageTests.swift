// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// The messages of the built-in services, as `Docs/wire/` specifies them.
@Suite(.timeLimit(.minutes(1))) struct BuiltInServiceMessageTests {
    /// Sends requests to a service of a host, using nothing of the SDK above the connection.
    private static func responses(
        of service: String,
        to messages: [ValueSet]
    ) async throws -> [Response] {
        var responses: [Response] = []
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([.ping]) { host in
                let local = ApplicationContext(loopbackSystem.configuration("test.caller"))
                let connector = try await local.connector()
                let connection = try await connector.connect(
                    to: [Endpoint(host: "127.0.0.1", port: try await host.port)],
                    expecting: nil,
                    hello: local.hello(service: service, targetApplication: nil, limits: connector.limits)
                ) { _, _ in Response() }
                for message in messages {
                    responses.append(try await connection.send(message, timeout: .seconds(20)))
                }
                connection.abort()
            }
        }
        return responses
    }

    @Test func `a ping of another type, or of none, gets the code for an unknown request`() async throws {
        for response in try await Self.responses(of: AppService.pingName, to: [["Type": "pong"], [:], ["Type": 1]]) {
            #expect(response.status == .failure)
            #expect(response.failure?.code == FailureCode.requestUnknown.rawValue)
            #expect(response.failure?.canRetry == false)
        }
    }

    @Test func `a double is not a port of a diagnosis`() async throws {
        let messages: [ValueSet] = [9.0, 48_030.0, 48_030.5].map { ["Type": "connect", "Port": .double($0)] }
        for response in try await Self.responses(of: Diagnosis.service, to: messages) {
            #expect(response.status == .failure)
            #expect(response.failure?.code == FailureCode.requestInvalid.rawValue)
        }
    }

    @Test func `a double is not a status of a launch`() {
        #expect((try? Launch.launch.response(from: ["Status": 1]))?.status == .success)
        #expect((try? Launch.launch.response(from: ["Status": 1.0])) == nil)
    }

    @Test func `a double is not a platform`() throws {
        var records = SystemBrowserStateMachineTests.description("Attic").records.records
        for platform in [.integer(1), .double(1)] as [Value] {
            records["system"]?["Platform"] = platform
            let record = try #require(records["system"])
            let isInteger = platform == .integer(1)
            #expect(PresenceTopic.schema.accepts(record, for: "system") == isInteger)
            #expect(SystemDescription(records)?.platform.rawValue == (isInteger ? 1 : 0))
        }
    }
}
