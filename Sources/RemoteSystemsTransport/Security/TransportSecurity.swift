// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import NIOCore
package import NIOSSL
package import RemoteSystemsIdentity
internal import Synchronization

/// Decides about a peer by its certificate (DER). Throws when it is not to be trusted.
package typealias PeerAuthorization = @Sendable ([UInt8]) throws -> PeerIdentity

/// This system's identity made ready for TLS: certificates, keys and the rule of whom to trust.
///
/// Shared by every listener and connector of a process. When the identity is renewed or the trust changes, new TLS
/// contexts are made, so that no ticket of an old session is good any more, and connections with peers that are trusted
/// no more end.
package final class TransportSecurity: Sendable {
    private struct State: Sendable {
        var identity: SystemIdentity
        var policy: TrustPolicy
        var client: NIOSSLContext
        var server: NIOSSLContext
        /// Every open connection, whoever opened it.
        var connections: [ObjectIdentifier: any AuthenticatedConnection] = [:]
        /// Whether this system's identity is used no more.
        var hasEnded = false
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Date

    package init(
        identity: SystemIdentity,
        revoked: Set<SystemID> = [],
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        self.state = Mutex(try Self.makeState(identity, revoked: revoked))
        self.now = now
    }

    package var identity: SystemIdentity {
        self.state.withLock { $0.identity }
    }

    /// This system's id: all that most callers want of the identity, which is large to carry across an `await`.
    package var systemID: SystemID {
        self.state.withLock { $0.identity.systemID }
    }

    /// Takes a renewed identity or a changed revocation list into use: for every handshake from now on, and for
    /// the connections that are open, of which those with a revoked system end at once.
    ///
    /// - Parameter revoked: `nil` leaves the list as it is, so that renewing lets nobody back in.
    package func update(identity: SystemIdentity, revoked: Set<SystemID>? = nil) throws {
        let (policy, connections) = try self.state.withLock { state in
            let (connections, hasEnded) = (state.connections, state.hasEnded)
            state = try Self.makeState(identity, revoked: revoked ?? state.policy.revoked)
            state.connections = connections
            state.hasEnded = hasEnded
            return (state.policy, connections.values)
        }
        for connection in connections {
            guard let objection = policy.objection(to: connection.peer) else { continue }
            // Not at once even on its own event loop: whoever changes the trust need not expect to be called back by it.
            connection.channel.eventLoop.execute { connection.refuseFurther(objection) }
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
        let (objection, hasEnded) = self.state.withLock { state in
            state.connections[id] = connection
            return (state.policy.objection(to: connection.peer), state.hasEnded)
        }
        connection.onClose { [weak self] _ in self?.state.withLock { $0.connections[id] = nil } }
        if let objection { connection.refuseFurther(objection) }
        if hasEnded { connection.abort(.completed, reason: nil) }
    }

    /// Whether this peer may talk to us, now.
    ///
    /// - Parameter accepted: the standings that will do.
    package func authorise(
        _ certificate: [UInt8],
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws -> PeerIdentity {
        let policy = self.state.withLock { $0.policy }
        return try policy.authorise(
            peerCertificate: certificate,
            now: self.now(),
            accepting: accepted
        )
    }

    package func clientHandler() throws -> NIOSSLClientHandler {
        // The server's name is not checked: systems are known by their keys, not by the names of their addresses.
        try NIOSSLClientHandler(
            context: self.state.withLock { $0.client },
            serverHostname: nil,
            customVerificationCallbackWithMetadata: Self.acceptForNow
        )
    }

    package func serverHandler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(
            context: self.state.withLock { $0.server },
            customVerificationCallbackWithMetadata: Self.acceptForNow
        )
    }

    /// TLS proves that the peer holds the key of the certificate it showed. Whether that certificate is acceptable is
    /// decided in ``HandshakeHandler`` instead of here, because this callback does not run when a session is resumed, and
    /// because a refusal from there can say why.
    @Sendable
    static func acceptForNow(
        _ certificates: [NIOSSLCertificate],
        _ promise: EventLoopPromise<NIOSSLVerificationResultWithMetadata>
    ) {
        promise.succeed(certificates.isEmpty ? .failed : .certificateVerified(VerificationMetadata(nil)))
    }

    private static func makeState(_ identity: SystemIdentity, revoked: Set<SystemID>) throws -> State {
        let certificate = try NIOSSLCertificate(bytes: identity.certificate, format: .der)
        let key = try NIOSSLPrivateKey(bytes: Array(identity.privateKeyPEM.utf8), format: .pem)
        var server = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        var client = TLSConfiguration.makeClientConfiguration()
        client.certificateChain = server.certificateChain
        client.privateKey = server.privateKey
        server.secure(alpn: ProtocolVersion.alpn)
        client.secure(alpn: ProtocolVersion.alpn)
        return State(
            identity: identity,
            policy: identity.trustPolicy(revoked: revoked),
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
