// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import RemoteSystems
import Synchronization

/// Systems of one account that share a process. Each has a state directory, and so keys and connections, of its own.
///
/// The systems are numbered. System 0 holds the account's key and only invites the others.
final class PackedSystems: Sendable {
    private struct State {
        var hosts: [Task<Void, any Error>] = []
        var watchers: [(watcher: RemoteSystemWatcher, list: WatchedList)] = []
    }

    private static let application = "org.remotesystems.benchmark"
    /// The number of invitations that are open at the same time.
    private static let invitations = 8

    private let directory: String
    private let state = Mutex(State())

    /// - Parameter directory: the directory that holds the state directories of all systems.
    init(directory: String) {
        NIOSingletons.groupLoopCountSuggestion = 1
        self.directory = directory
    }

    /// - Parameter source: finds and advertises the system; nil for none.
    func configuration(_ number: Int, source: FolderDiscovery? = nil) -> RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: Self.application,
            network: .loopback,
            discovery: source.map { [$0] } ?? [],
            stateDirectory: "\(directory)/system-\(number)"
        )
        configuration.systemDisplayName = "System \(number)"
        return configuration
    }

    // MARK: Accounts

    /// Creates systems, which join the account of system 0.
    func create(_ numbers: Range<Int>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, number) in numbers.enumerated() {
                if index >= Self.invitations { try await group.next() }
                group.addTask { try await self.create(number) }
            }
            try await group.waitForAll()
        }
    }

    private func create(_ number: Int) async throws {
        let inviter = RemoteSystemsAccount(configuration(0))
        let joiner = RemoteSystemsAccount(configuration(number))
        let (invitations, shown) = AsyncThrowingStream<Invitation, any Error>.makeStream()
        let joining = Task {
            for try await invitation in invitations { _ = try await joiner.join(invitation) }
        }
        do {
            _ = try await inviter.invite {
                shown.yield($0)
                shown.finish()
            }
            try await joining.value
        } catch {
            joining.cancel()
            throw error
        }
    }

    func revoke(_ number: Int) throws {
        let system = try RemoteSystemsAccount(configuration(number)).identity().systemID
        try RemoteSystemsAccount(configuration(0)).revoke(system)
    }

    // MARK: Hosts

    /// Starts a host for each system and returns when all of them are advertised.
    ///
    /// - Parameter folder: where they are advertised.
    func startHosts(_ numbers: Range<Int>, folder: String) async throws {
        var sources: [FolderDiscovery] = []
        for number in numbers {
            let source = try FolderDiscovery(folder: folder)
            sources.append(source)
            _ = try await startHost(number, source)
        }
        // Polling: the time is not part of a figure.
        for _ in 0..<3000 where !sources.allSatisfy(\.isAdvertising) { try await Task.sleep(for: .milliseconds(10)) }
        guard sources.allSatisfy(\.isAdvertising) else { throw BenchError("Not every host was advertised.") }
    }

    /// Starts the host of one system, advertised in a folder.
    func startHost(_ number: Int, folder: String) async throws -> RemoteSystemHost {
        try await startHost(number, FolderDiscovery(folder: folder))
    }

    private func startHost(_ number: Int, _ source: FolderDiscovery) async throws -> RemoteSystemHost {
        let host = RemoteSystemHost(
            configuration(number, source: source),
            services: [AppService("\(Self.application).service") { _ in [:] }]
        )
        let task = Task { try await host.run() }
        state.withLock { $0.hosts.append(task) }
        _ = try await host.port
        return host
    }

    // MARK: Watchers

    /// Starts a watcher for each system. Each lists the advertised systems but its own.
    func startWatchers(_ numbers: Range<Int>, folder: String) async throws {
        for number in numbers {
            let configuration = configuration(number, source: try FolderDiscovery(folder: folder))
            let watcher = RemoteSystemWatcher(configuration)
            let own = try RemoteSystemsAccount(configuration).identity().systemID
            let list = WatchedList(own: "\(own)")
            watcher.onAdded { list.add("\($0.id)") }
            watcher.onRemoved { list.remove("\($0.id)") }
            try await watcher.start()
            state.withLock { $0.watchers.append((watcher, list)) }
        }
    }

    /// Waits until every watcher lists so many systems.
    ///
    /// - Returns: the time at which the last of them did, in monotonic nanoseconds.
    func listed(_ count: Int, within seconds: Double) async throws -> Int64 {
        let deadline = monotonicNanoseconds() + Int64(seconds * 1e9)
        let watchers = state.withLock { $0.watchers }
        while true {
            // The watchers note the times, so polling does not make them less exact.
            let times = watchers.compactMap { $0.list.time(of: count) }
            if times.count == watchers.count, let last = times.max() { return last }
            guard monotonicNanoseconds() < deadline else { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        let counts = watchers.map(\.list.count).sorted()
        throw BenchError(
            """
            Not every watcher listed \(count) systems within \(seconds) s. The smallest list has \
            \(counts.first ?? 0) systems; \(self.counts.failed) attempts to connect failed.
            """
        )
    }

    /// The connections and removals of all watchers together.
    var counts: WatchedCounts {
        state.withLock { $0.watchers }.reduce(into: WatchedCounts()) { counts, one in
            counts.opened += one.watcher.statistics.connectionsOpened
            counts.failed += one.watcher.statistics.connectionsFailed
            counts.removed += one.watcher.statistics.removed
        }
    }

    func stopWatchers() async {
        let watchers = state.withLock { state in
            defer { state.watchers = [] }
            return state.watchers
        }
        for one in watchers { await one.watcher.stop() }
    }
}

/// The systems that a watcher lists, and when the list grew.
private final class WatchedList: Sendable {
    private struct State {
        var systems: Set<String> = []
        /// The times at which the list first had 1, 2, … systems.
        var times: [Int64] = []
    }

    private let own: String
    private let state = Mutex(State())

    init(own: String) {
        self.own = own
    }

    var count: Int { state.withLock { $0.systems.count } }

    func time(of count: Int) -> Int64? {
        state.withLock { $0.times.count >= count && count > 0 ? $0.times[count - 1] : nil }
    }

    func add(_ system: String) {
        guard system != own else { return }
        let now = monotonicNanoseconds()
        state.withLock { state in
            state.systems.insert(system)
            if state.systems.count > state.times.count { state.times.append(now) }
        }
    }

    func remove(_ system: String) {
        guard system != own else { return }
        _ = state.withLock { $0.systems.remove(system) }
    }
}
