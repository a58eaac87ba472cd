// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Metrics
import MetricsTestKit
import RemoteSystemsDiscovery
import Synchronization
import Testing

@testable import RemoteSystems

/// a watcher keeps counters, and its listeners may keep their own without a lock.
@Suite struct WatcherMetricsTests {
    @Test func `a watcher counts and times what it sees, by application (R-14)`() async throws {
        let metrics = ObservabilityTests.metrics
        let application = "test.counting-\(UUID())"
        let dimensions = [("application", application)]
        func total(_ name: String, _ more: [(String, String)] = []) throws -> Int64 {
            try metrics.expectCounter("remote_systems_watcher_\(name)_total", dimensions + more).totalValue
        }
        func listed() throws -> Double? {
            try metrics.expectMeter("remote_systems_watcher_systems", dimensions).lastValue
        }
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = RemoteSystemWatcher(loopbackSystem.configuration(application))
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            #expect(watcher.statistics == WatcherStatistics())
            try await loopbackSystem.withHost([]) { host in
                _ = try await recorder.added()
                #expect(try listed() == 1)
                #expect(watcher.statistics.systems == 1)
                try await host.update(attributes: ["changed": "yes"])
                _ = try await recorder.updated()
            }
            _ = try await recorder.removed()
            #expect(try listed() == 0)

            // Advertised with the account's tag, at an address without a listener.
            let identity = try AccountStore(directory: loopbackSystem.directory).identity()
            loopbackSystem.segment.appear(
                DiscoveryHint(
                    id: "gone",
                    instance: "gone",
                    endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: 1)],
                    properties: [
                        Presence.versionProperty: Array(Presence.version.utf8),
                        Presence.tagProperty: identity.discoveryKey.discoveryTag(instance: "gone"),
                    ]
                )
            )
            try await until { watcher.statistics.connectionsFailed > 0 }

            // Systems listed when a watcher stops are not listed any more, but do not count as removed.
            try await loopbackSystem.withHost([]) { _ in
                _ = try await recorder.first { _ in watcher.statistics.added == 2 ? true : nil }
                #expect(try listed() == 1)
                await watcher.stop()
                #expect(try listed() == 0)
            }
            let statistics = watcher.statistics
            #expect(statistics.systems == 0)
            #expect((statistics.added, statistics.removed) == (2, 1))
            #expect(statistics.updated >= 1)
            #expect(statistics.connectionsOpened == 2)
            #expect(try total("systems_added") == 2)
            #expect(try total("systems_updated") == Int64(statistics.updated))
            #expect(try total("systems_removed") == 1)
            #expect(try total("connections_opened") == 2)
            let failures = try ["unreachable", "timeout", "not_trusted", "refused", "version", "other"].map {
                try total("connections_failed", [("reason", $0)])
            }
            #expect(failures[0] >= 1)
            #expect(failures.reduce(0, +) == Int64(statistics.connectionsFailed))
            let connecting = try metrics.expectTimer("remote_systems_watcher_connect_duration", dimensions).values
            #expect(connecting.count == 2)
            let enumeration = try metrics.expectTimer("remote_systems_watcher_enumeration_duration", dimensions).values
            #expect(enumeration.count == 1)
            // In nanoseconds, not another unit.
            #expect((connecting + enumeration).allSatisfy { (1_000..<60_000_000_000).contains($0) })
        }
    }

    // MARK: Listeners

    /// Deliberately not safe for concurrent use: a correct count shows that calls never overlapped.
    private final class Counter: @unchecked Sendable {
        private var count = 0
        private let calls = Atomic(0)
        private let inside = Atomic(0)
        private let overlaps = Atomic(0)

        var result: (counted: Int, calls: Int, overlaps: Int) {
            (self.count, self.calls.load(ordering: .relaxed), self.overlaps.load(ordering: .relaxed))
        }

        func call() {
            self.calls.add(1, ordering: .relaxed)
            if self.inside.add(1, ordering: .relaxed).newValue > 1 { self.overlaps.add(1, ordering: .relaxed) }
            let before = self.count
            for _ in 0..<2_000 { _ = Int.random(in: 0...1) }
            self.count = before + 1
            self.inside.subtract(1, ordering: .relaxed)
        }
    }

    @Test func `listeners are called one after the other, even by concurrent threads (R-14)`() async throws {
        let counter = Counter()
        try await LoopbackSystem.with { loopbackSystem in
            // Enough sources for as many threads to report at the same time.
            let segments = (0..<8).map { _ in ScriptedDiscovery() }
            var configuration = loopbackSystem.configuration("test.listening")
            configuration.discovery.sources = segments
            let watcher = RemoteSystemWatcher(configuration)
            for _ in 0..<2 { watcher.onError { _ in counter.call() } }
            try await watcher.start()
            try await until { segments.allSatisfy(\.isBrowsed) }
            await withTaskGroup { group in
                for segment in segments {
                    group.addTask { @concurrent in
                        for code in [DiscoveryProblem.Code.daemonUnavailable, .noInterface, .nameCollision] {
                            for _ in 0..<50 {
                                segment.emit(
                                    .trouble(
                                        DiscoveryProblem(
                                            code: code,
                                            message: "m.",
                                            advice: "a.",
                                            recoversByItself: true
                                        )
                                    )
                                )
                                await Task.yield()
                            }
                        }
                    }
                }
            }
            // Each source's last event is always delivered.
            try await until { counter.result.calls >= 2 * 8 * 3 }
            await watcher.stop()
        }
        let (counted, calls, overlaps) = counter.result
        #expect(overlaps == 0)
        #expect(counted == calls)
    }
}
