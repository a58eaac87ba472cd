// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// One program's part in its account: its configuration, and the ``AccountContext`` that it shares with others.
///
/// A watcher and the systems it lists share one, as do a host and its connections.
final class ApplicationContext: Sendable {
    let configuration: RemoteSystemsConfiguration
    private let lookedUp = Mutex<AccountContext?>(nil)

    init(_ configuration: RemoteSystemsConfiguration) { self.configuration = configuration }

    /// The account, looked up on first use. It stays the same for as long as this object lives, whatever is done to the
    /// account's files.
    var account: AccountContext {
        self.lookedUp.withLock { lookedUp in
            if let lookedUp { return lookedUp }
            let new = AccountContexts.shared.context(for: self.configuration)
            lookedUp = new
            return new
        }
    }

    var logger: Logger { self.configuration.logger }
    var environment: RuntimeEnvironment { self.configuration.environment }

    /// The identity made ready for TLS, once the configuration has been checked.
    func security() throws(RemoteSystemError) -> TransportSecurity {
        try self.configuration.validate()
        return try self.account.security()
    }

    /// The browser that this program's watchers share with others.
    func browser() throws(RemoteSystemError) -> SystemBrowser {
        _ = try self.security()
        return try self.account.browser()
    }

    /// - Parameter limits: other limits than the configuration's.
    func connector(limits: ConnectionLimits? = nil) async throws(RemoteSystemError) -> Connector {
        try self.configuration.validate()
        return try await self.account.connector(
            limits: limits ?? self.limits,
            timeout: TimeAmount(self.configuration.connectTimeout),
            logger: self.logger
        )
    }

    var limits: ConnectionLimits {
        var limits = ConnectionLimits(messageBytes: self.configuration.messageLimit)
        limits.window = self.configuration.requestWindow
        limits.concurrentRequests = limits.window
        if let bytes = self.configuration.requestWindowBytes { limits.windowBytes = bytes }
        limits.deadPeerTime = TimeAmount(self.configuration.deadPeerTime)
        limits.handshakeTimeout = TimeAmount(self.configuration.helloTimeout)
        limits.drainTime = TimeAmount(self.configuration.drainTimeout)
        return limits
    }

    func hello(service: String, targetApplication: String?, limits: ConnectionLimits) -> Hello {
        Hello(
            service: service,
            targetApplication: targetApplication,
            application: self.configuration.applicationID,
            limits: limits.peerLimits
        )
    }
}

extension RemoteSystemsConfiguration.Network {
    /// Looks whether a connection to a host may be tried at all.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse``.
    package func check(host: String) throws(RemoteSystemError) {
        do {
            try self.reach.check(host: host)
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// The same for connections.
    var reach: NetworkReach {
        switch self.kind {
        case .all: .all
        case .loopback: .machine
        case .interfaces(let names): .interfaces(names)
        }
    }
}
