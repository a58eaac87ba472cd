// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A failure: its kind, where it happened, and whether a retry is useful and safe.
///
/// Operations that return a Project Rome status report the outcome by that status, and attach this error as an
/// explanation. All other operations throw it.
public struct RemoteSystemError: Error, Sendable {
    /// The kind of failure.
    ///
    /// ``RemoteSystemError/canRetry`` states for each error whether a retry may succeed. Operations that failed with
    /// ``misuse``, ``invalidArgument``, ``invalidMessage``, ``invalidConnectionToken`` or ``incompatibleVersion``
    /// cannot be retried unchanged. Later versions may add codes: write a default case.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case misuse, identity, unreachable, notTrusted, refused, incompatibleVersion, protocolViolation
            case invalidMessage, messageTooLarge, connectionClosed, connectionLost, deadlineExceeded
            case invalidArgument, invalidConnectionToken, applicationAlreadyRunning
            case serviceFailed, cannotListen, discovery, localResources
            case streamTruncated, streamAborted, fileFailed
        }

        private let kind: Kind

        /// The code's name, as the command line prints it.
        public var description: String { self.kind.rawValue }

        /// The API was called in the wrong order, for example a connection was opened twice.
        public static let misuse = Code(kind: .misuse)
        /// An argument is not valid: a number outside its range, a service name or application id that is not allowed
        /// (1 to 256 bytes, no control, invisible or line-breaking characters), or a value of the wrong form. The
        /// message states which argument.
        public static let invalidArgument = Code(kind: .invalidArgument)
        /// This system's own account or certificate cannot be used, or a system could not join. The ``cause`` is an
        /// ``IdentityError`` or a ``TrustError``; an ``IdentityError`` with ``IdentityError/Code/accountLeft`` if this
        /// system left the account while the process was using it.
        public static let identity = Code(kind: .identity)
        /// No system responded at the known addresses.
        public static let unreachable = Code(kind: .unreachable)
        /// The peer's certificate does not match the expected system or account, has expired or was revoked.
        public static let notTrusted = Code(kind: .notTrusted)
        /// The peer responded and refused the connection. ``failureCode`` holds the peer's reason.
        public static let refused = Code(kind: .refused)
        /// The two systems have no protocol version in common.
        public static let incompatibleVersion = Code(kind: .incompatibleVersion)
        /// The peer violated the protocol, or its response does not satisfy the schema or cannot be decoded.
        public static let protocolViolation = Code(kind: .protocolViolation)
        /// The message does not satisfy the schema or cannot be encoded. Nothing was sent.
        public static let invalidMessage = Code(kind: .invalidMessage)
        /// The text is not a connection token, its version is unknown, or its use is not permitted.
        public static let invalidConnectionToken = Code(kind: .invalidConnectionToken)
        /// The message is larger than the peer accepts. Nothing was sent.
        public static let messageTooLarge = Code(kind: .messageTooLarge)
        /// The connection was closed before the request was sent. Send the request over another connection.
        public static let connectionClosed = Code(kind: .connectionClosed)
        /// The connection was lost before the response arrived. ``outcome`` states whether the request may have been
        /// executed.
        public static let connectionLost = Code(kind: .connectionLost)
        /// No response arrived by the deadline. ``outcome`` states whether the request may have been executed.
        public static let deadlineExceeded = Code(kind: .deadlineExceeded)
        /// The service received the request and reported a failure.
        public static let serviceFailed = Code(kind: .serviceFailed)
        /// Another process on this system runs under the same application id, and the two do not share it
        /// (``RemoteSystemHost/Options/allowsSeveralProcesses``).
        public static let applicationAlreadyRunning = Code(kind: .applicationAlreadyRunning)
        /// The host cannot listen on the port.
        public static let cannotListen = Code(kind: .cannotListen)
        /// Discovery failed: systems cannot be found, or this system cannot be advertised.
        public static let discovery = Code(kind: .discovery)
        /// This machine lacks a resource, such as memory or file descriptors.
        public static let localResources = Code(kind: .localResources)
        /// The stream's connection ended before the last byte. The data read so far is incomplete.
        public static let streamTruncated = Code(kind: .streamTruncated)
        /// One side aborted the stream. The message holds the reason.
        public static let streamAborted = Code(kind: .streamAborted)
        /// A file to be sent or received could not be read or written.
        public static let fileFailed = Code(kind: .fileFailed)
    }

    /// The place of a failure: this machine, the network or the other machine.
    public enum Side: String, Sendable, Hashable, Codable {
        /// The failure occurred on this machine.
        case local
        /// The failure occurred between the two machines.
        case network
        /// The failure occurred on the other machine.
        case remote
    }

    /// Whether the request was executed.
    public enum Outcome: String, Sendable, Hashable, Codable {
        /// The request was not executed. A retry cannot repeat it.
        case notExecuted
        /// The request may have been executed: no response arrived.
        case unknown
        /// The service received the request and reported a failure.
        case failed
    }

    /// The kind of failure, for programs.
    public var code: Code
    /// A sentence for people: what happened and what to do. Contains no message contents and no secrets.
    public var message: String
    /// The place of the failure: this machine, the network or the other machine.
    public var side: Side
    /// Whether the same operation may succeed when it is repeated.
    ///
    /// A retry that may succeed is not always safe: a request whose ``outcome`` is ``Outcome/unknown`` may have been
    /// executed. Repeat such a request only with an ``IdempotencyKey``.
    public var canRetry: Bool
    /// Whether the request was executed.
    public var outcome: Outcome
    /// The machine-readable reason that the peer sent; `nil` if the peer sent none or did not fail.
    ///
    /// Codes without a dot belong to the wire protocol (`Docs/wire-protocol.md`, section 14), for example
    /// `message-not-allowed`. Codes with a dot belong to the service (``AppServiceFailure/code``).
    public var failureCode: String?
    /// The underlying error; `nil` if there is none.
    public var cause: (any Error)?

    /// Creates an error, for a test or for an API of your own.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a sentence for people: what happened and what to do.
    ///   - side: the place of the failure.
    ///   - canRetry: whether the same operation may succeed when it is repeated. Defaults to `false`.
    ///   - outcome: whether the request was executed. Defaults to ``Outcome/notExecuted``.
    ///   - failureCode: the machine-readable reason that the peer sent. Defaults to `nil`.
    ///   - cause: the underlying error. Defaults to `nil`.
    public init(
        _ code: Code,
        _ message: String,
        side: Side,
        canRetry: Bool = false,
        outcome: Outcome = .notExecuted,
        failureCode: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.side = side
        self.canRetry = canRetry
        self.outcome = outcome
        self.failureCode = failureCode
        self.cause = cause
    }
}

extension RemoteSystemError: CustomStringConvertible {
    /// The ``message``, so that the error prints as a sentence.
    public var description: String { self.message }
}

extension RemoteSystemError: CustomDebugStringConvertible {
    /// All values of the error, including the cause.
    public var debugDescription: String {
        let retry = self.canRetry ? "may be retried" : "retrying is of no use"
        let code = self.failureCode.map { "\(self.code), \($0)" } ?? "\(self.code)"
        let cause = self.cause.map { "; cause: \($0)" } ?? ""
        return "\(code) (\(self.side.rawValue), \(retry), outcome \(self.outcome.rawValue)): \(self.message)\(cause)"
    }
}
