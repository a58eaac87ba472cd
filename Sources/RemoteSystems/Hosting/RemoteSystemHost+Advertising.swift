// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// What is announced; it may change while the host runs.
    struct Advertising: Hashable {
        var isWanted: Bool
        /// Where the host listens, once it does.
        var port = 0
    }

    /// Watchers have heard of another port after so long.
    private static let hearingTime = Duration.seconds(10)

    /// Until cancelled. Withdraws what is not wanted any more.
    func advertiseWhenWanted() async throws {
        while !Task.isCancelled {
            let isWanted = self.advertising.value.isWanted
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in isWanted ? self.context.account.sources : [] {
                    group.addTask { try await self.advertise(through: source) }
                }
                group.addTask { await self.advertising.becomes { $0.isWanted != isWanted } }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// Announces under a name that changes once a day, so that nobody can follow this machine by it. The new name is
    /// announced before the old one is withdrawn.
    private func advertise(through source: any DiscoverySource) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                var random = SystemRandomNumberGenerator()
                let instance = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
                group.addTask {
                    self.advertised.insert(instance)
                    defer { self.advertised.remove(instance) }
                    try await self.limited(to: .seconds(24 * 3600 + 60)) {
                        try await self.advertise(instance, through: source)
                    }
                }
                try await self.context.environment.time.sleep(for: .seconds(24 * 3600))
            }
        }
    }

    /// The same name wherever the host listens: who watches sees it move, and not one go and another come.
    private func advertise(_ instance: String, through source: any DiscoverySource) async throws {
        while !Task.isCancelled {
            let port = self.advertising.value.port
            let advertisement = try self.advertisement(instance, port: port)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let registering = self.registering
                    let id = registering.beginAnnouncement()
                    defer { registering.endAnnouncement(id) }
                    do {
                        try await source.advertise(advertisement) { registering.advertisement(id, isInEffect: $0) }
                    } catch let error as DiscoveryError {
                        throw RemoteSystemError(.discovery, error.message, side: .local, cause: error)
                    }
                }
                group.addTask { await self.advertising.becomes { $0.port != port } }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// Until cancelled. Watchers that are connected to where the host does not listen any more keep it in their lists; those who have
    /// not heard of the new port by then could not reach it. The others come back before anybody misses it.
    func sendWatchersOn() async {
        var port = self.advertising.value.port
        while true {
            await self.advertising.becomes { [port] in $0.port != port }
            repeat {
                port = self.advertising.value.port
                // A host that ends says so to its watchers, and sends them nowhere.
                guard (try? await self.context.environment.time.sleep(for: Self.hearingTime)) != nil else {
                    return
                }
            } while port != self.advertising.value.port
            await self.core.sendWatchersOn()
        }
    }

    private func limited(
        to duration: Duration,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask { try await self.context.environment.time.sleep(for: duration) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func advertisement(_ instance: String, port: Int) throws -> DiscoveryAdvertisement {
        let identity = try self.context.security().identity
        var properties = [
            Presence.versionProperty: Array(Presence.version.utf8),
            Presence.tagProperty: identity.discoveryKey.discoveryTag(instance: instance),
        ]
        if self.options.allowsAnyoneNearby { properties[Presence.anonymousProperty] = Array("1".utf8) }
        return DiscoveryAdvertisement(instance: instance, port: port, properties: properties)
    }
}
