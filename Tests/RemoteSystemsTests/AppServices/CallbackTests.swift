// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// On which threads a service and its caller are called back.
@Suite struct CallbackTests {
    /// Records the thread of every callback.
    private final class Provider: AppServiceProvider {
        let threads = Mutex<[String: [pthread_t]]>([:])

        func note(_ callback: String) {
            let thread = pthread_self()
            self.threads.withLock { $0[callback, default: []].append(thread) }
        }

        func respond(to request: AppServiceRequest) async throws -> ValueSet {
            self.note("request")
            return [:]
        }

        func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) { self.note("opened") }

        func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
            self.note("closed")
        }
    }

    @Test(arguments: [AppService.Execution.onEventLoop, .onThreadPool])
    func `a service runs on its connection's event loop, its handler elsewhere if it asks for it (R-43)`(
        execution: AppService.Execution
    ) async throws {
        let provider = Provider()
        let service = AppService("test.threads", execution: execution, provider: provider)
        try await Loopback.talk(service) { connection in
            for _ in 0..<20 { _ = try await connection.send([:]).get() }
        }
        try await until { provider.threads.withLock { $0["closed"] } != nil }
        let threads = provider.threads.withLock { $0 }
        let eventLoop = try #require(threads["opened"]?.first)
        #expect(threads["closed"] == [eventLoop])
        #expect(threads["request"]?.count == 20)
        #expect(threads["request"]?.allSatisfy { ($0 == eventLoop) == (execution == .onEventLoop) } == true)
    }

    @Test func `a caller's listener runs on the event loop, or inline if it registers too late (R-43)`()
        async throws
    {
        let notes = Provider()
        try await Loopback.talk(Loopback.echo) { connection in
            let eventLoop = try #require(connection.executor)
            await Task(executorPreference: eventLoop) { notes.note("event loop") }.value
            connection.onClosed { _ in notes.note("listener") }
            await connection.close()
            _ = try await connection.waitUntilClosed()
            func registerLate() {
                notes.note("late")
                connection.onClosed { _ in notes.note("late") }
            }
            registerLate()
        }
        let threads = notes.threads.withLock { $0 }
        #expect(threads["listener"]?.count == 1)
        #expect(threads["listener"] == threads["event loop"])
        #expect(threads["late"]?.count == 2)
        #expect(threads["late"]?.first == threads["late"]?.last)
    }
}
