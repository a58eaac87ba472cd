// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Metrics
internal import RemoteSystemsTransport
internal import Synchronization

/// The counters of a watcher, for ``WatcherStatistics`` and for the process's metrics backend (swift-metrics).
///
/// Watchers of one application id share their metrics: counters add up, and so does the number of listed systems.
final class WatcherMetrics: Sendable {
    private let statistics = Mutex(WatcherStatistics())
    private let systems: Meter
    private let added: Counter
    private let updated: Counter
    private let removed: Counter
    private let connectionsOpened: Counter
    private let connectionsFailed: [FailureReason: Counter]
    private let connectDuration: Timer
    private let enumerationDuration: Timer

    /// The reason why an attempt to connect failed, as in the dimension `reason`. A fixed set, so that no peer can add
    /// values to it.
    enum FailureReason: String, CaseIterable {
        case unreachable, timeout, notTrusted = "not_trusted", refused, version, other

        init(_ error: any Error) {
            self =
                switch (error as? TransportError)?.code {
                case .unreachable: .unreachable
                case .deadlineExceeded: .timeout
                case .peerNotTrusted: .notTrusted
                case .refused: .refused
                case .incompatibleVersion: .version
                default: .other
                }
        }
    }

    /// Creates counters that start at 0.
    ///
    /// - Parameter application: the watching application's id.
    init(application: String) {
        let dimensions = [("application", application)]
        func counter(_ name: String, _ more: [(String, String)] = []) -> Counter {
            Counter(label: "remote_systems_watcher_\(name)_total", dimensions: dimensions + more)
        }
        self.systems = Meter(label: "remote_systems_watcher_systems", dimensions: dimensions)
        self.added = counter("systems_added")
        self.updated = counter("systems_updated")
        self.removed = counter("systems_removed")
        self.connectionsOpened = counter("connections_opened")
        self.connectionsFailed = Dictionary(
            uniqueKeysWithValues: FailureReason.allCases.map {
                ($0, counter("connections_failed", [("reason", $0.rawValue)]))
            }
        )
        self.connectDuration = Timer(label: "remote_systems_watcher_connect_duration", dimensions: dimensions)
        self.enumerationDuration = Timer(label: "remote_systems_watcher_enumeration_duration", dimensions: dimensions)
    }

    /// The counts, without the number of listed systems.
    var counts: WatcherStatistics { self.statistics.withLock { $0 } }

    /// Records an event that the watcher reported.
    ///
    /// - Parameter sinceStart: the time since the watcher was started.
    func reported(_ event: RemoteSystemEvent, sinceStart: Duration) {
        switch event {
        case .added:
            self.statistics.withLock { $0.added += 1 }
            self.added.increment()
            self.systems.increment()
        case .updated:
            self.statistics.withLock { $0.updated += 1 }
            self.updated.increment()
        case .removed:
            self.statistics.withLock { $0.removed += 1 }
            self.removed.increment()
            self.systems.decrement()
        case .enumerationCompleted:
            self.enumerationDuration.record(sinceStart)
        case .error:
            break
        }
    }

    /// Records that the watcher stopped while it listed `count` systems.
    func stopped(listing count: Int) {
        if count > 0 { self.systems.decrement(by: Double(count)) }
    }

    func connected(after duration: Duration) {
        self.statistics.withLock { $0.connectionsOpened += 1 }
        self.connectionsOpened.increment()
        self.connectDuration.record(duration)
    }

    func connectionFailed(_ error: any Error) {
        self.statistics.withLock { $0.connectionsFailed += 1 }
        self.connectionsFailed[FailureReason(error)]?.increment()
    }
}

extension Timer {
    fileprivate func record(_ duration: Duration) {
        self.recordNanoseconds(Int64(duration / .nanoseconds(1)))
    }
}
