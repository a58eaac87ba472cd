// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import RemoteSystems
import Synchronization

/// The attacked system: a host with the echo service and a watcher, in one process with one event loop.
final class AttackedSystem: Sendable {
    /// The folder of the advertisements, in the run's directory.
    static let folder = "attacked"

    private let directory: String
    private let source: FollowedFolder
    private let added = Mutex<[String: Int64]>([:])
    private let running = Mutex<RemoteSystemWatcher?>(nil)

    init(directory: String, folder: String) throws {
        NIOSingletons.groupLoopCountSuggestion = 1
        self.directory = directory
        source = try FollowedFolder(folder: "\(directory)/\(folder)")
    }

    /// Starts the host and the watcher. Returns the host's port.
    func start() async throws -> Int {
        var configuration = RemoteSystemsConfiguration(
            applicationID: Ours.service,
            network: .loopback,
            discovery: [source],
            stateDirectory: "\(directory)/system-\(Attacker.Systems.victim)"
        )
        configuration.limits.messageBytes = 2 << 20
        let service = AppService(Ours.service, requestSchema: .full, responseSchema: .full) { request in
            request.message["IsEcho"] == true ? request.message : [:]
        }
        let host = RemoteSystemHost(configuration, services: [service])
        Task { try await host.run() }
        let port = try await host.port
        let watcher = RemoteSystemWatcher(configuration)
        watcher.onAdded { system in
            let now = monotonicNanoseconds()
            self.added.withLock { $0[system.displayName] = now }
        }
        try await watcher.start()
        // Both run until the process ends, which ends with its driver.
        running.withLock { $0 = watcher }
        return port
    }

    func added(_ name: String, within seconds: Double) async throws -> Int64 {
        let deadline = monotonicNanoseconds() + Int64(seconds * 1e9)
        while monotonicNanoseconds() < deadline {
            // The watcher notes the time, so polling does not make it less exact.
            if let time = added.withLock({ $0[name] }) { return time }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchError("\(name) was not added within \(seconds) s.")
    }

    func forge(_ isForging: Bool) { source.forge(isForging) }
}

/// A discovery source that follows a folder of advertisements, and can forge others.
///
/// Forged are 500 announcements a second: alternately instances with unknown tags, and copies of the tag of an
/// advertised system at a port at which nothing listens. The last 2 000 are kept.
final class FollowedFolder: DiscoverySource {
    private static let perSecond = 500
    private static let kept = 2000

    private let present: FolderDiscovery
    private let feed = Mutex<DiscoveryEvents.Feed?>(nil)
    private let following = Mutex<Task<Void, Never>?>(nil)
    private let forging = Mutex<Task<Void, Never>?>(nil)

    init(folder: String) throws { present = try FolderDiscovery(folder: folder) }

    var name: String { "followed folder" }

    func browse() -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        self.feed.withLock { $0 = feed }
        let hints = present.hints()
        for hint in hints { feed.yield(.appeared(hint)) }
        feed.yield(.settled)
        following.withLock { task in
            task?.cancel()
            task = Task { [present] in
                var known = Set(hints.map(\.id))
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(5))
                    guard present.names() != known else { continue }
                    let hints = present.hints()
                    for hint in hints where !known.contains(hint.id) { feed.yield(.appeared(hint)) }
                    let now = Set(hints.map(\.id))
                    for id in known.subtracting(now) { feed.yield(.vanished(id)) }
                    known = now
                }
            }
        }
        return events
    }

    func forge(_ isForging: Bool) {
        forging.withLock { task in
            task?.cancel()
            task = isForging ? Task { await self.forge() } : nil
        }
    }

    private func forge() async {
        guard let feed = feed.withLock({ $0 }), let copied = present.hints().first else { return }
        var ids = CircularBuffer<String>()
        let nowhere = [DiscoveryEndpoint(address: "127.0.0.1", port: 9)]
        while !Task.isCancelled {
            for _ in 0..<(Self.perSecond / 100) {
                let isCopy = ids.count.isMultiple(of: 2)
                let id = "forged-\(UInt64.random(in: 0 ... .max))"
                var properties = copied.properties
                if !isCopy { properties["t"] = (0..<8).map { _ in UInt8.random(in: 0 ... .max) } }
                let hint = DiscoveryHint(
                    id: id,
                    instance: isCopy ? copied.instance : id,
                    endpoints: nowhere,
                    properties: properties
                )
                feed.yield(.appeared(hint))
                ids.append(id)
                if ids.count > Self.kept { feed.yield(.vanished(ids.removeFirst())) }
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
        for id in ids { feed.yield(.vanished(id)) }
    }

    func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        try await present.advertise(advertisement, reporting: report)
    }

    func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        try await present.advertise(advertisement)
    }
}
