// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A failure, with everything somebody needs who has to decide what to do about it.
///
/// Where Project Rome has a status for an outcome, the outcome is told by that status and this error goes with it as an
/// explanation; it is thrown where the caller asked for a result and there is none.
public struct RemoteSystemError: Error, Sendable {
    /// What kind of failure it is.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case misuse, identity, unreachable, notTrusted, refused, incompatibleVersion, protocolViolation
            case invalidMessage, messageTooLarge, connectionClosed, connectionLost, deadlineExceeded
            case invalidArgument, invalidConnectionToken, applicationAlreadyRunning
            case serviceFailed, cannotListen, discovery, localResources
            case streamTruncated, streamAborted, fileFailed
        }

        private let kind: Kind

        /// The code's name, as it is printed by the command line.
        public var description: String { self.kind.rawValue }

        /// The API was used in an order that makes no sense, such as opening a connection twice.
        public static let misuse = Code(kind: .misuse)
        /// A value given to the API is outside its valid range, or breaks the rule for names. The message names the value.
        public static let invalidArgument = Code(kind: .invalidArgument)
        /// This system's own account or certificate cannot be used.
        public static let identity = Code(kind: .identity)
        /// Nobody answers at the known addresses.
        public static let unreachable = Code(kind: .unreachable)
        /// Somebody answers who is not the system that was meant, or not of this account.
        public static let notTrusted = Code(kind: .notTrusted)
        /// The other side answered, and does not want this connection.
        public static let refused = Code(kind: .refused)
        /// The two sides have no protocol version in common.
        public static let incompatibleVersion = Code(kind: .incompatibleVersion)
        /// The other side broke the protocol.
        public static let protocolViolation = Code(kind: .protocolViolation)
        /// The message does not satisfy the schema, or cannot be encoded. Nothing was sent.
        public static let invalidMessage = Code(kind: .invalidMessage)
        /// The text is no connection token, or one of a version that is not known here.
        public static let invalidConnectionToken = Code(kind: .invalidConnectionToken)
        /// The message is larger than the other side takes. Nothing was sent.
        public static let messageTooLarge = Code(kind: .messageTooLarge)
        /// The connection was closed before; nothing was sent.
        public static let connectionClosed = Code(kind: .connectionClosed)
        /// The connection was lost before the answer came.
        public static let connectionLost = Code(kind: .connectionLost)
        /// No answer came by the deadline.
        public static let deadlineExceeded = Code(kind: .deadlineExceeded)
        /// The service got the request and answered that it failed.
        public static let serviceFailed = Code(kind: .serviceFailed)
        /// Another program runs on this system under the same application id, and the two do not share it
        /// (``RemoteSystemHost/Options/allowsSeveralProcesses``).
        public static let applicationAlreadyRunning = Code(kind: .applicationAlreadyRunning)
        /// The port to listen on cannot be had.
        public static let cannotListen = Code(kind: .cannotListen)
        /// Systems cannot be looked for, or this one not announced.
        public static let discovery = Code(kind: .discovery)
        /// This machine is short of something: memory, open files.
        public static let localResources = Code(kind: .localResources)
        /// The connection of a stream ended before its last byte. What was read is not all of it.
        public static let streamTruncated = Code(kind: .streamTruncated)
        /// One side gave the stream up. The message is its reason.
        public static let streamAborted = Code(kind: .streamAborted)
        /// A file that was to be sent or received could not be read or written.
        public static let fileFailed = Code(kind: .fileFailed)
    }

    /// Where the trouble lies.
    public enum Side: String, Sendable, Hashable, Codable {
        /// On this machine.
        case local
        /// Between the two.
        case network
        /// On the other machine.
        case remote
    }

    /// Whether the request was carried out.
    public enum Outcome: String, Sendable, Hashable, Codable {
        /// It was not, for certain: trying again repeats nothing.
        case notExecuted
        /// It may have been: the answer did not come.
        case unknown
        /// It was, and failed.
        case failed
    }

    /// What kind of failure it is.
    public var code: Code
    /// A sentence for a person: what happened and what to do. It holds no message contents and no secrets.
    public var message: String
    /// Where the trouble lies.
    public var side: Side
    /// Whether the same thing, done again, may succeed. That it may succeed does not say that it is safe: a request
    /// whose ``outcome`` is ``Outcome/unknown`` may have been carried out, and is only sent again with an
    /// ``IdempotencyKey``.
    public var canRetry: Bool
    /// Whether the request was carried out.
    public var outcome: Outcome
    /// The reason that the other side gave, for programs. Codes without a dot are those of the wire protocol
    /// (`Docs/wire-protocol.md`, section 14), such as `message-not-allowed`; those with a dot are the service's own
    /// (``AppServiceFailure/code``). `nil` if the other side gave none, or did not fail.
    public var failureCode: String?
    /// What is behind it, if anything is known.
    public var cause: (any Error)?

    /// Creates an error.
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
    /// The sentence.
    public var description: String { self.message }
}

extension RemoteSystemError: CustomDebugStringConvertible {
    /// Everything, the cause included.
    public var debugDescription: String {
        let retry = self.canRetry ? "may be retried" : "retrying is of no use"
        let code = self.failureCode.map { "\(self.code), \($0)" } ?? "\(self.code)"
        let cause = self.cause.map { "; cause: \($0)" } ?? ""
        return "\(code) (\(self.side.rawValue), \(retry), outcome \(self.outcome.rawValue)): \(self.message)\(cause)"
    }
}
