// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// An application's configuration and the ``AccountContext`` that it shares with others.
///
/// A watcher and the systems it lists share one application context; so do a host and its connections.
final class ApplicationContext: Sendable {
    let configuration: RemoteSystemsConfiguration
    /// Limits what this application logs about peers.
    let incidents: IncidentLog
    private let lookedUp = Mutex<AccountContext?>(nil)

    init(_ configuration: RemoteSystemsConfiguration) {
        self.configuration = configuration
        self.incidents = IncidentLog(configuration.logger)
    }

    /// The account context, looked up on first use. It does not change during the life of this object, even when the
    /// account's files do.
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

    /// Records a decision about a peer in the log.
    func audit(
        _ decision: Authorisation.Decision,
        about subject: Authorisation.Subject,
        _ target: Authorisation.Target
    ) {
        if case .allowed = decision, self.logger.logLevel > .debug { return }
        AuditEvent(decision, about: subject, target)
            .write(to: self.logger, limitedBy: self.incidents, of: subject)
    }

    /// Checks the configuration and returns the identity, prepared for TLS.
    func security() throws(RemoteSystemError) -> TransportSecurity {
        try self.configuration.validate()
        return try self.account.security()
    }

    /// Returns the browser that this program's watchers share with the other watchers of the account context.
    func browser() throws(RemoteSystemError) -> SystemBrowser {
        _ = try self.security()
        return try self.account.browser()
    }

    /// Returns the connector for connections of this application.
    ///
    /// - Parameter limits: replaces the configuration's limits.
    func connector(limits: ConnectionLimits? = nil) async throws(RemoteSystemError) -> Connector {
        try self.configuration.validate()
        return try await self.account.connector(
            limits: limits ?? self.limits,
            timeout: TimeAmount(self.configuration.transport.connectTimeout),
            logger: self.logger,
            incidents: self.incidents
        )
    }

    var limits: ConnectionLimits { ConnectionLimits(self.configuration) }

    func hello(service: String, targetApplication: String?, limits: ConnectionLimits) -> Hello {
        Hello(
            service: service,
            targetApplication: targetApplication,
            application: self.configuration.applicationID,
            limits: limits.peerLimits
        )
    }
}

extension Connector {
    /// Connects to a built-in service, which sends no requests back.
    ///
    /// - Throws: ``TransportError``.
    func connect(
        to endpoints: [Endpoint],
        expecting system: SystemID?,
        calling service: String,
        of application: String? = nil,
        from caller: ApplicationContext
    ) async throws -> Connection {
        try await self.connect(
            to: endpoints,
            expecting: system,
            hello: caller.hello(service: service, targetApplication: application, limits: self.limits)
        ) { _, _ in
            .requestsNotTaken
        }
    }
}

extension RemoteSystemsConfiguration.Network {
    /// Checks whether connections to a host are permitted.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse``.
    package func check(host: String) throws(RemoteSystemError) {
        do {
            try self.reach.check(host: host)
        } catch {
            throw RemoteSystemError(error)
        }
    }

    /// The network interfaces that connections may use.
    var reach: NetworkReach {
        switch self.kind {
        case .all: .all
        case .loopback: .machine
        case .interfaces(let names): .interfaces(names)
        }
    }
}

extension ConnectionLimits {
    init(_ configuration: RemoteSystemsConfiguration) {
        self.init(messageBytes: configuration.limits.messageBytes)
        self.window = configuration.limits.concurrentRequests
        self.concurrentRequests = self.window
        if let bytes = configuration.limits.concurrentRequestBytes { self.windowBytes = bytes }
        self.deadPeerTime = TimeAmount(configuration.transport.deadPeerTime)
        self.helloTimeout = TimeAmount(configuration.transport.helloTimeout)
        self.drainTime = TimeAmount(configuration.transport.drainTimeout)
    }
}
