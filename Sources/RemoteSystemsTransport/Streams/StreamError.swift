// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Why a stream failed, or could not be offered.
package struct StreamError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable {
        /// The connection ended before the peer had sent its last byte: what was read is not all.
        case truncated
        /// The connection ended before it was certain that the peer has everything.
        case connectionLost
        /// The peer gave the stream up; ``StreamError/failureCode`` and ``StreamError/message`` hold its reason.
        case abortedByPeer
        /// This side gave the stream up.
        case aborted
        /// The peer is alive and took nothing of what was sent for as long as the stream waits.
        case stalled
        /// The peer is not trusted any more.
        case peerNotTrusted
        /// The peer broke the protocol.
        case protocolViolation
        /// The stream was used in an order that makes no sense.
        case misuse
        /// The offer was not taken in time.
        case offerExpired
        /// There are as many offers as this side keeps, in all or for one system.
        case tooManyOffers
        /// The file system has no space left.
        case storageFull
        /// A file could not be read or written.
        case fileFailed
    }

    package var code: Code
    package var message: String
    package var side: TransportError.Side
    /// Whether the same thing, done again over another stream, may succeed.
    package var canRetry: Bool
    /// The code that the peer sent, or that it is sent; see ``FailureCode``.
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
    /// What the peer gets as the reason of an abort.
    var wireFailure: WireFailure {
        var failure = WireFailure(self.message, canRetry: self.canRetry)
        failure.code = self.failureCode
        return failure
    }

    /// This side gives the stream up for this reason.
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
            failure.text.isEmpty ? "The other side gave the stream up." : failure.text,
            side: .remote,
            canRetry: failure.canRetry,
            failureCode: failure.code
        )
    }

    static func truncated(cause: (any Error)?) -> StreamError {
        StreamError(
            .truncated,
            "The stream ended before its last byte. What was read is not all of it.",
            side: .network,
            canRetry: true,
            cause: cause
        )
    }

    static func connectionLost(cause: (any Error)?) -> StreamError {
        StreamError(
            .connectionLost,
            "The connection ended before the other side had confirmed that it has everything.",
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
            "The other side has taken nothing of the stream for \(seconds) s, and was not waited for any longer.",
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
    /// Of a stream that its application gives up without saying why.
    package static let streamCancelled = WireFailure("The other side gave the stream up.", code: .streamCancelled)
}
