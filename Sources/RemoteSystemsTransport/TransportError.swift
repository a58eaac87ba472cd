// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// What went wrong below the app service: on the way to a system, in its identity, or in the protocol.
package struct TransportError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// No connection could be made: refused, no route, timed out, name unknown.
        case unreachable
        /// It lies outside of the part of the network that may be used. Nothing was sent.
        case outOfReach
        /// The peer's certificate is not acceptable to us.
        case peerNotTrusted
        /// The peer answered with a refusal; its status is in ``TransportError/openStatus``.
        case refused
        /// The peer speaks no protocol version that we speak.
        case incompatibleVersion
        /// The peer broke the protocol.
        case protocolViolation
        /// The message is larger than the peer takes.
        case messageTooLarge
        /// The message cannot be said in the wire format.
        case invalidMessage
        /// The connection had been closed; nothing was sent.
        case connectionClosed
        /// The connection was lost while the answer was awaited: whether the request was carried out is unknown.
        case connectionLost
        /// No answer by the deadline. ``TransportError/wasSent`` says whether the request had been sent.
        case deadlineExceeded
        /// A listening port could not be had.
        case cannotListen
        /// Too little memory, too many open files, and the like on this machine.
        case localResources
    }

    /// Where the trouble lies (design: every failure says which side).
    package enum Side: String, Sendable, Hashable {
        case local, network, remote
    }

    package var code: Code
    package var message: String
    package var side: Side
    /// Whether the same thing, done again, may succeed.
    package var canRetry: Bool
    package var openStatus: OpenStatus?
    /// Where the system that refused takes the connection instead.
    package var redirect: Int?
    /// The system that refused.
    package var peer: SystemID?
    package var closeStatus: CloseStatus?
    /// The code that the peer sent with its failure, or that it is sent with ours; see ``FailureCode``.
    package var failureCode: String?
    package var wasSent: Bool
    package var cause: (any Error)?
    /// The sentence for the peer, if ``message`` reads wrongly there.
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

    /// The sentence for the peer. Where it is about the peer's own certificate, "your" is the peer's.
    var messageToPeer: String { self.peerMessage ?? (self.cause as? TrustError)?.messageToPeer ?? self.message }

    /// What is sent to the peer.
    var wireFailure: WireFailure {
        var failure = WireFailure(self.messageToPeer, canRetry: self.canRetry)
        failure.code = self.failureCode
        return failure
    }
}

extension TransportError {
    /// - Parameter what: Without a full stop, unless it ends with the sentence of another error.
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
