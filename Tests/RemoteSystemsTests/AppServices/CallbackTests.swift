// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import RemoteSystems
import Synchronization
import Testing

/// On which threads a service and its caller are called back.
@Suite struct CallbackTests {
    /// Notes the thread of every callback.
    private final class Provider: AppServiceProvider {
        let threads = Mutex<[String: [pid_t]]>([:])

        func note(_ callback: String) {
            let thread = gettid()
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
    func `a service is called on its connection's event loop, its handler elsewhere if it says so (R-43)`(
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
        // The main thread's id is the process's.
        #expect(!threads.values.joined().contains(getpid()))
    }

    @Test func `a caller's listener is called off the main thread, and gets to the main actor by a task (R-43)`()
        async throws
    {
        let threads = Mutex<[pid_t]>([])
        let shown = Mutex<pid_t?>(nil)
        try await Loopback.talk(Loopback.echo) { connection in
            connection.onClosed { _ in
                threads.withLock { $0.append(gettid()) }
                Task { @MainActor in shown.withLock { $0 = gettid() } }
            }
        }
        try await until { shown.withLock { $0 } != nil }
        #expect(threads.withLock { $0.count } == 1)
        #expect(!threads.withLock { $0.contains(getpid()) })
        #expect(shown.withLock { $0 } == getpid())
    }
}
