// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserActivities

/// The time at which all offers are known.
@Suite(.timeLimit(.minutes(2))) struct OfferEnumerationTests {
    /// Discovery that settles on request.
    private final class Source: DiscoverySource {
        private let feed = Mutex<DiscoveryEvents.Feed?>(nil)

        var name: String { "scripted" }

        func browse() -> DiscoveryEvents {
            let (events, feed) = DiscoveryEvents.makeStream()
            self.feed.withLock { $0 = feed }
            return events
        }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}

        func settle() { self.feed.withLock { $0 }?.yield(.settled) }
    }

    @Test(arguments: [(10, 10), (40, 30)])
    func `an enumeration lasts until discovery has settled, or as long as its caller waits`(
        settled: Int,
        enumerated: Int
    ) async throws {
        try await DiscoveryStage.with { stage in
            let source = Source()
            var configuration = stage.configuration
            configuration.discovery.sources = [source]
            let watcher = UserActivityWatcher(configuration)
            try await watcher.start()
            let clock = FeatureClock(configuration)
            let start = clock.now
            let enumeration = clock.task {
                await watcher.enumerate(within: .seconds(30))
                return clock.now
            }
            try await stage.advance(by: .seconds(settled))
            source.settle()
            let end = await enumeration.value
            #expect(end - start == .seconds(enumerated))
            await watcher.stop()
        }
    }

    @Test func `the offers end when this system has left its account, and the next start states why`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "left-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await DiscoveryStage.with { stage in
            var configuration = stage.configuration
            configuration.stateDirectory = directory
            configuration.environment.identity = nil
            let watcher = UserActivityWatcher(configuration)
            try await watcher.start()
            let changes = watcher.changes
            // Leaves like the command: in a process that shares nothing but the files.
            let account = RemoteSystemsAccount(
                RemoteSystemsConfiguration(applicationID: "test.account", network: .loopback, stateDirectory: directory)
            )
            try account.leave(evenWithRootKey: true)
            try await stage.advance(by: .seconds(1))
            for await _ in changes {}
            let error = await #expect(throws: RemoteSystemError.self) { try await watcher.start() }
            #expect((error?.cause as? IdentityError)?.code == .accountLeft)
        }
    }

    /// What has returned.
    private final class Ends: Sendable {
        private let names = Mutex<Set<String>>([])

        var all: Set<String> { self.names.withLock { $0 } }

        func add(_ name: String) { self.names.withLock { _ = $0.insert(name) } }
    }

    @Test func `an offer whose id is known is found before discovery has settled`() async throws {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let offer = try await desk.offer(UserActivity(type: ContinuationTests.editing))
            let source = Source()
            var configuration = desk.stage.configuration
            configuration.discovery.sources = (configuration.discovery.sources ?? []) + [source]
            let watcher = UserActivityWatcher(configuration)
            try await watcher.start()
            let (clock, ends, id) = (FeatureClock(configuration), Ends(), offer.id)
            let enumeration = clock.task {
                await watcher.enumerate(within: .seconds(30))
                ends.add("enumerate")
            }
            let search = clock.task {
                await watcher.find(id, withHandlers: true, within: .seconds(30))
                ends.add("find")
            }
            try await desk.stage.eventually("it is found") { ends.all == ["find"] }
            #expect(watcher.offers.map(\.id) == [id])
            source.settle()
            try await desk.stage.eventually("all are found") { ends.all == ["find", "enumerate"] }
            await enumeration.value
            await search.value
            await watcher.stop()
        }
    }

    @Test func `an offer of a linked account ends no search, since one of this account may have the same id`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: Grants(topics: [ActivityDescriptor.topic]))
            var editor = StagedApplication("com.example.editor")
            editor.activities = .init(types: [ContinuationTests.editing], handler: RestoringHandler(objects: []))
            let laptop = try stage.system("Laptop", account: .linked, applications: [editor])
            try await stage.appears(laptop)
            let activity = UserActivity(type: ContinuationTests.editing)
            try await activity.becomeCurrent(at: laptop.activityHost())
            let source = Source()
            var configuration = stage.configuration
            configuration.discovery.sources = (configuration.discovery.sources ?? []) + [source]
            let watcher = UserActivityWatcher(configuration, filters: .withLinkedAccounts)
            try await watcher.start()
            let (clock, id) = (FeatureClock(configuration), activity.id)
            let start = clock.now
            let search = clock.task {
                await watcher.find(id, withHandlers: false, within: .seconds(30))
                return clock.now
            }
            try await stage.eventually("the offer is listed") { watcher.offers.map(\.id) == [id] }
            try await stage.advance(by: .seconds(40))
            let end = await search.value
            #expect(end - start == .seconds(30))
            await watcher.stop()
        }
    }

    /// What a search for an id finds, and how long it takes.
    private struct Found: Sendable {
        var systems: Set<String>
        var duration: Duration
    }

    /// Searches for the id of an activity that two systems state. The one that has copied it answers at once.
    ///
    /// - Parameter latency: of the link to the system whose activity it is.
    private func findCopied(latency: Duration) async throws -> Found {
        try await DiscoveryStage.with { stage in
            var editor = StagedApplication("com.example.editor")
            editor.activities = .init(types: [ContinuationTests.editing], handler: RestoringHandler(objects: []))
            let laptop = try stage.system("Laptop", applications: [editor])
            let copier = try stage.system("Copier", applications: [editor])
            for system in [laptop, copier] { try await stage.appears(system) }
            let activity = UserActivity(type: ContinuationTests.editing, title: "Minutes")
            try await activity.becomeCurrent(at: laptop.activityHost())
            let descriptor = ActivityDescriptor(
                activity,
                expirationDate: Date(timeIntervalSince1970: 4_000_000_000),
                lifetime: .seconds(600)
            )
            try await copier.activityHost().origin.topic.put(descriptor.key, descriptor.record)
            laptop.link.delay(latency)
            // Discovery does not settle.
            var configuration = stage.configuration
            configuration.discovery.sources = (configuration.discovery.sources ?? []) + [Source()]
            let watcher = UserActivityWatcher(configuration)
            try await watcher.start()
            let (clock, id) = (FeatureClock(configuration), activity.id)
            let start = clock.now
            let search = clock.task {
                await watcher.find(id, withHandlers: false, within: .seconds(30))
                let systems = Set(watcher.offers.filter { $0.id == id }.map(\.system.displayName))
                return Found(systems: systems, duration: clock.now - start)
            }
            try await stage.advance(by: .seconds(40))
            let found = await search.value
            await watcher.stop()
            return found
        }
    }

    @Test func `a search for an id waits for the systems to which connections are being opened`() async throws {
        let found = try await self.findCopied(latency: .milliseconds(5))
        #expect(found.systems == ["Laptop", "Copier"])
        #expect(found.duration > .zero && found.duration < .milliseconds(300))
    }

    @Test func `a search for an id waits for other systems for at most 0.3 s`() async throws {
        let found = try await self.findCopied(latency: .seconds(1))
        #expect(found.systems == ["Copier"])
        #expect(found.duration == .milliseconds(300))
    }
}
