// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import NIOCore
package import RemoteSystemsIdentity

/// An open connection with an authenticated peer, for messages or for a stream. The protocol covers trust, limits and
/// shutdown.
package protocol AuthenticatedConnection: AnyObject, Sendable {
    var peer: PeerIdentity { get }
    var channel: any Channel { get }

    /// Closes gracefully, within the drain time. Returns after the connection has closed.
    func close(_ status: CloseStatus) async
    /// Closes at once, and sends the reason to the peer.
    func abort(_ status: CloseStatus, reason: TransportError?)
    /// Calls the listener once, on the event loop, when the connection has ended. If it has ended already, a call from
    /// the event loop notifies the listener at once, and a call from elsewhere as soon as possible.
    func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void)
}

extension AuthenticatedConnection {
    /// Closes at once. Returns after the connection has closed.
    package func abortAndWait(_ status: CloseStatus = .cancelled) async {
        self.abort(status, reason: nil)
        _ = await self.waitUntilClosed()
    }

    /// Returns the status when the connection has ended.
    package func waitUntilClosed() async -> CloseStatus {
        await withCheckedContinuation { continuation in
            self.onClose { continuation.resume(returning: $0) }
        }
    }

    /// Closes at once, because the time for which the peer is trusted is over.
    func endTrust() {
        self.abort(.unknown, reason: .trustEnded(in: self.peer))
    }

    /// Closes at once, because the peer is no longer trusted.
    func refuseFurther(_ objection: TrustError) {
        self.abort(.unknown, reason: TransportError(objection))
    }
}

extension PeerIdentity {
    /// The time for which the certificate remains valid. Clamped to 0–10⁹ s.
    var trustedTime: TimeAmount {
        .nanoseconds(Int64(min(max(self.expiry.timeIntervalSinceNow, 0), 1e9) * 1e9))
    }
}

extension TransportError {
    /// The reason to close an open connection whose peer is no longer trusted.
    fileprivate init(_ objection: TrustError) {
        self.init(
            .peerNotTrusted,
            objection.message,
            side: .remote,
            canRetry: objection.code == .grantsChanged,
            failureCode: objection.failureCode.rawValue,
            cause: objection
        )
    }

    /// The reason to close a connection at the end of the time for which its peer is trusted.
    static func trustEnded(in peer: PeerIdentity?) -> TransportError {
        if case .linked(_, let grants)? = peer?.standing, let end = grants.end, end == peer?.expiry {
            return TransportError(.grantsChanged)
        }
        return TransportError(
            .peerNotTrusted,
            "The other system's certificate has expired. That system must renew it; connect again afterwards.",
            side: .remote,
            canRetry: true,
            failureCode: FailureCode.certificateExpired.rawValue,
            toPeer: "Your certificate has expired. Renew it, then connect again."
        )
    }
}
