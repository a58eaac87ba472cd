// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// One system that launches as many URIs as it can, and others that launch some.
@Suite(.timeLimit(.minutes(1))) struct LaunchLimitsTests {
    /// Opens URIs of the scheme `https` at once. Those of the scheme `odd` wait for a user who never answers.
    private final class Desk: Sendable {
        private let state = Mutex((opened: 0, waiting: 0))

        var opened: Int { self.state.withLock { $0.opened } }
        var waiting: Int { self.state.withLock { $0.waiting } }

        func appear(on stage: DiscoveryStage) async throws -> StagedSystem {
            let provider = LaunchURIHandler(schemes: ["https", "odd"]) { request in
                guard request.uri.scheme == "odd" else {
                    self.state.withLock { $0.opened += 1 }
                    return .opened
                }
                self.state.withLock { $0.waiting += 1 }
                // The launcher cancels it.
                try await Task.sleep(for: .seconds(3600))
                return .opened
            }
            let application = StagedApplication("test.desk", launchURIProvider: provider)
            let system = try stage.system("Desk", applications: [application])
            try await stage.appears(system)
            return system
        }
    }

    private static func connect(_ number: Int, _ system: StagedSystem, _ stage: DiscoveryStage) async throws
        -> AppServiceConnection
    {
        try await stage.connect(systemNumber: number, to: system, service: Launch.service)
    }

    /// Launches a URI, and returns whether it was opened. If not, the launch can be retried.
    private static func launch(_ uri: String, over connection: AppServiceConnection) async throws -> Bool {
        let message = try await connection.send(["Type": "launch", "Uri": .string(uri)]).message
        if message["Status"] == 1 { return true }
        #expect(message["Status"] == 2 && message["Retry"] == true)
        return false
    }

    @Test func `a system that launches without a pause opens 20 URIs and one a second, and another one opens its own`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let desk = Desk()
            let system = try await desk.appear(on: stage)
            let hostile = try await Self.connect(11, system, stage)
            for _ in 0..<200 { _ = try await Self.launch("https://example.com/", over: hostile) }
            #expect(desk.opened == LaunchLimits.burst)
            // Another connection is no way round.
            let further = try await Self.connect(11, system, stage)
            let again = try await Self.launch("https://example.com/", over: further)
            #expect(!again)
            let honest = try await Self.connect(12, system, stage)
            for _ in 0..<10 {
                let isOpened = try await Self.launch("https://example.com/", over: honest)
                #expect(isOpened)
            }
            try await stage.advance(by: .seconds(3))
            let before = desk.opened
            for _ in 0..<10 { _ = try await Self.launch("https://example.com/", over: hostile) }
            #expect(desk.opened - before == 3)
        }
    }

    @Test func `launches of one system that wait for the user leave places for those of another one`() async throws {
        try await DiscoveryStage.with { stage in
            let desk = Desk()
            let system = try await desk.appear(on: stage)
            var connections: [AppServiceConnection] = []
            for _ in 0..<4 { connections.append(try await Self.connect(11, system, stage)) }
            let honest = try await Self.connect(12, system, stage)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for connection in connections {
                    for number in 0..<16 {
                        group.addTask { _ = try? await Self.launch("odd:\(number)", over: connection) }
                    }
                }
                try await stage.eventually("the hostile system has its places") {
                    desk.waiting == LaunchLimits.maxInFlightOfSystem
                }
                for _ in 0..<10 {
                    let isOpened = try await Self.launch("https://example.com/", over: honest)
                    #expect(isOpened)
                }
                #expect(desk.waiting == LaunchLimits.maxInFlightOfSystem)
                group.cancelAll()
            }
        }
    }

    // MARK: Shares

    private static let now = ContinuousClock.now

    /// Begins launches, and returns how many of them are within the limits.
    private static func begun(_ number: Int, of caller: AppServiceCaller, _ limits: inout LaunchLimits) -> Int {
        var count = 0
        for _ in 0..<number where limits.begin(caller, now: Self.now) { count += 1 }
        return count
    }

    @Test func `while two systems have all their places, a third one opens ten URIs at once`() {
        var limits = LaunchLimits()
        for _ in 0..<2 {
            let count = Self.begun(100, of: .staged(), &limits)
            #expect(count == LaunchLimits.maxInFlightOfSystem)
        }
        let honest = Self.begun(10, of: .staged(), &limits)
        #expect(honest == 10)
    }

    @Test func `programs of the system itself have neither a rate nor a share`() {
        var limits = LaunchLimits()
        let caller = AppServiceCaller.staged(isLocal: true)
        for _ in 0..<1000 {
            let isWithin = limits.begin(caller, now: Self.now)
            #expect(isWithin)
            limits.end(caller)
        }
        let count = Self.begun(100, of: caller, &limits)
        #expect(count == LaunchLimits.maxInFlight)
    }

    @Test func `the systems of a linked account have one share, and half the rate`() throws {
        let account = try #require(AuthorisationTests.account)
        var limits = LaunchLimits()
        var count = 0
        for _ in 0..<100 {
            let caller = AppServiceCaller(
                systemID: AppServiceCaller.staged().systemID,
                standing: .linked(account, Grants(uriSchemes: ["https"])),
                isLocal: false,
                claimedApplicationID: "test.caller"
            )
            guard limits.begin(caller, now: Self.now) else { continue }
            count += 1
            limits.end(caller)
        }
        #expect(count == LaunchLimits.burst / 2)
    }
}
