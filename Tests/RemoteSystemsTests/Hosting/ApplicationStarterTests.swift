// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import RemoteSystemsIdentity
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

    private static func subject(_ system: UInt8) throws -> Authorisation.Subject {
        let identity = PeerIdentity(
            .sameAccount(try #require(AuthorisationTests.account)),
            systemID: try #require(SystemID(bytes: [UInt8](repeating: system, count: 32))),
            expiry: .distantFuture
        )
        return Authorisation.Subject(
            identity,
            application: "test.caller",
            own: try #require(AuthorisationTests.own)
        )
    }

    @Test func `a system that has its share of starts and callers leaves places for others, and the log says so`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (sleepers, events) = (Sleepers(), Log.Events())
            let starter = ApplicationStarter(
                installed: sleepers,
                running: RunningApplications(stateDirectory: "/nonexistent/\(UUID())"),
                timeout: .seconds(7),
                environment: stage.configuration.environment,
                logger: Self.silent,
                incidents: IncidentLog(Logger(label: "test") { _ in Log(events: events) }, period: .hours(1))
            )
            let callers = Callers()
            let hostile = try Self.subject(11)
            for number in 0..<10 { try await callers.call(starter, "test.\(number)", for: hostile, on: stage) }
            #expect(sleepers.starts == ApplicationStarter.maxStartsOfSystem)
            for _ in 0..<300 { try await callers.call(starter, "test.0", for: hostile, on: stage) }
            let failures = 310 - ApplicationStarter.maxWaitingOfSystem
            #expect(callers.failures == failures)
            let refused = "The start of an application was refused because there are too many: test."
            #expect(events.texts.withLock { $0 } == [String](repeating: refused + "0", count: 3))
            // Another system starts another application, and waits for one that the hostile system has started.
            for application in ["test.honest", "test.0"] {
                try await callers.call(starter, application, for: try Self.subject(12), on: stage)
            }
            // The share does not apply to the host's own system.
            for _ in 0..<100 { try await callers.call(starter, "test.own", on: stage) }
            #expect(callers.failures == failures)
            #expect(sleepers.starts == ApplicationStarter.maxStartsOfSystem + 2)
            // The system's further applications are started when its first starts have ended.
            for ended in [406, 410, 412] {
                try await stage.advance(by: .seconds(7) + .milliseconds(1))
                try await stage.eventually("the next starts") { callers.failures == ended }
            }
            #expect(sleepers.starts == 12)
            try await callers.call(starter, "test.last", for: hostile, on: stage)
            #expect(callers.failures == 412)
            try await stage.advance(by: .seconds(7))
        }
    }

    /// Callers that wait for an application, and the number of failures reported to them.
    private final class Callers: Sendable {
        private let failed = Mutex(0)

        var failures: Int { self.failed.withLock { $0 } }

        func call(
            _ starter: ApplicationStarter,
            _ application: String = "test.sleeper",
            for subject: Authorisation.Subject? = nil,
            on stage: DiscoveryStage
        ) async throws {
            Task(executorPreference: stage.taskExecutor) {
                guard case .failed = await starter.bringUp(application, for: subject) else { return }
                self.failed.withLock { $0 += 1 }
            }
            try await stage.settle()
        }
    }
}
