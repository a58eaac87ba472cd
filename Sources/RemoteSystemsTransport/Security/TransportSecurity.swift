// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import NIOCore
package import NIOSSL
package import RemoteSystemsIdentity
internal import Synchronization

/// This system's identity, prepared for TLS: certificates, keys and the trusted accounts.
///
/// All listeners and connectors of a process share one instance. When the identity is renewed or the trust changes, new
/// TLS contexts are created, which invalidates the tickets of earlier TLS sessions, and connections with peers that are
/// no longer trusted are closed.
package final class TransportSecurity: Sendable {
    private struct State: Sendable {
        var identity: SystemIdentity
        var trust: TrustStore
        var contexts: Contexts
        var verdicts = RememberedVerdicts()
        /// Every open connection, incoming and outgoing.
        var connections: [ObjectIdentifier: any AuthenticatedConnection] = [:]
        /// Whether ``end()`` was called.
        var hasEnded = false
    }

    private struct Contexts: Sendable {
        /// The certificate that both sides show, in DER.
        var certificate: [UInt8]
        var client: NIOSSLContext
        var server: NIOSSLContext
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Date
    private let learned: @Sendable (RootChain) -> Void
    private let withdrawn: @Sendable (_ peer: PeerIdentity, _ notice: [UInt8]) -> Void

    /// Prepares an identity for TLS.
    ///
    /// - Parameters:
    ///   - trust: the trusted accounts. Defaults to the identity's own.
    ///   - learned: called with an account's root keys, to store them, after a peer has shown further keys signed by
    ///     the known ones. The new keys are in use by then.
    ///   - withdrawn: called with the notice of a withdrawn link with which a system of a linked account closes an open
    ///     connection. The notice is not verified.
    package init(
        identity: SystemIdentity,
        trust: TrustStore? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        learned: @escaping @Sendable (RootChain) -> Void = { _ in },
        withdrawn: @escaping @Sendable (_ peer: PeerIdentity, _ notice: [UInt8]) -> Void = { _, _ in }
    ) throws {
        let trust = trust ?? identity.trustStore()
        let contexts = try Self.makeContexts(identity, trust.own.roots)
        self.state = Mutex(State(identity: identity, trust: trust, contexts: contexts))
        self.now = now
        self.learned = learned
        self.withdrawn = withdrawn
    }

    package var identity: SystemIdentity {
        self.state.withLock { $0.identity }
    }

    /// The accounts that are trusted now.
    package var trust: TrustStore {
        self.state.withLock { $0.trust }
    }

    /// This system's id. Use it where the whole identity is not needed, because that is large to hold across an
    /// `await`.
    package var systemID: SystemID {
        self.state.withLock { $0.identity.systemID }
    }

    /// Applies a renewed identity, a changed revocation list or changed links with other accounts: to every further
    /// handshake, and to the open connections. Connections with a revoked system are closed at once, and those with
    /// systems of accounts that are not linked any more, or whose grants changed.
    ///
    /// What the process already knows is never lost, even if the stored account is older, for example restored from a
    /// backup: root keys, revocations, and the discovery key.
    ///
    /// - Parameters:
    ///   - revocations: added to the present ones; `nil` adds nothing.
    ///   - links: replace the present ones; `nil` changes none.
    package func update(
        identity: SystemIdentity,
        revocations: RevocationList? = nil,
        links: [AccountLink]? = nil
    ) throws {
        try self.change { state in
            var own = identity.trustedAccount(revocations: revocations)
            // Learned root keys may not be stored yet, so they are added. In a conflict the stored keys prevail.
            own.merge(state.trust.own)
            state.identity = own.discoveryKey.map(identity.using) ?? identity
            state.trust.update(own: own)
            if let links { state.trust.update(links: links) }
        }
    }

    /// Uses further root keys of a trusted account from now on, and passes them on to be stored.
    ///
    /// - Throws: `TrustError` if they do not continue the chain of the known keys.
    package func learn(roots: RootChain) throws {
        var trust = self.trust
        // Another peer may have shown the same keys before.
        guard try trust.extend(roots: roots) else { return }
        try self.change { _ = try $0.trust.extend(roots: roots) }
        self.learned(roots)
    }

    /// Changes the trust, and closes the connections with peers that are no longer trusted.
    private func change(_ body: (inout State) throws -> Void) throws {
        let connections = try self.state.withLock { state in
            var changed = state
            try body(&changed)
            // New contexts invalidate the tickets of earlier TLS sessions.
            changed.contexts = try Self.makeContexts(changed.identity, changed.trust.own.roots)
            changed.verdicts.removeAll()
            state = changed
            return Array(state.connections.values)
        }
        for connection in connections { self.reconsider(connection) }
    }

    /// Closes a connection if its peer is no longer trusted.
    private func reconsider(_ connection: any AuthenticatedConnection) {
        guard let objection = self.trust.objection(to: connection.peer, now: self.now()) else { return }
        // Executed later even on the same event loop, so that the caller is not called back while it is in this method.
        connection.channel.eventLoop.execute { connection.refuseFurther(objection) }
    }

    /// Closes the connections with peers whose certificate or grants have ended, or whose root key is retired, by the
    /// wall clock. Call this method regularly.
    ///
    /// A connection has a timer of its own only for the end that was known when it opened. That timer counts monotonic
    /// time, so it is late after the clock was set forward or the machine was suspended. A timer for each retirement
    /// that is learned later would outlive the connection: the retirement can be decades away.
    package func closeExpired(at now: Date) {
        let (trust, connections) = self.state.withLock { ($0.trust, Array($0.connections.values)) }
        for connection in connections {
            let peer = connection.peer
            if peer.expiry <= now {
                connection.channel.eventLoop.execute { connection.endTrust() }
            } else if trust.retirement(of: peer).map({ $0 <= now }) ?? false,
                let objection = trust.objection(to: peer, now: now)
            {
                connection.channel.eventLoop.execute { connection.refuseFurther(objection) }
            }
        }
    }

    /// Ends the use of this identity: closes every open connection at once, and each further one when it opens. Peers
    /// receive the status `completed`.
    package func end() {
        let connections = self.state.withLock { state in
            state.hasEnded = true
            return state.connections.values
        }
        for connection in connections {
            connection.channel.eventLoop.execute { connection.abort(.completed, reason: nil) }
        }
    }

    /// Monitors a connection that has just opened. The trust may have changed since its handshake.
    func watch(_ connection: any AuthenticatedConnection) {
        let id = ObjectIdentifier(connection)
        let (trust, hasEnded) = self.state.withLock { state in
            state.connections[id] = connection
            return (state.trust, state.hasEnded)
        }
        connection.onClose { [weak self] _ in self?.state.withLock { $0.connections[id] = nil } }
        if let linked = connection as? Connection, case .linked = linked.peer.standing {
            linked.onWithdrawal { [weak self, peer = linked.peer] in self?.withdrawn(peer, $0) }
        }
        if let objection = trust.objection(to: connection.peer, now: self.now()) {
            connection.refuseFurther(objection)
        }
        if hasEnded { connection.abort(.completed, reason: nil) }
    }

    /// Decides whether a peer is trusted now.
    ///
    /// - Parameters:
    ///   - presented: the peer's certificate and the certificates that follow it.
    ///   - accepted: the standings to accept.
    package func authenticate(
        _ presented: TrustStore.Presented,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws -> PeerIdentity {
        let verdict = try self.judge(presented, accepting: accepted)
        // Other processes on this machine may have learned conflicting keys meanwhile; a later handshake detects that.
        if let roots = verdict.learned { try self.learn(roots: roots) }
        return verdict.peer
    }

    /// Judges a peer by the trust store, unless there is a verdict about the same certificates already.
    ///
    /// - Returns: the peer, and the root keys to learn from it.
    private func judge(
        _ presented: TrustStore.Presented,
        accepting accepted: Set<Standing.Kind>
    ) throws(TrustError) -> (peer: PeerIdentity, learned: RootChain?) {
        let now = self.now()
        let (trust, version, remembered) = self.state.withLock { state in
            (
                state.trust, state.verdicts.version,
                state.verdicts.peer(presenting: presented, accepting: accepted, now: now)
            )
        }
        if let remembered { return (remembered, nil) }
        let verdict = try trust.judge(presented, now: now, accepting: accepted)
        self.state.withLock { state in
            // The trust may have changed meanwhile.
            guard state.verdicts.version == version else { return }
            state.verdicts.remember(verdict, presenting: presented, now: now)
        }
        return (verdict.peer, verdict.learned)
    }

    /// Checks whether a host's certificate was signed by a key of its account, before this system shows its own.
    ///
    /// A host that is of the account but no longer trusted passes: it knows the account already, and gets the reason
    /// after the handshake. Root keys are not learned, because the host has not proved yet that it holds its private
    /// key.
    ///
    /// - Throws: `TrustError` if the host is a stranger.
    func verify(_ presented: TrustStore.Presented, accepting accepted: Set<Standing.Kind>) throws {
        do {
            _ = try self.judge(presented, accepting: accepted)
        } catch  where Self.formerTrust.contains(error.code) {
            // Authenticating the host after the handshake throws it again.
        }
    }

    /// The objections to certificates that a key of the account has signed.
    private static let formerTrust: Set<TrustError.Code> = [.expired, .notYetValid, .retiredRoot, .revoked]

    /// Creates the TLS handler for the caller's side of a connection.
    ///
    /// - Parameter verify: called with the host's certificates before this system's own are sent.
    /// - Returns: the handler, and the certificate that it shows the host, in DER.
    func clientHandler(
        verify: @escaping NIOSSLCustomVerificationCallbackWithMetadata = TransportSecurity.acceptForNow
    ) throws -> (handler: NIOSSLClientHandler, certificate: [UInt8]) {
        let contexts = self.state.withLock { $0.contexts }
        // The server's name is not checked: a system is identified by its key, not by the name of an address.
        let handler = try NIOSSLClientHandler(
            context: contexts.client,
            serverHostname: nil,
            customVerificationCallbackWithMetadata: verify
        )
        return (handler, contexts.certificate)
    }

    package func serverHandler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(
            context: self.state.withLock { $0.contexts.server },
            customVerificationCallbackWithMetadata: Self.acceptForNow
        )
    }

    /// Accepts every certificate for now. TLS proves that the peer holds the private key of the certificate it
    /// presented. ``HandshakeHandler`` decides later whether that certificate is trusted, because this callback does
    /// not run when a TLS session is resumed, and because the handler's refusal can state the reason. The certificates
    /// after the peer's own are kept until then.
    @Sendable
    static func acceptForNow(
        _ certificates: [NIOSSLCertificate],
        _ promise: EventLoopPromise<NIOSSLVerificationResultWithMetadata>
    ) {
        guard !certificates.isEmpty else { return promise.succeed(.failed) }
        // One more certificate than the allowed maximum is kept, so that the check can detect an excess.
        let presented = certificates.prefix(RootChain.maxRoots + 1)
        let chain = presented.count > 1 ? ValidatedCertificateChain(Array(presented)) : nil
        promise.succeed(.certificateVerified(VerificationMetadata(chain)))
    }

    /// Creates the TLS contexts for both sides, with this system's certificate and key.
    ///
    /// - Parameter roots: the account's root keys. All but the first are sent after the certificate, so that peers that
    ///   know only an older root key learn the newer ones.
    private static func makeContexts(_ identity: SystemIdentity, _ roots: RootChain) throws -> Contexts {
        let (client, server) = try TLSConfiguration.contexts(
            certificates: [identity.certificate] + roots.successions,
            privateKeyPEM: identity.privateKeyPEM,
            alpn: ProtocolVersion.alpn
        )
        return Contexts(certificate: identity.certificate, client: client, server: server)
    }
}

extension TLSConfiguration {
    /// Creates the contexts of both sides of TLS 1.3. Each presents the certificates, and verifies none itself.
    static func contexts(
        certificates: [[UInt8]],
        privateKeyPEM: String,
        alpn: String
    ) throws -> (client: NIOSSLContext, server: NIOSSLContext) {
        var server = Self.makeServerConfiguration(
            certificateChain: try certificates.map { .certificate(try NIOSSLCertificate(bytes: $0, format: .der)) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(privateKeyPEM.utf8), format: .pem))
        )
        var client = Self.makeClientConfiguration()
        client.certificateChain = server.certificateChain
        client.privateKey = server.privateKey
        server.secure(alpn: alpn)
        client.secure(alpn: alpn)
        return (try NIOSSLContext(configuration: client), try NIOSSLContext(configuration: server))
    }

    private mutating func secure(alpn: String) {
        self.minimumTLSVersion = .tlsv13
        self.applicationProtocols = [alpn]
        // `.none` would not request a certificate from the peer.
        self.certificateVerification = .noHostnameVerification
        self.trustRoots = .certificates([])
        self.shutdownTimeout = .seconds(1)
    }
}
