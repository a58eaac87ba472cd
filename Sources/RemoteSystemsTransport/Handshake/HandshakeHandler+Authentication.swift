// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL
internal import RemoteSystemsIdentity

extension HandshakeHandler {
    /// A caller's TLS handler. It checks the host's certificates when they arrive, which in TLS 1.3 is before this
    /// system's own certificate is sent (RFC 8446, section 2): a host that is not trusted learns nothing of it.
    ///
    /// - Parameter eventLoop: the channel's.
    func clientHandler(on eventLoop: any EventLoop) throws -> NIOSSLClientHandler {
        // Weak, because TLS keeps this closure as long as the connection lasts.
        let bound = NIOLoopBound(WeakHandler(handler: self), eventLoop: eventLoop)
        let (client, certificate) = try self.security.clientHandler { certificates, promise in
            guard let handler = bound.value.handler else { return promise.succeed(.failed) }
            handler.objection = handler.objection(to: certificates)
            guard handler.objection == nil else { return promise.succeed(.failed) }
            TransportSecurity.acceptForNow(certificates, promise)
        }
        self.ownCertificate = certificate
        return client
    }

    private func objection(to certificates: [NIOSSLCertificate]) -> TransportError? {
        do {
            try self.security.verify(TrustStore.Presented(certificates), accepting: self.accepted)
            return nil
        } catch {
            return TransportError(notTrusted: error)
        }
    }

    /// Decides whether the peer is trusted, once TLS has proved that it holds its certificate's private key.
    func authenticatePeer(context: ChannelHandlerContext) -> Result<PeerIdentity, TransportError> {
        do {
            let tls = try context.pipeline.syncOperations.handler(type: NIOSSLHandler.self)
            var certificates = [tls.peerCertificate].compactMap(\.self)
            certificates += (tls.peerValidatedCertificateChain?.dropFirst()).map(Array.init) ?? []
            let presented = try TrustStore.Presented(certificates)
            return .success(try self.security.authenticate(presented, accepting: self.accepted))
        } catch {
            return .failure(TransportError(notTrusted: error))
        }
    }
}

private struct WeakHandler {
    weak var handler: HandshakeHandler?
}

extension TrustStore.Presented {
    /// Converts the certificates of a peer to the form that the trust store reads.
    ///
    /// - Parameter certificates: the peer's own certificate, then those that follow it.
    fileprivate init(_ certificates: [NIOSSLCertificate]) throws {
        guard let own = certificates.first else {
            throw TransportError(
                .peerNotTrusted,
                "It showed no certificate.",
                side: .remote,
                failureCode: FailureCode.certificateInvalid.rawValue
            )
        }
        // One more certificate than the allowed maximum is read, so that the check can detect an excess.
        let successions = certificates.dropFirst().prefix(RootChain.maxRoots)
        self.init(try own.toDERBytes(), successions: try successions.map { try $0.toDERBytes() })
    }
}

extension TransportError {
    fileprivate init(notTrusted error: any Error) {
        if let error = error as? TransportError {
            self = error
            return
        }
        let objection = error as? TrustError
        self.init(
            .peerNotTrusted,
            objection?.message ?? "\(error)",
            side: .remote,
            failureCode: (objection?.failureCode ?? .certificateInvalid).rawValue,
            cause: error
        )
    }
}
