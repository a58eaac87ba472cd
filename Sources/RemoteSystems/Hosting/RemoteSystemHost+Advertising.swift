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
        /// The account's discovery key, of which the tag is made.
        var discoveryKey: DiscoveryKey?
        /// The discovery keys of the links with other accounts, whose systems recognise the advertisement.
        var linkKeys: [DiscoveryKey] = []

        var isNeeded: Bool { self.isWanted && !self.isRepresented }
    }

    /// The time after which watchers have received a changed port.
    private static let hearingTime = Duration.seconds(10)
    /// The time for which the old name is still advertised after the discovery key has changed.
    private static let overlap = Duration.seconds(2)

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

    /// Advertises under an instance name that changes once a day, so that the machine cannot be tracked by it, and with
    /// the discovery key, so that a revoked system cannot follow it. The new name is advertised before the old one is
    /// withdrawn.
    private func advertise(through source: any DiscoverySource) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let key = self.advertising.value.discoveryKey
                var random = SystemRandomNumberGenerator()
                let instance = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
                group.addTask {
                    self.advertised.insert(instance)
                    defer { self.advertised.remove(instance) }
                    try await self.limited(to: .seconds(24 * 3600 + 60)) {
                        try await self.limited(toKey: key) { try await self.advertise(instance, through: source) }
                    }
                }
                try await self.limited(to: .seconds(24 * 3600)) {
                    await self.advertising.becomes { $0.discoveryKey != key }
                }
            }
        }
    }

    /// Uses one instance name for all ports, so that watchers report a changed port as an update instead of a removal
    /// and an addition.
    private func advertise(_ instance: String, through source: any DiscoverySource) async throws {
        while !Task.isCancelled {
            let (port, keys) = (self.advertising.value.port, self.advertising.value.linkKeys)
            let advertisement = try self.advertisement(instance, port: port, linkKeys: keys)
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
                group.addTask { await self.advertising.becomes { $0.port != port || $0.linkKeys != keys } }
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

    /// Runs the body until a little after the discovery key has changed.
    private func limited(toKey key: DiscoveryKey?, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                await self.advertising.becomes { $0.discoveryKey != key }
                try await self.context.environment.time.sleep(for: Self.overlap)
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Advertises with the present discovery keys from now on: the account's, and those of its links.
    func refreshTags() {
        guard let security = try? self.context.security() else { return }
        let linked = security.trust.linked.values.filter { !$0.grants.isEmpty }
        let keys = linked.compactMap(\.account.discoveryKey).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let present = self.advertising.value
        guard security.identity.discoveryKey != present.discoveryKey || keys != present.linkKeys else { return }
        self.advertising.change {
            $0.discoveryKey = security.identity.discoveryKey
            $0.linkKeys = keys
        }
    }

    private func advertisement(
        _ instance: String,
        port: Int,
        linkKeys: [DiscoveryKey]
    ) throws -> DiscoveryAdvertisement {
        let identity = try self.context.security().identity
        var properties = [
            Presence.versionProperty: Array(Presence.version.utf8),
            Presence.tagProperty: identity.discoveryKey.discoveryTag(instance: instance),
        ]
        if !linkKeys.isEmpty {
            properties[Presence.linkTagsProperty] = Presence.linkTags(of: linkKeys, instance: instance)
        }
        if self.options.allowsAnyoneNearby { properties[Presence.anonymousProperty] = Array("1".utf8) }
        return DiscoveryAdvertisement(instance: instance, port: port, properties: properties)
    }
}
