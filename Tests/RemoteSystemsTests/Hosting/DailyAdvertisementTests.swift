// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import RemoteSystems

/// What a host advertises from one day to the next. Network and time are a stage's.
@Suite(.timeLimit(.minutes(1))) struct DailyAdvertisementTests {
    /// A source that has the present advertisements, in the order in which they began.
    private final class PresentAdvertisements: DiscoverySource {
        private let advertisements = Mutex<[DiscoveryAdvertisement]>([])

        let name = "present"

        var all: [DiscoveryAdvertisement] { self.advertisements.withLock { $0 } }

        func browse() -> DiscoveryEvents { DiscoveryEvents.makeStream().0 }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
            self.advertisements.withLock { $0.append(advertisement) }
            // Waits until the task is cancelled: the stream never yields.
            for await _ in AsyncStream<Never>.makeStream().stream {}
            self.advertisements.withLock { $0.removeAll { $0 == advertisement } }
        }
    }

    @Test func `an advertisement shares no name and no tag with that of the day before (Martin 2019, Stute 2021)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let present = PresentAdvertisements()
            var configuration = stage.configuration(applicationID: "test.host")
            configuration.discovery.sources = [present]
            let host = RemoteSystemHost(configuration, services: [.ping])
            let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
            defer { running.cancel() }
            try await stage.eventually("the host is advertised") { present.all.count == 1 }
            var last = try #require(present.all.first)
            #expect(last.properties[Presence.tagProperty] != nil)
            // Until shortly before the next change.
            var wait = Duration.seconds(24 * 3600 - 30)
            for day in 1...3 {
                try await stage.advance(by: wait)
                #expect(present.all == [last], "day \(day)")
                // The new name is there before the old one leaves.
                try await stage.advance(by: .seconds(60))
                try #require(present.all.count == 2, "day \(day)")
                #expect(present.all.first == last)
                try await stage.advance(by: .seconds(60))
                let next = try #require(present.all.first)
                #expect(present.all.count == 1 && next.instance != last.instance)
                let keys = Set(next.properties.keys).union(last.properties.keys)
                #expect(keys.contains(Presence.tagProperty))
                for key in keys where key != Presence.versionProperty {
                    #expect(next.properties[key] != last.properties[key], "\(key) is the same on day \(day)")
                }
                last = next
                wait = .seconds(24 * 3600 - 120)
            }
        }
    }
}
