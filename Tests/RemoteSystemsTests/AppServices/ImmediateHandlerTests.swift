// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Synchronization
import Testing

/// Handlers that await nothing run without a task; otherwise they behave like any other (R-34, R-41).
@Suite struct ImmediateHandlerTests {
    private static func isInTask() -> Bool { unsafe withUnsafeCurrentTask { unsafe $0 != nil } }

    @Test func `a handler without await runs without a task, one with await in a task`() async throws {
        let immediate = AppService("test.immediate") { _ in ["InTask": .bool(Self.isInTask())] }
        let awaiting = AppService("test.awaiting") { _ in
            await Task.yield()
            return ["InTask": .bool(Self.isInTask())]
        }
        for (service, isInTask) in [(immediate, false), (awaiting, true)] {
            try await Loopback.talk(service) { connection in
                let response = try await connection.send([:]).get()
                #expect(response["InTask"] == .bool(isInTask))
            }
        }
    }

    @Test func `a handler runs on the thread pool if the service asks for it (R-43)`() async throws {
        let threads = Mutex<[Bool: Set<pthread_t>]>([:])
        @Sendable func note(_ isHandler: Bool) {
            let thread = pthread_self()
            threads.withLock { _ = $0[isHandler, default: []].insert(thread) }
        }
        let service = AppService("test.pool", execution: .onThreadPool) { _ in
            note(true)
            return ["InTask": .bool(Self.isInTask())]
        }
        try await Loopback.talk(service) { connection in
            connection.onClosed { _ in note(false) }
            for _ in 0..<20 {
                let response = try await connection.send([:]).get()
                #expect(response["InTask"] == true)
            }
        }
        let (handlers, loops) = threads.withLock { ($0[true] ?? [], $0[false] ?? []) }
        #expect(!handlers.isEmpty)
        #expect(handlers.isDisjoint(with: loops))
    }

    @Test func `errors and invalid responses become the same response as with any handler`() async throws {
        struct Oops: Error {}
        @Sendable func outcome(_ request: AppServiceRequest) throws -> ValueSet {
            switch request.message["Do"]?.string {
            case "fail": throw AppServiceFailure("Not now.", canRetry: true, status: .resourceLimitsExceeded)
            case "cancel": throw CancellationError()
            case "break": throw Oops()
            case "babble": return ["Unexpected": 1]
            default: return ["Done": true]
            }
        }
        let schema = AllowedValueSchema(fields: [.required("Do", .string)])
        let responseSchema = AllowedValueSchema(fields: [.required("Done", .bool)])
        let services = [
            AppService("test.outcome", requestSchema: schema, responseSchema: responseSchema) { try outcome($0) },
            AppService("test.outcome", requestSchema: schema, responseSchema: responseSchema) {
                await Task.yield()
                return try outcome($0)
            },
        ]
        var responses: [[String]] = [[], []]
        for (index, service) in services.enumerated() {
            try await Loopback.talk(service) { connection in
                for what in ["fail", "cancel", "break", "babble", "it"] {
                    let response = try await connection.send(["Do": .string(what)])
                    responses[index].append(
                        "\(what): \(response.status) \(response.error?.message ?? "") \(response.message)"
                    )
                }
            }
        }
        #expect(responses[0] == responses[1])
        #expect(responses[0].first?.hasPrefix("fail: resourceLimitsExceeded Not now.") == true, "\(responses[0])")
        #expect(responses[0].last?.hasPrefix("it: success") == true, "\(responses[0])")
    }

    @Test func `with a key the handler runs once`() async throws {
        let count = Mutex(0)
        let service = AppService("test.once") { _ in
            [
                "n": .integer(
                    Int64(
                        count.withLock { value in
                            value += 1; return value
                        }
                    )
                )
            ]
        }
        try await Loopback.talk(service) { connection in
            let key = IdempotencyKey()
            for _ in 0..<3 {
                let response = try await connection.send([:], idempotencyKey: key).get()
                #expect(response["n"] == 1)
            }
            let other = try await connection.send([:]).get()
            #expect(other["n"] == 2)
        }
    }
}
