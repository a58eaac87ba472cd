// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RemoteSystemsTesting
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Which running applications a machine's host refers callers to.
@Suite struct ApplicationReferralTests {
    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private struct Nothing: InstalledApplications {
        func applications() -> [InstalledApplication] { [] }
        func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
        func start(_ id: String) async throws {}
    }

    private func withReferral(isOnLoopback: Bool, _ body: (ApplicationReferral) throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "referral-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let registry = ProgramRegistry()
        let running = RunningApplications(stateDirectory: directory, registered: registry)
        try await DiscoveryStage.with { stage in
            let starter = ApplicationStarter(
                installed: Nothing(),
                running: running,
                timeout: .seconds(1),
                environment: stage.configuration.environment,
                logger: Self.silent,
                incidents: IncidentLog(Self.silent)
            )
            registry.expect([
                RunningApplication(application: "test.near", port: 1, pid: 7, isOnLoopback: true),
                RunningApplication(application: "test.far", port: 2, pid: 7),
                RunningApplication(application: "test.both", port: 3, pid: 7, isOnLoopback: true),
                RunningApplication(application: "test.both", port: 4, pid: 8),
            ])
            try body(ApplicationReferral(running: running, starter: starter, isOnLoopback: isOnLoopback))
        }
    }

    @Test func `other machines learn only of applications they can reach, and are referred to those only (R-19, X-20)`()
        async throws
    {
        try await self.withReferral(isOnLoopback: false) { referral in
            #expect(referral.running(beside: "test.machine", isLocal: false) == ["test.both", "test.far"])
            let refused = referral.refer(to: "test.near", isLocal: false)
            #expect(refused.status == .appUnavailable)
            #expect(refused.failure.canRetry)
            #expect(refused.failure.port == nil)
            #expect(refused.failure.text.contains("for its own machine only"))
            #expect(referral.refer(to: "test.far", isLocal: false).failure.port == 2)
            #expect(referral.refer(to: "test.both", isLocal: false).failure.port == 4)
            #expect(referral.refer(to: "test.none", isLocal: false).status == .appNotInstalled)
        }
    }

    @Test(arguments: [(true, false), (true, true), (false, true)])
    func `callers on the machine itself are referred to all applications`(isOnLoopback: Bool, isLocal: Bool)
        async throws
    {
        try await self.withReferral(isOnLoopback: isOnLoopback) { referral in
            let all = ["test.both", "test.far", "test.near"]
            #expect(referral.running(beside: "test.machine", isLocal: isLocal) == all)
            #expect(referral.refer(to: "test.near", isLocal: isLocal).failure.port == 1)
        }
    }
}
