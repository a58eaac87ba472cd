// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

/// One rule for schemas: a service publishes the schemas of its requests and responses, in both directions, and a
/// caller's description may be stricter (R-37; issue 8, section 3).
@Suite struct MessageSchemaTests {
    private static let text = AllowedValueSchema(fields: [.required("text", .string)])
    private static let number = AllowedValueSchema(fields: [.required("number", .integer)])

    private func with(
        _ service: AppService,
        _ description: AppServiceDescription,
        onRequest: AppServiceConnection.RequestHandler? = nil,
        _ body: (AppServiceConnection) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let host = try stage.system("Host", services: [service])
            try await stage.appears(host)
            let request = try await stage.request(to: host)
            let connection = AppServiceConnection(to: description, onRequest: onRequest)
            let status = try await connection.open(request)
            #expect(status == .success)
            try await body(connection)
            await connection.close()
        }
    }

    @Test func `published schemas apply without a schema in the caller's description`()
        async throws
    {
        let free = AppService("test.x", requestSchema: .full, responseSchema: .full) { $0.message }
        try await self.with(free, AppServiceDescription(name: "test.x")) { connection in
            let response = try await connection.send(["data": .data(Data([1])), "nothing": .null]).get()
            #expect(response["data"] == .data(Data([1])))
        }
        let strict = AppService("test.x", requestSchema: Self.text, responseSchema: Self.number) { _ in ["number": 1] }
        try await self.with(strict, AppServiceDescription(name: "test.x")) { connection in
            let error = await #expect(throws: RemoteSystemError.self) { _ = try await connection.send(["number": 1]) }
            #expect(error?.code == .invalidMessage)
            #expect(error?.side == .local)
            #expect(error?.outcome == .notExecuted)
            let response = try await connection.send(["text": "a"]).get()
            #expect(response == ["number": 1])
        }
    }

    @Test func `a description adds to the published schemas: requests are checked locally, responses remotely`()
        async throws
    {
        let free = AppService("test.x", requestSchema: .full, responseSchema: .full) { $0.message }
        let requests = AppServiceDescription(name: "test.x", requestSchema: Self.text)
        try await self.with(free, requests) { connection in
            let error = await #expect(throws: RemoteSystemError.self) { _ = try await connection.send(["number": 1]) }
            #expect(error?.code == .invalidMessage)
            #expect(error?.side == .local)
        }
        let responses = AppServiceDescription(name: "test.x", responseSchema: Self.text)
        try await self.with(free, responses) { connection in
            let allowed = try await connection.send(["text": "a"])
            #expect(allowed.status == .success)
            let response = try await connection.send(["number": 1])
            #expect(response.status == .failure)
            #expect(response.error?.code == .protocolViolation)
            #expect(response.error?.side == .remote)
            #expect(response.error?.message.contains("response schema") == true)
        }
        // It does not widen them: the published schema still applies.
        let strict = AppService("test.x", requestSchema: Self.text) { $0.message }
        try await self.with(strict, AppServiceDescription(name: "test.x", requestSchema: .full)) { connection in
            await #expect(throws: RemoteSystemError.self) { _ = try await connection.send(["number": 1]) }
        }
    }

    @Test func `requests of the service have schemas of their own`() async throws {
        let reported = Mutex<[AppServiceResponseStatus]>([])
        var options = AppService.Options()
        func service() -> AppService {
            AppService("test.x", requestSchema: Self.text, responseSchema: Self.text, options: options) { request in
                // Neither request nor response fits the service's own schemas.
                let pushed = try await request.connection.send(["number": 1])
                reported.withLock { $0.append(pushed.status) }
                return ["text": .string(pushed.message["ok"] == true ? "taken" : "not taken")]
            }
        }
        let handler: AppServiceConnection.RequestHandler = { request in
            #expect(request.message == ["number": 1])
            return ["ok": true]
        }
        let description = AppServiceDescription(name: "test.x")
        // Without declared schemas, the defaults for app services apply.
        try await self.with(service(), description, onRequest: handler) { connection in
            let response = try await connection.send(["text": "a"]).get()
            #expect(response == ["text": "taken"])
        }
        // Declared schemas, and messages that fit them.
        options.pushRequestSchema = Self.number
        options.pushResponseSchema = AllowedValueSchema(fields: [.required("ok", .bool)])
        try await self.with(service(), description, onRequest: handler) { connection in
            let response = try await connection.send(["text": "a"]).get()
            #expect(response == ["text": "taken"])
        }
        // A response that breaks the schema is the caller's fault, and the service gets a failure.
        try await self.with(service(), description, onRequest: { _ in ["ok": "yes"] }) { connection in
            let response = try await connection.send(["text": "a"]).get()
            #expect(response == ["text": "not taken"])
        }
        // Declared schemas, and a request that breaks them: it is not sent.
        options.pushRequestSchema = Self.text
        try await self.with(service(), description, onRequest: handler) { connection in
            let response = try await connection.send(["text": "a"])
            #expect(response.status == .failure)
        }
        #expect(reported.withLock { $0 } == [.success, .success, .failure])
    }

    @Test func `a caller's description may be stricter about requests of the service, too`() async throws {
        let pushing = AppService("test.x") { request in
            ["status": .integer(Int64(try await request.connection.send(["number": 1]).status.rawValue))]
        }
        let strict = AppServiceDescription(name: "test.x", pushRequestSchema: Self.text)
        try await self.with(pushing, strict, onRequest: { _ in [:] }) { connection in
            let response = try await connection.send([:]).get()
            #expect(response["status"]?.int == AppServiceResponseStatus.failure.rawValue)
        }
    }

    @Test func `all four schemas are reported to watchers`() async throws {
        var options = AppService.Options()
        options.pushRequestSchema = Self.text
        options.pushResponseSchema = Self.number
        let service = AppService("test.x", requestSchema: Self.number, responseSchema: Self.text, options: options) {
            $0.message
        }
        try await DiscoveryStage.with { stage in
            try await stage.appears(try stage.system("Host", services: [service]))
            let watcher = stage.watcher()
            try await watcher.start()
            try await stage.settle()
            let reported = try #require(watcher.systems.first?.applications.first?.services.first)
            #expect(reported.requestSchema == Self.number)
            #expect(reported.responseSchema == Self.text)
            #expect(reported.pushRequestSchema == Self.text)
            #expect(reported.pushResponseSchema == Self.number)
        }
    }
}
