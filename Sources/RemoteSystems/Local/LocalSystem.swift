// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// This process's place in its account: identity, TLS and discovery, made from a configuration when first needed.
///
/// A watcher and the systems it lists share one, as do a host and its connections.
final class LocalSystem: Sendable {
    let configuration: RemoteSystemsConfiguration
    let sources: [any DiscoverySource]
    private let loaded = Mutex<TransportSecurity?>(nil)

    init(_ configuration: RemoteSystemsConfiguration) {
        self.configuration = configuration
        self.sources = configuration.discovery ?? [AvahiDiscovery(configuration)]
    }

    var logger: Logger { self.configuration.logger }
    var environment: LocalEnvironment { self.configuration.environment }

    /// The identity made ready for TLS. Reads a few small files on first use, and makes a personal account if there is none.
    func security() throws(RemoteSystemError) -> TransportSecurity {
        do {
            return try self.loaded.withLock { loaded in
                if let loaded { return loaded }
                let new = try TransportSecurity(identity: try self.identity())
                loaded = new
                return new
            }
        } catch {
            throw RemoteSystemError(error)
        }
    }

    private func identity() throws -> SystemIdentity {
        if let identity = self.environment.identity { return try identity() }
        return try self.store().identity()
    }

    func store() throws(IdentityError) -> AccountStore {
        guard self.environment.identity == nil else {
            throw IdentityError(
                .noStateDirectory,
                "This system's identity is kept in memory alone, as tests do; nothing of it can be read or changed."
            )
        }
        if let directory = self.configuration.stateDirectory { return AccountStore(directory: directory) }
        return try AccountStore()
    }

    /// Takes a certificate into use that this or another process has renewed meanwhile; where the account's key is, reading
    /// the identity renews it when it is time. For processes that run for long.
    func reloadIdentity() {
        do {
            let security = try self.security()
            let identity = try self.identity()
            guard identity.certificateValidity != security.identity.certificateValidity else { return }
            try security.update(identity: identity)
            self.logger.debug("A renewed certificate is in use")
        } catch {
            self.logger.warning("The system's certificate could not be renewed", metadata: ["reason": "\(error)"])
        }
    }

    func connector(limits: ConnectionLimits? = nil) throws(RemoteSystemError) -> Connector {
        Connector(
            security: try self.security(),
            limits: limits ?? self.limits,
            timeout: TimeAmount(self.configuration.connectTimeout),
            logger: self.logger,
            network: self.environment.network
        )
    }

    var limits: ConnectionLimits {
        var limits = ConnectionLimits(messageBytes: self.configuration.messageLimit)
        limits.window = min(max(self.configuration.requestWindow, 1), 4096)
        limits.concurrentRequests = limits.window
        limits.deadPeerTime = TimeAmount(min(max(self.configuration.deadPeerTime, .seconds(1)), .seconds(3600)))
        limits.openingTime = TimeAmount(self.configuration.helloTimeout)
        limits.drainTime = TimeAmount(self.configuration.drainTimeout)
        return limits
    }

    func hello(service: String, package: String?, limits: ConnectionLimits) -> Hello {
        Hello(
            service: service,
            package: package,
            application: self.configuration.applicationID,
            limits: limits.peerLimits
        )
    }

    /// The address to listen on; `nil` for all.
    var listeningAddress: String? {
        self.configuration.network == .loopback ? "127.0.0.1" : nil
    }
}

extension AvahiDiscovery {
    fileprivate init(_ configuration: RemoteSystemsConfiguration) {
        switch configuration.network {
        case .all: self.init(logger: configuration.logger)
        case .loopback: self.init(interfaces: .only(["lo"]), logger: configuration.logger)
        case .interfaces(let names): self.init(interfaces: .only(names), logger: configuration.logger)
        }
    }
}
