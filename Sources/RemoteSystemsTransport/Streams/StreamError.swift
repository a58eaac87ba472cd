// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An error of a stream, or of an offer of a stream.
package struct StreamError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    package enum Code: String, Sendable, Hashable {
        /// The connection ended before the peer had sent its last byte. The bytes that were read are incomplete.
        case truncated
        /// The connection ended before the peer had confirmed that it received everything.
        case connectionLost
        /// The peer aborted the stream. ``StreamError/failureCode`` and ``StreamError/message`` contain its reason.
        case abortedByPeer
        /// This side aborted the stream.
        case aborted
        /// The peer is alive, but read nothing for longer than ``StreamLimits/stallTimeout``.
        case stalled
        /// The peer is no longer trusted.
        case peerNotTrusted
        /// The peer broke the protocol.
        case protocolViolation
        /// The stream was used in an invalid order.
        case misuse
        /// The offered stream was not opened in time.
        case offerExpired
        /// The maximum number of offers is pending, in all or for one system.
        case tooManyOffers
        /// The file system has no space left.
        case storageFull
        /// A file could not be read or written.
        case fileFailed
    }

    package var code: Code
    package var message: String
    package var side: TransportError.Side
    /// Whether a retry over another stream may succeed.
    package var canRetry: Bool
    /// The failure code that the peer sent, or that this side sends to the peer; see ``FailureCode``.
    package var failureCode: String?
    package var cause: (any Error)?

    package init(
        _ code: Code,
        _ message: String,
        side: TransportError.Side,
        canRetry: Bool = false,
        failureCode: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.side = side
        self.canRetry = canRetry
        self.failureCode = failureCode
        self.cause = cause
    }

    package var description: String { self.message }
}

extension StreamError {
    /// The reason of an abort, as it is sent to the peer.
    var wireFailure: WireFailure {
        var failure = WireFailure(self.message, canRetry: self.canRetry)
        failure.code = self.failureCode
        return failure
    }

    /// The error when this side aborts the stream for a reason.
    static func aborted(_ failure: WireFailure, side: TransportError.Side = .local, cause: (any Error)? = nil)
        -> StreamError
    {
        StreamError(
            .aborted,
            failure.text,
            side: side,
            canRetry: failure.canRetry,
            failureCode: failure.code,
            cause: cause
        )
    }

    static func abortedByPeer(_ failure: WireFailure) -> StreamError {
        StreamError(
            .abortedByPeer,
            failure.text.isEmpty ? "The other side aborted the stream." : failure.text,
            side: .remote,
            canRetry: failure.canRetry,
            failureCode: failure.code
        )
    }

    static func truncated(cause: (any Error)?) -> StreamError {
        StreamError(
            .truncated,
            "The stream ended before its last byte. The bytes that were read are incomplete.",
            side: .network,
            canRetry: true,
            cause: cause
        )
    }

    static func connectionLost(cause: (any Error)?) -> StreamError {
        StreamError(
            .connectionLost,
            "The connection ended before the other side had confirmed that it received everything.",
            side: .network,
            canRetry: true,
            cause: cause
        )
    }

    static func silent(seconds: Double) -> StreamError {
        StreamError(
            .connectionLost,
            "The stream was lost: the other system has been silent for \(seconds) s.",
            side: .network,
            canRetry: true
        )
    }

    static func stalled(seconds: Double) -> StreamError {
        StreamError(
            .stalled,
            "The other side read nothing from the stream for \(seconds) s, so the stream was aborted.",
            side: .remote,
            canRetry: true,
            failureCode: FailureCode.streamStalled.rawValue
        )
    }

    static let certificateExpired = StreamError(
        .peerNotTrusted,
        "The other system's certificate has expired. Renew it there, then open the stream again.",
        side: .remote,
        canRetry: true,
        failureCode: FailureCode.certificateExpired.rawValue
    )

    static func violation(_ error: TransportError) -> StreamError {
        StreamError(
            .protocolViolation,
            error.message,
            side: .remote,
            failureCode: error.failureCode,
            cause: error
        )
    }

    static let finished = StreamError(
        .misuse,
        "The stream was finished, so no more can be written to it.",
        side: .local
    )

    static let alreadyReading = StreamError(
        .misuse,
        "The stream is being read by another task. Read it from one task at a time.",
        side: .local
    )
}

extension WireFailure {
    /// The reason of a stream that its application aborts without a reason of its own.
    package static let streamCancelled = WireFailure("The other side aborted the stream.", code: .streamCancelled)
}
