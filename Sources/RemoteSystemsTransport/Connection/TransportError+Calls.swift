// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The errors of calls without a response.
extension TransportError {
    static func closed(_ status: CloseStatus, cause: TransportError?) -> TransportError {
        TransportError(
            .connectionClosed,
            "The connection is closed; nothing was sent. Open a new one.",
            side: .local,
            canRetry: true,
            closeStatus: status,
            cause: cause
        )
    }

    static func lost(_ status: CloseStatus, cause: TransportError?) -> TransportError {
        TransportError(
            .connectionLost,
            "The connection was lost before the response arrived: whether the request was carried out is unknown.",
            side: cause?.side ?? .network,
            canRetry: true,
            closeStatus: status,
            wasSent: true,
            cause: cause
        )
    }

    static func overflow() -> TransportError {
        TransportError(
            .localResources,
            "\(OutgoingCalls<OutgoingCall>.maxWaiting) requests wait already for the other system's request window; "
                + "this one was not sent. Wait for responses before sending more.",
            side: .local,
            canRetry: true
        )
    }

    static func deadlineExceeded(wasSent: Bool) -> TransportError {
        TransportError(
            .deadlineExceeded,
            wasSent
                ? "No response arrived by the deadline: whether the request was carried out is unknown."
                : "The other system's request window was full until the deadline; nothing was sent.",
            side: .remote,
            canRetry: true,
            wasSent: wasSent
        )
    }

    static func unreadableResponse(_ error: ValueSetError) -> TransportError {
        TransportError(
            .protocolViolation,
            "The response cannot be read: \(error)",
            side: .remote,
            wasSent: true,
            cause: error
        )
    }
}
