// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import NIOCore
package import RemoteSystemsIdentity

/// An open connection with a peer that proved who it is, whether it carries messages or a stream: what concerns trust,
/// limits and shutting down.
package protocol AuthenticatedConnection: AnyObject, Sendable {
    var peer: PeerIdentity { get }
    var channel: any Channel { get }

    /// Closes gracefully, within the drain time. Returns once it is closed.
    func close(_ status: CloseStatus) async
    /// Closes at once; the peer gets the reason.
    func abort(_ status: CloseStatus, reason: TransportError?)
    /// Calls back once, on the event loop, when the connection has ended. If it has, at once if this is the event
    /// loop, else soon.
    func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void)
}

extension AuthenticatedConnection {
    /// Closes at once. Returns once it is closed.
    package func abortAndWait(_ status: CloseStatus = .cancelled) async {
        self.abort(status, reason: nil)
        _ = await self.waitUntilClosed()
    }

    /// Returns when the connection has ended, saying how.
    package func waitUntilClosed() async -> CloseStatus {
        await withCheckedContinuation { continuation in
            self.onClose { continuation.resume(returning: $0) }
        }
    }

    /// Closes at once: the peer is not trusted any more.
    func refuseFurther(_ objection: TrustError) {
        self.abort(
            .unknown,
            reason: TransportError(
                .peerNotTrusted,
                objection.message,
                side: .remote,
                failureCode: objection.failureCode.rawValue,
                cause: objection
            )
        )
    }
}

extension PeerIdentity {
    /// How much longer its certificate holds: no less than 0, and at most longer than any machine stays up.
    var trustedTime: TimeAmount {
        .nanoseconds(Int64(min(max(self.expiry.timeIntervalSinceNow, 0), 1e9) * 1e9))
    }
}
