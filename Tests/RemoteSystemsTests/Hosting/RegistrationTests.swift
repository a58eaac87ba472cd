// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsDiscovery
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import RemoteSystems

@Suite struct RegistrationTests {
    /// A source whose advertisements take effect when the test reports it.
    private final class HesitantDiscovery: DiscoverySource {
        private let reports = Mutex<[@Sendable (Bool) -> Void]>([])
        private let running = Mutex(0)

        let name = "hesitant"

        func browse() -> DiscoveryEvents { DiscoveryEvents.makeStream().0 }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
            for await _ in AsyncStream<Never>.makeStream().stream {}
        }

        func advertise(
            _ advertisement: DiscoveryAdvertisement,
            reporting report: @escaping @Sendable (Bool) -> Void
        ) async throws {
            self.reports.withLock { $0.append(report) }
            self.running.withLock { $0 += 1 }
            defer { self.running.withLock { $0 -= 1 } }
            try await self.advertise(advertisement)
        }

        /// Reports a state for every advertisement that was ever made.
        func report(_ isInEffect: Bool) {
            for report in self.reports.withLock({ $0 }) { report(isInEffect) }
        }

        var advertisements: Int { self.reports.withLock { $0.count } }
        var isAdvertising: Bool { self.running.withLock { $0 > 0 } }
    }

    /// Runs a host and records the states that its listener gets.
    private static func whileRunning(
        discovery: [any DiscoverySource]? = nil,
        options: RemoteSystemHost.Options = RemoteSystemHost.Options(),
        _ body: (RemoteSystemHost, ReportedEvent) async throws -> Void
    ) async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var configuration = loopbackSystem.configuration("test.host")
            if let discovery { configuration.discovery.sources = discovery }
            let host = RemoteSystemHost(configuration, services: [], options: options)
            #expect(host.registration == .unregistered)
            let reported = ReportedEvent()
            host.onRegistrationChanged { state in reported.states.withLock { $0.append(state) } }
            try await host.whileRunning(expectsSuccess: true) { try await body(host, reported) }
            #expect(host.registration == .unregistered)
            try await until { reported.last == .unregistered }
        }
    }

    private final class ReportedEvent: Sendable {
        let states = Mutex<[RemoteSystemRegistrationState]>([])
        var last: RemoteSystemRegistrationState? { self.states.withLock { $0.last } }
    }

    @Test func `a host is registered while it runs and is advertised (X-34, X-38)`() async throws {
        try await Self.whileRunning { host, reported in
            try await until { host.registration == .registered }
            try await until { reported.last == .registered }
        }
    }

    @Test func `a host that is not advertised is not registered, though it runs (X-38)`() async throws {
        var options = RemoteSystemHost.Options()
        options.isDiscoverable = false
        try await Self.whileRunning(options: options) { host, reported in
            #expect(host.registration == .unregistered)
            host.update(isDiscoverable: true)
            try await until { reported.last == .registered }
            host.update(isDiscoverable: false)
            try await until { reported.last == .unregistered }
            #expect(host.registration == .unregistered)
        }
    }

    @Test func `a host is registered exactly while its advertisement is in effect (X-38)`()
        async throws
    {
        let discovery = HesitantDiscovery()
        try await Self.whileRunning(discovery: [discovery]) { host, reported in
            try await until { discovery.advertisements == 1 }
            #expect(host.registration == .unregistered)
            for state in [true, false, true] {
                discovery.report(state)
                let expected: RemoteSystemRegistrationState = state ? .registered : .unregistered
                #expect(host.registration == expected)
                try await until { reported.last == expected }
            }
            // A new port causes a new advertisement, and late reports about the old one are ignored.
            try await host.update(port: 0)
            host.update(isDiscoverable: false)
            try await until { host.registration == .unregistered && !discovery.isAdvertising }
            discovery.report(true)
            #expect(host.registration == .unregistered)
        }
    }

    @Test func `one source in effect is enough, and a static list never is (X-38)`() async throws {
        let discovery = HesitantDiscovery()
        let configuration = RemoteSystemsConfiguration(applicationID: "test")
        let list = try StaticPeers([], logger: configuration.logger)
        // The static list reports it itself: other systems cannot find the host through it.
        let reported = Mutex<[Bool]>([])
        let advertising = Task {
            try await list.advertise(DiscoveryAdvertisement(instance: "test", port: 4000, properties: [:])) {
                isInEffect in
                reported.withLock { $0.append(isInEffect) }
            }
        }
        try await until { reported.withLock { !$0.isEmpty } }
        advertising.cancel()
        _ = await advertising.result
        #expect(reported.withLock { $0 } == [false])
        try await Self.whileRunning(discovery: [list]) { host, _ in
            #expect(host.registration == .unregistered)
        }
        try await Self.whileRunning(discovery: [list, discovery]) { host, _ in
            try await until { discovery.advertisements == 1 }
            #expect(host.registration == .unregistered)
            discovery.report(true)
            #expect(host.registration == .registered)
        }
    }

    @Test func `the sequence of states begins with the current one and ends with the host (X-38)`() async throws {
        let discovery = HesitantDiscovery()
        let states = Mutex<(any AsyncSequence<RemoteSystemRegistrationState, Never> & Sendable)?>(nil)
        try await Self.whileRunning(discovery: [discovery]) { host, _ in
            try await until { discovery.advertisements == 1 }
            var iterator = host.registrationStates.makeAsyncIterator()
            #expect(await iterator.next(isolation: nil) == .unregistered)
            discovery.report(true)
            #expect(await iterator.next(isolation: nil) == .registered)
            // A slow reader gets the newest state only.
            discovery.report(false)
            discovery.report(true)
            #expect(await iterator.next(isolation: nil) == .registered)
            states.withLock { $0 = host.registrationStates }
        }
        var seen: [RemoteSystemRegistrationState] = []
        if let rest = states.withLock({ $0 }) { for await state in rest { seen.append(state) } }
        #expect(seen == [.unregistered])
    }

    @Test func `an expiring certificate is a state of its own (X-38)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let identity = try RemoteSystemsAccount(loopbackSystem.configuration("test.host")).identity()
            let clock = Clock(identity.renewalDate - 30)
            let registration = HostRegistration(identity: { identity }, now: { clock.now })
            var states = registration.states.makeAsyncIterator()
            #expect(await states.next() == .unregistered)
            registration.listens(true)
            registration.advertisement(registration.beginAnnouncement(), isInEffect: true)
            #expect(await states.next() == .registered)
            // The latest time of the next check.
            #expect(registration.timeToRefresh <= .seconds(30) && registration.timeToRefresh > .seconds(29))
            clock.now += 30
            registration.refresh()
            #expect(await states.next() == .expiring)
            #expect(registration.timeToRefresh == .seconds(60))
            clock.now = identity.certificateValidity.upperBound
            registration.refresh()
            #expect(await states.next() == .expired)
            registration.end()
            #expect(await states.next() == .unregistered)
            #expect(await states.next() == nil)
        }
    }

    private final class Clock: Sendable {
        private let time: Mutex<Date>
        init(_ date: Date) { self.time = Mutex(date) }
        var now: Date {
            get { self.time.withLock { $0 } }
            set { self.time.withLock { $0 = newValue } }
        }
    }

    @Test func `the state follows the lifetime of the certificate (X-37, X-38)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let identity = try RemoteSystemsAccount(loopbackSystem.configuration("test.host")).identity()
            let end = identity.certificateValidity.upperBound
            func state(at date: Date) -> RemoteSystemRegistrationState {
                RemoteSystemRegistrationState(of: identity, at: date)
            }
            #expect(state(at: identity.renewalDate - 1) == .registered)
            #expect(state(at: identity.renewalDate) == .expiring)
            #expect(state(at: end - 1) == .expiring)
            #expect(state(at: end) == .expired)
        }
    }

    @Test func `the numbers are Project Rome's (X-29, X-38)`() {
        let states: [RemoteSystemRegistrationState] = [.unregistered, .registered, .expiring, .expired]
        #expect(states.map(\.rawValue) == [0, 1, 2, 3])
        #expect([RemoteSystemLocalVisibilityKind.showAll, .hideLocalApp].map(\.rawValue) == [0, 1])
    }

    @Test func `systems of one account can be reported by it (X-29)`() async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker")
            try await stage.appears(speaker)
            let all = stage.watcher()
            try await all.start()
            try await stage.settle()
            let account = try #require(all.systems.first?.accountID)
            let ours = stage.watcher(filters: [.account(account)])
            try await ours.start()
            try await stage.settle()
            #expect(ours.systems.map(\.displayName) == ["Speaker"])
            let other = try #require(AccountID(bytes: [UInt8](repeating: 7, count: 32)))
            let others = stage.watcher(filters: [.account(other)])
            try await others.start()
            try await stage.settle()
            #expect(others.systems.isEmpty)
            for watcher in [all, ours, others] { await watcher.stop() }
        }
    }
}
