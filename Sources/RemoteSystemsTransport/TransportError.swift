// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// An error below the app service: while connecting to a system, in its identity, or in the protocol.
package struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    package enum Code: Sendable, Hashable {
        /// No connection could be established: refused, no route, timed out, or unknown name.
        case unreachable
        /// The destination is outside the part of the network that may be used. Nothing was sent.
        case outOfReach
        /// This side does not trust the peer's certificate.
        case peerNotTrusted
        /// The peer refused the connection. ``TransportError/openStatus`` has the status.
        case refused
        /// The peer supports no protocol version that this side supports.
        case incompatibleVersion
        /// The peer broke the protocol.
        case protocolViolation
        /// The message is larger than the peer accepts.
        case messageTooLarge
        /// The message cannot be represented in the wire format.
        case invalidMessage
        /// The connection was closed already; nothing was sent.
        case connectionClosed
        /// The connection was lost before the response arrived. Whether the request was performed is unknown.
        case connectionLost
        /// No response arrived by the deadline. ``TransportError/wasSent`` is `true` if the request had been sent.
        case deadlineExceeded
        /// Listening on the port failed.
        case cannotListen
        /// This machine lacks a resource, such as memory or file descriptors.
        case localResources
    }

    /// The place where the failure occurred.
    package enum Side: String, Sendable, Hashable {
        case local, network, remote
    }

    package var code: Code
    package var message: String
    package var side: Side
    /// Whether a retry may succeed.
    package var canRetry: Bool
    package var openStatus: OpenStatus?
    /// The port at which the refusing system accepts the connection instead.
    package var redirect: Int?
    /// The system that refused.
    package var peer: SystemID?
    /// What the refusing system's certificate proved.
    package var peerStanding: Standing.Kind?
    /// The certificate of this system that was shown to the system that refused, in DER.
    package var ownCertificate: [UInt8]?
    package var closeStatus: CloseStatus?
    /// The failure code that the peer sent, or that this side sends to the peer; see ``FailureCode``.
    package var failureCode: String?
    package var wasSent: Bool
    /// The notice that came with a refusal because the peer's account withdrew the link, and the account that the
    /// peer's certificate proved. The notice is not verified.
    package var withdrawal: (account: AccountID, notice: [UInt8])?
    package var cause: (any Error)?
    /// The sentence for the peer, if ``message`` would be wrong from the peer's point of view.
    private var peerMessage: String?

    package init(
        _ code: Code,
        _ message: String,
        side: Side,
        canRetry: Bool = false,
        openStatus: OpenStatus? = nil,
        redirect: Int? = nil,
        peer: SystemID? = nil,
        closeStatus: CloseStatus? = nil,
        failureCode: String? = nil,
        wasSent: Bool = false,
        cause: (any Error)? = nil,
        toPeer peerMessage: String? = nil
    ) {
        self.code = code
        self.message = message
        self.side = side
        self.canRetry = canRetry
        self.openStatus = openStatus
        self.redirect = redirect
        self.peer = peer
        self.closeStatus = closeStatus
        self.failureCode = failureCode
        self.wasSent = wasSent
        self.cause = cause
        self.peerMessage = peerMessage
    }

    package var description: String { self.message }

    /// The message, worded for the peer that receives it: about the peer's own certificate it says "your certificate".
    var messageToPeer: String { self.peerMessage ?? (self.cause as? TrustError)?.messageToPeer ?? self.message }

    /// The failure to send to the peer.
    var wireFailure: WireFailure {
        var failure = WireFailure(self.messageToPeer, canRetry: self.canRetry)
        failure.code = self.failureCode
        failure.withdrawal = (self.cause as? TrustError)?.withdrawal?.bytes
        return failure
    }
}

extension TransportError {
    /// Returns the error for a peer that violated the protocol.
    ///
    /// - Parameter what: a sentence without a full stop, unless it ends with the description of another error.
    static func violation(
        _ what: String,
        _ code: FailureCode,
        closing status: CloseStatus = .unknown
    ) -> TransportError {
        TransportError(
            .protocolViolation,
            "The peer broke the protocol: \(what)\(what.hasSuffix(".") ? "" : ".")",
            side: .remote,
            closeStatus: status,
            failureCode: code.rawValue
        )
    }
}
