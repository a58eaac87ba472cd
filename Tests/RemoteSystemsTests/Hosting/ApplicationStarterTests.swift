// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import RemoteSystemsTesting
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystems

/// The start timeout of applications, by a clock that the test advances.
@Suite struct ApplicationStarterTests {
    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Reports every start as done, but no application ever registers.
    private final class Sleepers: InstalledApplications {
        private let started = Mutex(0)

        var starts: Int { self.started.withLock { $0 } }

        func applications() -> [InstalledApplication] { [] }
        func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
        func start(_ id: String) async throws { self.started.withLock { $0 += 1 } }
    }

    @Test func `an application that does not register fails at the deadline, and is not retried for two seconds`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let sleepers = Sleepers()
            let starter = ApplicationStarter(
                installed: sleepers,
                running: RunningApplications(stateDirectory: "/nonexistent/\(UUID())"),
                timeout: .seconds(7),
                environment: stage.configuration.environment,
                logger: Self.silent,
                incidents: IncidentLog(Self.silent)
            )
            let callers = Callers()
            try await callers.call(starter, on: stage)
            try await stage.advance(by: .milliseconds(6_999))
            #expect(callers.failures == 0)
            try await stage.advance(by: .milliseconds(1))
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

    /// Fails every start.
    private struct Broken: InstalledApplications {
        func applications() -> [InstalledApplication] { [] }
        func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
        func start(_ id: String) async throws { throw RemoteSystemError(.refused, "It is broken.", side: .local) }
    }

    /// The texts of the events that are logged.
    private struct Log: LogHandler {
        final class Events: Sendable {
            let texts = Mutex<[String]>([])
        }

        let events: Events
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let application = event.metadata?["application"].map { "\($0)" } ?? "none"
            self.events.texts.withLock { $0.append("\(event.message): \(application)") }
        }
    }

    @Test func `callers that request a broken application again and again do not fill the log`() async throws {
        try await DiscoveryStage.with { stage in
            let events = Log.Events()
            let starter = ApplicationStarter(
                installed: Broken(),
                running: RunningApplications(stateDirectory: "/nonexistent/\(UUID())"),
                timeout: .seconds(7),
                environment: stage.configuration.environment,
                logger: Self.silent,
                incidents: IncidentLog(Logger(label: "test") { _ in Log(events: events) }, period: .hours(1))
            )
            let callers = Callers()
            for _ in 0..<20 {
                try await callers.call(starter, on: stage)
                try await stage.advance(by: ApplicationStarter.pause + .milliseconds(1))
            }
            #expect(callers.failures == 20)
            #expect(
                events.texts.withLock { $0 }
                    == Array(repeating: "An application was not started: test.sleeper", count: 3)
            )
        }
    }

    /// Callers that wait for the application, and the number of failures reported to them.
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
