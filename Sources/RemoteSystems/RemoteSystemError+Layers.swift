// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// Converts the errors of the lower layers.
extension RemoteSystemError {
    package init(_ error: any Error) {
        switch error {
        case let error as RemoteSystemError: self = error
        case let error as TransportError: self.init(transport: error)
        case let error as StreamError: self.init(stream: error)
        case let error as IdentityError:
            self.init(
                .identity,
                error.message,
                side: Self.peerCodes.contains(error.code) ? .remote : .local,
                canRetry: Self.retryCodes.contains(error.code),
                cause: error
            )
        case let error as PairingStop:
            self.init(error.error)
            self.side = error.isCausedByPeer ? .remote : .local
        case let error as TrustError:
            self.init(.identity, error.message, side: .local, cause: error)
        case let error as ValueSetError:
            self.init(.invalidMessage, "The message is not allowed: \(error)", side: .local, cause: error)
        default:
            let message = "An unexpected error occurred on this machine: \(error)"
            self.init(.localResources, message, side: .local, cause: error)
        }
    }

    /// The codes of errors that the other system causes while a system joins or pairs.
    private static let peerCodes: Set<IdentityError.Code> = [
        .invitationUsed, .wrongSecret, .wrongAccount, .joinFailed, .pairingRefused, .pairingBusy, .pairingFailed,
    ]

    /// The codes of errors after which the same operation may succeed.
    private static let retryCodes: Set<IdentityError.Code> = [
        .busy, .pairingDenied, .pairingRefused, .pairingTimedOut, .pairingBusy,
    ]

    private init(transport error: TransportError) {
        let code: Code =
            switch error.code {
            case .unreachable: .unreachable
            case .outOfReach: .misuse
            case .peerNotTrusted: .notTrusted
            case .refused: .refused
            case .incompatibleVersion: .incompatibleVersion
            case .protocolViolation: .protocolViolation
            case .messageTooLarge: .messageTooLarge
            case .invalidMessage: .invalidMessage
            case .connectionClosed: .connectionClosed
            case .connectionLost: .connectionLost
            case .deadlineExceeded: .deadlineExceeded
            case .cannotListen: .cannotListen
            case .localResources: .localResources
            }
        let side: Side =
            switch error.side {
            case .local: .local
            case .network: .network
            case .remote: .remote
            }
        self.init(
            code,
            error.message,
            side: side,
            canRetry: error.canRetry,
            outcome: error.wasSent ? .unknown : .notExecuted,
            // Other codes carry the failure code that was sent to the peer, not one received from it.
            failureCode: error.code == .refused ? error.failureCode : nil,
            cause: error.cause ?? error
        )
    }
}
