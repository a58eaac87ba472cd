// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension RemoteSystemHost {
    /// What is announced; it may change while the host runs.
    struct Announcing: Hashable {
        var isWanted: Bool
        /// Where the host listens, once it does.
        var port = 0
    }

    /// Until cancelled. Withdraws what is not wanted any more, or not true.
    func announceWhenWanted() async throws {
        while !Task.isCancelled {
            let announcing = self.announcing.value
            try await withThrowingTaskGroup(of: Void.self) { group in
                for source in announcing.isWanted ? self.local.sources : [] {
                    group.addTask { try await self.announce(port: announcing.port, through: source) }
                }
                group.addTask { await self.announcing.differs(from: announcing) }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// Announces under a name that changes once a day, so that nobody can follow this machine by it. The new name is
    /// announced before the old one is withdrawn.
    private func announce(port: Int, through source: any DiscoverySource) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                let announcement = try self.announcement(port: port)
                group.addTask {
                    self.announced.insert(announcement.instance)
                    defer { self.announced.remove(announcement.instance) }
                    try await self.limited(to: .seconds(24 * 3600 + 60)) {
                        do {
                            try await source.announce(announcement)
                        } catch let error as DiscoveryError {
                            throw RemoteSystemError(.discovery, error.message, side: .local, cause: error)
                        }
                    }
                }
                try await self.local.environment.time.sleep(for: .seconds(24 * 3600))
            }
        }
    }

    private func limited(
        to duration: Duration,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask { try await self.local.environment.time.sleep(for: duration) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func announcement(port: Int) throws -> DiscoveryAnnouncement {
        var random = SystemRandomNumberGenerator()
        let instance = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
        let identity = try self.local.security().identity
        var properties = [
            Presence.versionProperty: Array(Presence.version.utf8),
            Presence.tagProperty: identity.discoveryKey.discoveryTag(instance: instance),
        ]
        if self.options.allowsAnyoneNearby { properties[Presence.anonymousProperty] = Array("1".utf8) }
        return DiscoveryAnnouncement(instance: instance, port: port, properties: properties)
    }
}
