// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import NIOCore
package import NIOSSL
package import RemoteSystemsIdentity
internal import Synchronization

/// Decides about a peer by its certificates. Throws when it is not to be trusted.
package typealias PeerAuthorization = @Sendable (TrustStore.Presented) throws -> PeerIdentity

/// This system's identity made ready for TLS: certificates, keys and the rule of whom to trust.
///
/// Shared by every listener and connector of a process. When the identity is renewed or the trust changes, new TLS
/// contexts are made, so that no ticket of an old session is good any more, and connections with peers that are trusted
/// no more end.
package final class TransportSecurity: Sendable {
    private struct State: Sendable {
        var identity: SystemIdentity
        var trust: TrustStore
        var contexts: Contexts
        /// Every open connection, whoever opened it.
        var connections: [ObjectIdentifier: any AuthenticatedConnection] = [:]
        /// Whether this system's identity is used no more.
        var hasEnded = false
    }

    private struct Contexts: Sendable {
        var client: NIOSSLContext
        var server: NIOSSLContext
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Date
    private let learned: @Sendable (RootChain) -> Void

    /// - Parameters:
    ///   - trust: the accounts that are trusted. Defaults to the identity's own.
    ///   - learned: called with an account's root keys, to keep them, when a peer has shown further ones that are signed
    ///     by those known here. They are in use by then.
    package init(
        identity: SystemIdentity,
        trust: TrustStore? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        learned: @escaping @Sendable (RootChain) -> Void = { _ in }
    ) throws {
        let trust = trust ?? identity.trustStore()
        let contexts = try Self.makeContexts(identity, trust.own.roots)
        self.state = Mutex(State(identity: identity, trust: trust, contexts: contexts))
        self.now = now
        self.learned = learned
    }

    package var identity: SystemIdentity {
        self.state.withLock { $0.identity }
    }

    /// What is trusted now.
    package var trust: TrustStore {
        self.state.withLock { $0.trust }
    }

    /// This system's id: all that most callers want of the identity, which is large to carry across an `await`.
    package var systemID: SystemID {
        self.state.withLock { $0.identity.systemID }
    }

    /// Takes a renewed identity or a changed revocation list into use: for every handshake from now on, and for
    /// the connections that are open, of which those with a revoked system end at once.
    ///
    /// - Parameter revocations: `nil` leaves the list as it is, so that renewing lets nobody back in.
    package func update(identity: SystemIdentity, revocations: RevocationList? = nil) throws {
        try self.change { state in
            var own = identity.trustedAccount(revocations: revocations ?? state.trust.own.revocations)
            // Root keys that were learned may not be stored yet. Those that are stored prevail.
            _ = try? own.extend(roots: state.trust.own.roots)
            state.identity = identity
            state.trust.update(own: own)
        }
    }

    /// Takes further root keys of a trusted account into use, and hands them on to be kept.
    ///
    /// - Throws: `TrustError` when they do not follow on those that are known.
    package func learn(roots: RootChain) throws {
        var trust = self.trust
        // Others may have brought the same.
        guard try trust.extend(roots: roots) else { return }
        try self.change { _ = try $0.trust.extend(roots: roots) }
        self.learned(roots)
    }

    /// Changes what is trusted, and ends the connections with peers that are not trusted any more.
    private func change(_ body: (inout State) throws -> Void) throws {
        let connections = try self.state.withLock { state in
            var changed = state
            try body(&changed)
            // New contexts, so that no ticket of an old session is good any more.
            changed.contexts = try Self.makeContexts(changed.identity, changed.trust.own.roots)
            state = changed
            return Array(state.connections.values)
        }
        for connection in connections { self.reconsider(connection) }
    }

    /// Closes a connection if its peer is not trusted any more, and again when the root key that signed the peer's
    /// certificate is retired.
    private func reconsider(_ connection: any AuthenticatedConnection) {
        let (trust, now) = (self.trust, self.now())
        let loop = connection.channel.eventLoop
        if let objection = trust.objection(to: connection.peer, now: now) {
            // Not at once even on its own event loop: the caller need not expect to be called back.
            return loop.execute { connection.refuseFurther(objection) }
        }
        self.reconsiderWhenRetired(connection, trust, now: now)
    }

    private func reconsiderWhenRetired(_ connection: any AuthenticatedConnection, _ trust: TrustStore, now: Date) {
        guard let retirement = trust.retirement(of: connection.peer) else { return }
        let time = TimeAmount.nanoseconds(Int64(min(retirement.timeIntervalSince(now), 1e9) * 1e9))
        connection.channel.eventLoop.scheduleTask(in: time) { [weak self, weak connection] in
            if let self, let connection { self.reconsider(connection) }
        }
    }

    /// Ends the use of this identity: closes every connection at once, and each further one when it opens. Peers take
    /// it for a goodbye.
    package func end() {
        let connections = self.state.withLock { state in
            state.hasEnded = true
            return state.connections.values
        }
        for connection in connections {
            connection.channel.eventLoop.execute { connection.abort(.completed, reason: nil) }
        }
    }

    /// Keeps an eye on a connection that has just opened. The trust may have changed since its handshake.
    func watch(_ connection: any AuthenticatedConnection) {
        let id = ObjectIdentifier(connection)
        let now = self.now()
        let (trust, hasEnded) = self.state.withLock { state in
            state.connections[id] = connection
            return (state.trust, state.hasEnded)
        }
        connection.onClose { [weak self] _ in self?.state.withLock { $0.connections[id] = nil } }
        if let objection = trust.objection(to: connection.peer, now: now) {
            connection.refuseFurther(objection)
        } else {
            self.reconsiderWhenRetired(connection, trust, now: now)
        }
        if hasEnded { connection.abort(.completed, reason: nil) }
    }

    /// Whether this peer may talk to us, now.
    ///
    /// - Parameters:
    ///   - presented: its certificate, and those behind it.
    ///   - accepted: the standings that will do.
    package func authorise(
        _ presented: TrustStore.Presented,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws -> PeerIdentity {
        let verdict = try self.trust.judge(presented, now: self.now(), accepting: accepted)
        // The keys that others on this machine have learned meanwhile may conflict, which a later handshake finds out.
        if let roots = verdict.learned { try self.learn(roots: roots) }
        return verdict.peer
    }

    package func clientHandler() throws -> NIOSSLClientHandler {
        // The server's name is not checked: systems are known by their keys, not by the names of their addresses.
        try NIOSSLClientHandler(
            context: self.state.withLock { $0.contexts.client },
            serverHostname: nil,
            customVerificationCallbackWithMetadata: Self.acceptForNow
        )
    }

    package func serverHandler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(
            context: self.state.withLock { $0.contexts.server },
            customVerificationCallbackWithMetadata: Self.acceptForNow
        )
    }

    /// TLS proves that the peer holds the key of the certificate it showed. Whether that certificate is acceptable is
    /// decided in ``HandshakeHandler`` instead of here, because this callback does not run when a session is resumed, and
    /// because a refusal from there can say why. The certificates behind the peer's own are kept until then.
    @Sendable
    static func acceptForNow(
        _ certificates: [NIOSSLCertificate],
        _ promise: EventLoopPromise<NIOSSLVerificationResultWithMetadata>
    ) {
        guard !certificates.isEmpty else { return promise.succeed(.failed) }
        // One more than can be good, so that too many are noticed.
        let presented = certificates.prefix(RootChain.maxRoots + 1)
        let chain = presented.count > 1 ? ValidatedCertificateChain(Array(presented)) : nil
        promise.succeed(.certificateVerified(VerificationMetadata(chain)))
    }

    /// - Parameter roots: the account's, of which all but the first are sent behind the certificate, so that peers that
    ///   know an older root key learn of the newer ones.
    private static func makeContexts(_ identity: SystemIdentity, _ roots: RootChain) throws -> Contexts {
        let certificates = try ([identity.certificate] + roots.links).map {
            NIOSSLCertificateSource.certificate(try NIOSSLCertificate(bytes: $0, format: .der))
        }
        let key = try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)
        var server = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates,
            privateKey: .privateKey(key)
        )
        var client = TLSConfiguration.makeClientConfiguration()
        client.certificateChain = server.certificateChain
        client.privateKey = server.privateKey
        server.secure(alpn: ProtocolVersion.alpn)
        client.secure(alpn: ProtocolVersion.alpn)
        return Contexts(
            client: try NIOSSLContext(configuration: client),
            server: try NIOSSLContext(configuration: server)
        )
    }
}

extension TLSConfiguration {
    mutating func secure(alpn: String) {
        self.minimumTLSVersion = .tlsv13
        self.applicationProtocols = [alpn]
        // Anything but `.none`: that would not even ask the peer for a certificate.
        self.certificateVerification = .noHostnameVerification
        self.trustRoots = .certificates([])
        self.shutdownTimeout = .seconds(1)
    }
}
