// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import NIOPosix
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
    private let inviting = Mutex<Task<Void, any Error>?>(nil)

    init(directory: String, folder: String) throws {
        NIOSingletons.groupLoopCountSuggestion = 1
        self.directory = directory
        source = try FollowedFolder(folder: "\(directory)/\(folder)")
    }

    private var configuration: RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: Ours.service,
            network: .loopback,
            discovery: [source],
            stateDirectory: "\(directory)/system-\(Attacker.Systems.victim)"
        )
        configuration.limits.messageBytes = 2 << 20
        return configuration
    }

    /// Starts the host and the watcher. Returns the host's port, and the one that receives forged announcements.
    func start() async throws -> (host: Int, forging: Int) {
        let configuration = configuration
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
        return (port, try await source.receiveForged())
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

    func dropForged() { source.dropForged() }

    /// Opens the port for joining, and returns it.
    func invite() async throws -> Int {
        endInviting()
        let account = RemoteSystemsAccount(configuration)
        let (ports, shown) = AsyncStream<Int>.makeStream()
        let task = Task {
            defer { shown.finish() }
            _ = try await account.invite { invitation in
                _ = shown.yield(Int(invitation.addresses.first?.port ?? 0))
            }
        }
        inviting.withLock { $0 = task }
        for await port in ports { return port }
        try await task.value
        throw BenchError("The invitation has no address.")
    }

    func endInviting() {
        inviting.withLock { task in
            task?.cancel()
            task = nil
        }
    }
}

/// A discovery source that follows a folder of advertisements, and receives forged ones. The last 2 000 are kept.
final class FollowedFolder: DiscoverySource {
    private static let kept = 2000
    /// A port at which nothing listens.
    private static let nowhere = [DiscoveryEndpoint(address: "127.0.0.1", port: 9)]

    private let present: FolderDiscovery
    private let feed = Mutex<DiscoveryEvents.Feed?>(nil)
    private let following = Mutex<Task<Void, Never>?>(nil)
    private let forged = Mutex(CircularBuffer<String>())
    /// Receives what is forged. Its thread is not that of the connections, as with Avahi.
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

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

    /// Receives forged announcements on loopback from now on, and returns the port.
    func receiveForged() async throws -> Int {
        let channel = try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ForgedAnnouncement.Receiver { self.received($0) })
                }
            }
            .bind(to: SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        return channel.localAddress?.port ?? 0
    }

    private func received(_ announcement: ForgedAnnouncement) {
        guard let feed = feed.withLock({ $0 }) else { return }
        let hint = DiscoveryHint(
            id: announcement.id,
            instance: announcement.instance,
            endpoints: Self.nowhere,
            properties: announcement.properties
        )
        feed.yield(.appeared(hint))
        let old = forged.withLock { ids -> String? in
            ids.append(announcement.id)
            return ids.count > Self.kept ? ids.removeFirst() : nil
        }
        if let old { feed.yield(.vanished(old)) }
    }

    func dropForged() {
        guard let feed = feed.withLock({ $0 }) else { return }
        let ids = forged.withLock { ids in
            defer { ids = [] }
            return Array(ids)
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
