// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import Synchronization

/// The account contexts in use in this process.
///
/// Programs with the same state directory, network and discovery sources share one. A configuration with an in-memory
/// identity or a test environment shares none.
final class AccountContexts: Sendable {
    private struct Key: Hashable {
        var stateDirectory: String
        var network: RemoteSystemsConfiguration.Network
        var sources: [DiscoverySourceIdentity]
        var remembersSystems: Bool
    }

    private struct WeakContext: Sendable {
        weak var context: AccountContext?
    }

    static let shared = AccountContexts()

    private let contexts = Mutex<[Key: WeakContext]>([:])

    /// Returns the account context for a configuration. Reads the account's files if they have changed.
    func context(for configuration: RemoteSystemsConfiguration) -> AccountContext {
        let sources = configuration.discovery.sources ?? [AvahiDiscovery(configuration)]
        guard let key = Self.key(for: configuration, sources) else {
            return AccountContext(configuration, sources: sources)
        }
        let known = self.contexts.withLock { $0[key]?.context }
        // Checked without the lock, since it may read files.
        if let known, known.isCurrent { return known }
        return self.contexts.withLock { contexts in
            if let other = contexts[key]?.context, other !== known { return other }
            let new = AccountContext(configuration, sources: sources)
            contexts = contexts.filter { $0.value.context != nil }
            contexts[key] = WeakContext(context: new)
            return new
        }
    }

    /// The key under which account contexts are shared; `nil` for one that is not shared.
    private static func key(
        for configuration: RemoteSystemsConfiguration,
        _ sources: [any DiscoverySource]
    ) -> Key? {
        let identities = sources.compactMap(\.identity)
        guard configuration.environment.isReal, identities.count == sources.count,
            let directory = configuration.stateDirectory ?? (try? AccountStore())?.directory
        else { return nil }
        return Key(
            stateDirectory: directory,
            network: configuration.network,
            sources: identities,
            remembersSystems: configuration.discovery.remembersSystems
        )
    }
}

extension AvahiDiscovery {
    fileprivate init(_ configuration: RemoteSystemsConfiguration) {
        switch configuration.network.kind {
        case .all: self.init(logger: configuration.logger)
        case .loopback: self.init(interfaces: .only(["lo"]), logger: configuration.logger)
        case .interfaces(let names): self.init(interfaces: .only(names), logger: configuration.logger)
        }
    }
}
