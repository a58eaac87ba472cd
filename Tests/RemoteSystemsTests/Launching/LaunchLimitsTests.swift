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

    /// The number of launches that wait if all arrive at the same instant: the fifth would wait for 5 s and a moment.
    private static let waiting = 4

    /// Uses up what a system may launch at once.
    private static func useBurst(over connection: AppServiceConnection) async throws {
        for _ in 0..<LaunchLimits.burst {
            let isOpened = try await Self.launch("https://example.com/", over: connection)
            #expect(isOpened)
        }
    }

    @Test func `a system that launches without a pause opens 20 URIs and one a second, and another one opens its own`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let desk = Desk()
            let system = try await desk.appear(on: stage)
            let hostile = try await Self.connect(11, system, stage)
            try await Self.useBurst(over: hostile)
            // Another connection is no way round.
            let further = try await Self.connect(11, system, stage)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<(2 * Self.waiting) {
                    group.addTask { try await Self.launch("https://example.com/", over: further) }
                }
                // Those that may not wait.
                for _ in 0..<Self.waiting {
                    let isOpened = try await group.next()
                    #expect(isOpened == false)
                }
                #expect(desk.opened == LaunchLimits.burst)
                let honest = try await Self.connect(12, system, stage)
                for _ in 0..<10 {
                    let isOpened = try await Self.launch("https://example.com/", over: honest)
                    #expect(isOpened)
                }
                for number in 1...Self.waiting {
                    try await stage.advance(by: .milliseconds(1_010))
                    let isOpened = try await group.next()
                    #expect(isOpened == true)
                    #expect(desk.opened == LaunchLimits.burst + 10 + number)
                }
            }
        }
    }

    @Test func `a user who opens 30 URIs one after the other loses none of them`() async throws {
        try await DiscoveryStage.with { stage in
            let desk = Desk()
            let system = try await desk.appear(on: stage)
            let connection = try await Self.connect(11, system, stage)
            for number in 1...30 {
                async let isOpened = Self.launch("https://example.com/", over: connection)
                if number > LaunchLimits.burst { try await stage.advance(by: .milliseconds(1_010)) }
                let wasOpened = try await isOpened
                #expect(wasOpened)
            }
            #expect(desk.opened == 30)
        }
    }

    @Test func `a launch that is cancelled while it waits opens nothing`() async throws {
        try await DiscoveryStage.with { stage in
            let desk = Desk()
            let system = try await desk.appear(on: stage)
            let connection = try await Self.connect(11, system, stage)
            try await Self.useBurst(over: connection)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0...Self.waiting {
                    group.addTask { try await Self.launch("https://example.com/", over: connection) }
                }
                // One is refused, so the others wait.
                let isOpened = try await group.next()
                #expect(isOpened == false)
                group.cancelAll()
                while !group.isEmpty {
                    let ended = try? await group.next()
                    #expect(ended != true)
                }
            }
            // The host has read the cancellations before this request.
            _ = try await connection.send(["Type": "none"])
            try await stage.advance(by: .seconds(10))
            #expect(desk.opened == LaunchLimits.burst)
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

    private static let deadline = now + .seconds(60)

    /// Begins launches, and returns how many of them may start at once.
    private static func begun(_ number: Int, of caller: AppServiceCaller, _ limits: inout LaunchLimits) -> Int {
        var count = 0
        for _ in 0..<number {
            let start = try? limits.begin(caller, deadline: Self.deadline, now: Self.now)
            if start == Self.now { count += 1 }
        }
        return count
    }

    /// Begins a launch and ends it, and returns after which time it may start.
    private static func wait(
        of caller: AppServiceCaller,
        until deadline: ContinuousClock.Instant = Self.deadline,
        _ limits: inout LaunchLimits
    ) throws(LaunchLimits.Refusal) -> Duration {
        let start = try limits.begin(caller, deadline: deadline, now: Self.now)
        limits.end(caller)
        return start - Self.now
    }

    @Test func `launches that come too early get their turns in order, one a second, and none waits longer than 5 s`()
        throws
    {
        var limits = LaunchLimits()
        let caller = AppServiceCaller.staged()
        for _ in 0..<LaunchLimits.burst {
            let wait = try Self.wait(of: caller, &limits)
            #expect(wait == .zero)
        }
        for second in 1...Self.waiting {
            let wait = try Self.wait(of: caller, &limits)
            #expect(wait >= .seconds(second) && wait <= .milliseconds(1_000 * second + 1))
        }
        // As often as it likes: those that are refused take no turn.
        for _ in 0..<100 {
            do throws(LaunchLimits.Refusal) {
                _ = try Self.wait(of: caller, &limits)
                Issue.record("it waits")
            } catch {
                guard case .tooOften(let pause) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(pause > .seconds(5) && pause < .seconds(6))
                let text = error.text(for: caller)
                #expect(text.contains("20 URIs for your system at once, then one a second. Try again in 6 s."))
            }
        }
        let start = try limits.begin(caller, deadline: Self.deadline, now: Self.now + .seconds(6))
        #expect(start == Self.now + .seconds(6))
    }

    @Test func `a launch whose turn comes after its deadline is refused at once`() throws {
        var limits = LaunchLimits()
        let caller = AppServiceCaller.staged()
        for _ in 0..<LaunchLimits.burst { _ = try Self.wait(of: caller, &limits) }
        #expect(throws: LaunchLimits.Refusal.self) {
            try Self.wait(of: caller, until: Self.now + .milliseconds(900), &limits)
        }
        let wait = try Self.wait(of: caller, until: Self.now + .milliseconds(1_100), &limits)
        #expect(wait > .zero)
    }

    @Test func `a launch beyond a number at the same time is refused with the reason whose number it is`() throws {
        var limits = LaunchLimits()
        let caller = AppServiceCaller.staged()
        for _ in 0..<LaunchLimits.maxInFlightOfSystem {
            _ = try limits.begin(caller, deadline: Self.deadline, now: Self.now)
        }
        #expect(throws: LaunchLimits.Refusal.fullForCaller) {
            try limits.begin(caller, deadline: Self.deadline, now: Self.now)
        }
        let own = AppServiceCaller.staged(isLocal: true)
        for _ in LaunchLimits.maxInFlightOfSystem..<LaunchLimits.maxInFlight {
            _ = try limits.begin(own, deadline: Self.deadline, now: Self.now)
        }
        for caller in [own, .staged()] {
            #expect(throws: LaunchLimits.Refusal.full) {
                try limits.begin(caller, deadline: Self.deadline, now: Self.now)
            }
        }
        #expect(LaunchLimits.Refusal.full.text(for: caller) != LaunchLimits.Refusal.fullForCaller.text(for: caller))
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

    @Test func `programs of the system itself have neither a rate nor a share`() throws {
        var limits = LaunchLimits()
        let caller = AppServiceCaller.staged(isLocal: true)
        for _ in 0..<1000 {
            let wait = try Self.wait(of: caller, &limits)
            #expect(wait == .zero)
        }
        let count = Self.begun(100, of: caller, &limits)
        #expect(count == LaunchLimits.maxInFlight)
    }

    @Test func `the systems of a linked account have one share, and half the rate`() throws {
        let account = try #require(AuthorisationTests.account)
        var limits = LaunchLimits()
        var count = 0
        var waits: [Int64] = []
        for _ in 0..<100 {
            let caller = AppServiceCaller(
                systemID: AppServiceCaller.staged().systemID,
                standing: .linked(account, Grants(uriSchemes: ["https"])),
                isLocal: false,
                claimedApplicationID: "test.caller"
            )
            guard let wait = try? Self.wait(of: caller, &limits) else { continue }
            if wait == .zero { count += 1 } else { waits.append(wait.components.seconds) }
        }
        #expect(count == LaunchLimits.burst / 2)
        #expect(waits == [1, 3])
    }
}
