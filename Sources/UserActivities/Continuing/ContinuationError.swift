// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// The reason why an activity could not be continued.
public struct ContinuationError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. Later versions may add codes: write a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, CaseIterable {
            case declined, timedOut, originGone, activityUnknown, alreadyContinued, payloadInvalid, payloadTooLarge
            case notAuthorized, noHandler, handlerFailed, streamsNotSupported, streamFailed, disabled
            case publisherMismatch, versionNotSupported, busy
        }

        private let kind: Kind

        static var all: [Code] { Kind.allCases.map { Code(kind: $0) } }

        /// The code's name, as the command line prints it.
        public var description: String { self.kind.rawValue }

        /// The receiving application declined (``ContinuationHandler/willContinueUserActivity(type:)``). Nothing was
        /// sent.
        public static let declined = Code(kind: .declined)
        /// A system or an application did not respond in time.
        public static let timedOut = Code(kind: .timedOut)
        /// The offering system or application cannot be reached any more.
        public static let originGone = Code(kind: .originGone)
        /// The application does not offer the activity any more.
        public static let activityUnknown = Code(kind: .activityUnknown)
        /// Another system has continued the activity.
        public static let alreadyContinued = Code(kind: .alreadyContinued)
        /// The content breaks a rule, or is not of the offered type.
        public static let payloadInvalid = Code(kind: .payloadInvalid)
        /// The content exceeds ``UserActivityHost/maxPayloadBytes``.
        public static let payloadTooLarge = Code(kind: .payloadTooLarge)
        /// The offering system does not permit this system or application to continue the activity.
        public static let notAuthorized = Code(kind: .notAuthorized)
        /// No application of this system continues activities of the type.
        public static let noHandler = Code(kind: .noHandler)
        /// The receiving application failed, or could not continue the activity.
        public static let handlerFailed = Code(kind: .handlerFailed)
        /// The offering application does not supply streams for the activity.
        public static let streamsNotSupported = Code(kind: .streamsNotSupported)
        /// A stream could not be opened.
        public static let streamFailed = Code(kind: .streamFailed)
        /// Hand-off is switched off on one of the systems, or for one of the applications.
        public static let disabled = Code(kind: .disabled)
        /// The applications have different publishers, or the publisher of one of them is not proven.
        public static let publisherMismatch = Code(kind: .publisherMismatch)
        /// The versions do not fit: the receiving application does not read the content's
        /// ``UserActivity/payloadVersion``, and throws this code itself, or the systems use different versions of the
        /// protocol.
        public static let versionNotSupported = Code(kind: .versionNotSupported)
        /// Too many continuations are under way in one of the applications, or too many began in a short time. A retry
        /// after a moment may succeed.
        public static let busy = Code(kind: .busy)
    }

    /// The kind of failure, for programs.
    public var code: Code
    /// A sentence for people: what happened and what to do.
    public var message: String
    /// The place of the failure.
    public var side: RemoteSystemError.Side
    /// Whether the same continuation may succeed when it is repeated.
    public var canRetry: Bool
    /// The underlying error; `nil` if there is none.
    public var cause: (any Error)?

    /// Creates an error, for a test or for an API of your own.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a sentence for people: what happened and what to do.
    ///   - side: the place of the failure.
    ///   - canRetry: whether the same continuation may succeed when it is repeated. Defaults to `false`.
    ///   - cause: the underlying error. Defaults to `nil`.
    public init(
        _ code: Code,
        _ message: String,
        side: RemoteSystemError.Side,
        canRetry: Bool = false,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.side = side
        self.canRetry = canRetry
        self.cause = cause
    }

    /// The ``message``, so that the error prints as a sentence.
    public var description: String { self.message }
}

extension ContinuationError {
    static let applicationGone = ContinuationError(
        .originGone,
        "The application that offered the activity does not run any more.",
        side: .remote
    )
    static let streamsNotSupported = ContinuationError(
        .streamsNotSupported,
        "The application that offered the activity supplies no streams for it.",
        side: .remote
    )

    /// The codes that the service sends, by which the other side recognises a failure.
    private static let failureCodes: [String: Code] = [
        "declined": .declined, "timed-out": .timedOut, "origin-gone": .originGone, "unknown": .activityUnknown,
        "already-continued": .alreadyContinued, "payload-invalid": .payloadInvalid,
        "payload-too-large": .payloadTooLarge, "not-authorized": .notAuthorized, "no-handler": .noHandler,
        "handler-failed": .handlerFailed, "streams-not-supported": .streamsNotSupported,
        "stream-failed": .streamFailed, "disabled": .disabled, "publisher-mismatch": .publisherMismatch,
        "version-not-supported": .versionNotSupported, "busy": .busy,
    ]

    /// The failure that the service sends to its caller.
    var failure: AppServiceFailure {
        let code = Self.failureCodes.first { $0.value == self.code }?.key
        return AppServiceFailure(
            self.message,
            code: code.map { "\(ActivityDescriptor.topic).\($0)" },
            canRetry: self.canRetry
        )
    }

    /// Reads the failure of a response of the service.
    init(_ error: RemoteSystemError) {
        let code = error.failureCode.flatMap { text -> Code? in
            guard text.hasPrefix("\(ActivityDescriptor.topic).") else { return nil }
            return Self.failureCodes[String(text.dropFirst(ActivityDescriptor.topic.count + 1))]
        }
        if let code {
            self.init(code, error.message, side: .remote, canRetry: error.canRetry, cause: error)
            return
        }
        switch error.code {
        case .deadlineExceeded: self.init(.timedOut, error.message, side: error.side, canRetry: true, cause: error)
        case .incompatibleVersion: self.init(.versionNotSupported, error.message, side: error.side, cause: error)
        case .notTrusted: self.init(.notAuthorized, error.message, side: error.side, cause: error)
        case .messageTooLarge: self.init(.payloadTooLarge, error.message, side: error.side, cause: error)
        case .protocolViolation, .serviceFailed, .invalidMessage:
            self.init(.payloadInvalid, error.message, side: error.side, canRetry: error.canRetry, cause: error)
        default:
            // A retry opens another connection.
            let canRetry = error.canRetry || error.code == .connectionLost || error.code == .connectionClosed
            self.init(.originGone, error.message, side: error.side, canRetry: canRetry, cause: error)
        }
    }
}
