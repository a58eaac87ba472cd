// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// The advertised state of the host. It may change while the host runs.
    struct Advertising: Hashable {
        var isWanted: Bool
        /// Whether the machine's host daemon advertises the machine and publishes this host, so that the host need not
        /// advertise itself.
        var isRepresented = false
        /// The port that the host listens on; 0 before it listens.
        var port = 0

        var isNeeded: Bool { self.isWanted && !self.isRepresented }
    }

    /// The time after which watchers have received a changed port.
    private static let hearingTime = Duration.seconds(10)

    /// Advertises the host while it should be discoverable, until cancelled.
    func advertiseWhenWanted() async throws {
        while !Task.isCancelled {
            let isNeeded = self.advertising.value.isNeeded
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in isNeeded ? self.context.account.sources : [] {
                    group.addTask { try await self.advertise(through: source) }
                }
                group.addTask { await self.advertising.becomes { $0.isNeeded != isNeeded } }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// Advertises under an instance name that changes once a day, so that the machine cannot be tracked by it. The new
    /// name is advertised before the old one is withdrawn.
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

    /// Uses one instance name for all ports, so that watchers report a changed port as an update instead of a removal
    /// and an addition.
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

    /// Closes the connections of watchers some time after the port has changed, until cancelled.
    ///
    /// Watchers that are connected to the previous port keep the host listed. A watcher that has not received the new
    /// port after ``hearingTime`` cannot reach the host; the others reconnect before they would report the host as
    /// removed.
    func sendWatchersOn() async {
        var port = self.advertising.value.port
        while true {
            await self.advertising.becomes { [port] in $0.port != port }
            repeat {
                port = self.advertising.value.port
                // The task was cancelled: the host ends, and closes these connections itself.
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
