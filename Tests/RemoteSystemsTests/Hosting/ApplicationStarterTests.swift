// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import RemoteSystems

/// How long an application may take to start, by a clock that is moved by hand.
@Suite struct ApplicationStarterTests {
    /// Takes every start for done, and nothing ever comes up.
    private final class Sleepers: InstalledApplications {
        private let started = Mutex(0)

        var starts: Int { self.started.withLock { $0 } }

        func applications() -> [InstalledApplication] { [] }
        func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
        func start(_ id: String) async throws { self.started.withLock { $0 += 1 } }
    }

    @Test func `an application that does not come up has failed at the deadline, and is left alone for two seconds`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let sleepers = Sleepers()
            let starter = ApplicationStarter(
                installed: sleepers,
                running: RunningApplications(stateDirectory: "/nonexistent/\(UUID())"),
                timeout: .seconds(7),
                environment: stage.configuration.environment,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let callers = Callers()
            try await callers.call(starter, on: stage)
            try await stage.advance(by: .milliseconds(6_999))
            #expect(callers.failures == 0)
            // Its note is looked for every 20 ms.
            try await stage.advance(by: .milliseconds(21))
            #expect(callers.failures == 1)
            try await stage.advance(by: .milliseconds(1_900))
            try await callers.call(starter, on: stage)
            #expect(callers.failures == 2)
            #expect(sleepers.starts == 1)
            try await stage.advance(by: .milliseconds(200))
            try await callers.call(starter, on: stage)
            #expect(callers.failures == 2)
            #expect(sleepers.starts == 2)
        }
    }

    /// Those who wait for it, and how many of them were told that it failed.
    private final class Callers: Sendable {
        private let failed = Mutex(0)

        var failures: Int { self.failed.withLock { $0 } }

        func call(_ starter: ApplicationStarter, on stage: DiscoveryStage) async throws {
            Task(executorPreference: stage.taskExecutor) {
                guard case .failed = await starter.bringUp("test.sleeper") else { return }
                self.failed.withLock { $0 += 1 }
            }
            try await stage.settle()
        }
    }
}
