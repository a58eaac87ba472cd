// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What the programs of one process with the same account share.
@Suite(.timeLimit(.minutes(2))) struct SharedBrowserTests {
    @Test func `a host and three watchers hold one browse, and one presence connection to each peer`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([AppService.ping], application: "test.one") { one in
                try await loopbackSystem.withHost([AppService.ping], application: "test.two") { two in
                    let filters: [[RemoteSystemFilter]] = [[], [.service(AppService.ping.name)], [.kind(.tablet)]]
                    let watchers = filters.map { loopbackSystem.watcher(filters: $0) }
                    for watcher in watchers { try await watcher.start() }
                    try await until {
                        watchers.map { $0.systems.first?.applications.map(\.id) } == [
                            ["test.one", "test.two"], ["test.one", "test.two"], nil,
                        ]
                    }
                    try await until { await watchers[2].unlisted.excluded.first?.applications.count == 2 }
                    #expect(loopbackSystem.segment.browses == 1)
                    #expect(one.openConnections == 1)
                    #expect(two.openConnections == 1)
                    #expect(watchers.map(\.statistics.connectionsOpened) == [2, 2, 2])
                    await watchers[0].stop()
                    #expect(watchers[1].systems.count == 1)
                    #expect(loopbackSystem.segment.browses == 1)
                    await watchers[1].stop()
                    await watchers[2].stop()
                    try await until { loopbackSystem.segment.browses == 0 }
                    try await until { one.openConnections == 0 && two.openConnections == 0 }
                    // A restarted watcher reports every system again.
                    try await watchers[0].start()
                    try await until { watchers[0].systems.first?.applications.count == 2 }
                    await watchers[0].stop()
                }
            }
        }
    }

    @Test func `a problem that a restarted browse does not report again is over`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            try await watcher.start()
            try await until { loopbackSystem.segment.isBrowsed }
            loopbackSystem.segment.emit(
                .trouble(DiscoveryProblem(code: .cacheLimit, message: "m.", advice: "a.", recoversByItself: true))
            )
            try await until { await watcher.unlisted.errors.map(\.code) == [.discoveryHampered] }
            // A watcher that wants other systems makes the sources browse again.
            let other = loopbackSystem.watcher(filters: [.authorizationKind(.anonymous)])
            try await other.start()
            try await until { await watcher.unlisted.errors.isEmpty }
            await other.stop()
            await watcher.stop()
        }
    }

    private struct WeakAccount: Sendable {
        weak var account: AccountContext?
    }

    /// Runs a host and a watcher, and returns their account context after both have stopped and were released.
    private func accountOfStoppedPrograms(of system: LoopbackSystem) async throws -> WeakAccount {
        var account = WeakAccount()
        try await system.withHost([AppService.ping]) { _ in
            let watcher = system.watcher()
            try await watcher.start()
            try await until { watcher.systems.count == 1 }
            account.account = ApplicationContext(system.configuration("test.other")).account
            // The host and the watcher keep it: no other object does.
            #expect(account.account != nil)
            await watcher.stop()
        }
        return account
    }

    @Test func `nothing of the account context is left when its host and its watcher have stopped`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let left = try await self.accountOfStoppedPrograms(of: loopbackSystem)
            // A task that still runs for the account, such as the check for changed files, would keep the object.
            try await until { left.account == nil }
        }
    }

    @Test func `a watcher that starts later reports at once what the others list`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([AppService.ping]) { host in
                let first = loopbackSystem.watcher()
                try await first.start()
                try await until { first.systems.count == 1 }
                let opened = first.statistics.connectionsOpened
                let second = loopbackSystem.watcher()
                let events = second.events
                try await second.start()
                var reported: [String] = []
                for await event in events {
                    switch event {
                    case .added(let system): reported.append(system.applications.map(\.id).joined(separator: " "))
                    case .enumerationCompleted: reported.append("complete")
                    default: break
                    }
                    if reported.count == 2 { break }
                }
                #expect(reported == ["test.host", "complete"])
                #expect(second.statistics.connectionsOpened == 0)
                #expect(first.statistics.connectionsOpened == opened)
                await second.stop()
                await first.stop()
            }
        }
    }

    @Test func `programs share an account context only with the same state directory, network and sources`() throws {
        let segment = ScriptedDiscovery()
        let configuration = RemoteSystemsConfiguration(
            applicationID: "one",
            network: .loopback,
            discovery: [segment],
            stateDirectory: "/nowhere/\(UUID())"
        )
        let account = ApplicationContext(configuration).account
        var other = configuration
        other.applicationID = "two"
        other.limits.messageBytes = 4096
        #expect(ApplicationContext(other).account === account)
        other = configuration
        other.stateDirectory = "/nowhere/\(UUID())"
        #expect(ApplicationContext(other).account !== account)
        other = configuration
        other.network = .all
        #expect(ApplicationContext(other).account !== account)
        other = configuration
        other.discovery.sources = [ScriptedDiscovery()]
        #expect(ApplicationContext(other).account !== account)
        other = configuration
        other.environment.facts = MachineFacts(displayName: "Here", kind: .desktop)
        #expect(ApplicationContext(other).account !== account)
    }

    @Test func `sources with equal settings are treated as one`() throws {
        func avahi(_ interfaces: AvahiDiscovery.Interfaces) -> DiscoverySourceIdentity? {
            AvahiDiscovery(
                mode: .embedded,
                interfaces: interfaces,
                logger: RemoteSystemsConfiguration(applicationID: "a").logger
            ).identity
        }
        #expect(avahi(.only(["lo", "eth0"])) == avahi(.only(["eth0", "lo"])))
        #expect(avahi(.only(["lo"])) != avahi(.all))
        let logger = RemoteSystemsConfiguration(applicationID: "a").logger
        let peers = try [StaticPeer("10.0.0.5:4000"), StaticPeer("10.0.0.6:4000")]
        let identity = try StaticPeers(peers, logger: logger).identity
        #expect(identity != nil)
        #expect(try StaticPeers(peers.reversed(), logger: logger).identity == identity)
        #expect(try StaticPeers(peers, interval: .seconds(61), logger: logger).identity != identity)
        #expect(try StaticPeers([peers[0]], logger: logger).identity != identity)
    }

    @Test func `the shortest silence timeout, the longest connect timeout and the largest message limit apply`() throws
    {
        func run(_ silence: Duration, connect: Duration, message: Int, _ filters: [RemoteSystemFilter] = []) throws
            -> WatcherRun
        {
            var configuration = RemoteSystemsConfiguration(
                applicationID: "test.\(silence)",
                network: .loopback,
                discovery: [],
                stateDirectory: FileManager.default.temporaryDirectory.appending(path: "needs-\(UUID())").path
            )
            configuration.transport.connectTimeout = connect
            configuration.limits.messageBytes = message
            var options = RemoteSystemWatcher.Options()
            options.silenceTime = silence
            return try WatcherRun(
                context: ApplicationContext(configuration),
                filters: filters,
                options: options,
                metrics: WatcherMetrics(application: configuration.applicationID)
            ) { _ in }
        }
        let patient = try run(.seconds(60), connect: .seconds(20), message: 1 << 20)
        let quick = try run(.seconds(3), connect: .seconds(2), message: 1 << 12, [.authorizationKind(.anonymous)])
        let needs = BrowserNeeds([patient, quick])
        #expect(needs.silenceTime == .seconds(3))
        #expect(needs.limits.deadPeerTime == .seconds(3))
        #expect(needs.connectTimeout == .seconds(20))
        #expect(needs.limits.messageBytes == 1 << 20)
        #expect(needs.wantsAnonymous)
        #expect(!BrowserNeeds([patient]).wantsAnonymous)
        #expect(BrowserNeeds([patient]).silenceTime == .seconds(60))
    }

    @Test func `systems of other accounts are dropped when no watcher wants them any more`() throws {
        typealias Rules = SystemBrowserStateMachineTests
        var machine = try Rules.machine(filters: [.authorizationKind(.anonymous)])
        _ = machine.seen("a", endpoints: [Rules.endpoint], by: .proximal, standing: .anonymous)
        _ = machine.connected("a", to: try #require(Rules.speaker), standing: .anonymous)
        #expect(machine.described("a", Rules.description("Café")).texts == ["added Café [com.example.player]"])
        #expect(machine.dropAnonymous().texts == ["disconnect a", "removed Café [com.example.player]"])
        #expect(!machine.knows("a"))
    }

    @Test func `a watcher that does not want systems of other accounts reports none that another watcher lists`() throws
    {
        typealias Rules = SystemBrowserStateMachineTests
        var machine = try Rules.machine()
        _ = machine.seen("a", endpoints: [Rules.endpoint], by: .proximal, standing: .anonymous)
        _ = machine.connected("a", to: try #require(Rules.speaker), standing: .anonymous)
        #expect(machine.described("a", Rules.description("Café")).texts == [])
        #expect(machine.excluded.isEmpty)
    }
}
