// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// The reason for a refusal, failure or close, for programs: the `code` of a failure map (`Docs/wire/registry.md`).
///
/// A code never changes its meaning, and none is removed. `Docs/wire-protocol.md`, section 14, specifies what the
/// receiver of a request, a hello or a frame does with each code. Codes with a dot are reserved for services; this
/// registry never contains one.
package enum FailureCode: String, CaseIterable, Sendable, Hashable {
    // MARK: Frames

    /// The frame's length is above the receiver's limit.
    case frameTooLong = "frame-too-long"
    /// The frame's length is 0.
    case frameEmpty = "frame-empty"
    /// The frame is not the array that its kind requires, or not in the canonical encoding.
    case frameMalformed = "frame-malformed"
    /// The peer took too long to send a whole frame.
    case frameTooSlow = "frame-too-slow"
    /// The host holds as many bytes of unfinished frames as it accepts, in all or of the peer's system.
    case unfinishedBytesExceeded = "unfinished-bytes-exceeded"
    /// A frame of this kind is not allowed in the current state of the connection.
    case frameUnexpected = "frame-unexpected"
    /// A request's number is not greater than the last one's.
    case requestOutOfOrder = "request-out-of-order"
    /// A request arrived after its sender's `close`.
    case requestAfterClose = "request-after-close"
    /// A response arrived for a request that is not outstanding.
    case responseUnexpected = "response-unexpected"
    /// More requests are outstanding than the receiver's `window`.
    case windowExceeded = "window-exceeded"
    /// More bytes of requests are outstanding than the receiver's `window-bytes`.
    case windowBytesExceeded = "window-bytes-exceeded"

    /// A state frame arrived for a topic without a subscription, or a second subscription to the same topic.
    case stateUnexpected = "state-unexpected"
    /// The peer has more subscriptions on the connection than this side accepts.
    case subscriptionsExceeded = "subscriptions-exceeded"

    // MARK: Hello

    /// TLS did not negotiate the application protocol.
    case protocolNotNegotiated = "protocol-not-negotiated"
    /// The peer's major version is not supported.
    case versionUnsupported = "version-unsupported"
    /// A value of the hello breaks a rule of its key, or a required key is missing.
    case helloMalformed = "hello-malformed"
    /// The hello requires a feature that the host does not have.
    case featureUnknown = "feature-unknown"

    // MARK: Trust

    /// The certificate breaks a rule that has no code of its own.
    case certificateInvalid = "certificate-invalid"
    /// The certificate has expired.
    case certificateExpired = "certificate-expired"
    /// The certificate is not valid yet.
    case certificateNotYetValid = "certificate-not-yet-valid"
    /// The system belongs to another account.
    case otherAccount = "other-account"
    /// The system was revoked.
    case revoked = "revoked"
    /// The link between the two accounts was withdrawn.
    case linkWithdrawn = "link-withdrawn"
    /// The grants of the link between the two accounts changed or ended; the caller may connect again.
    case grantsChanged = "grants-changed"
    /// The host is not the system that the caller expects.
    case otherSystem = "other-system"
    /// The request is not allowed for anonymous callers, whether or not its target exists.
    case notAuthorized = "not-authorized"

    // MARK: The target of the hello

    /// The host has no such application.
    case applicationNotFound = "application-not-found"
    /// The application is shutting down.
    case applicationClosing = "application-closing"
    /// The application could not be started.
    case applicationNotStarted = "application-not-started"
    /// The application accepts the connection at the failure's `port`.
    case applicationElsewhere = "application-elsewhere"
    /// The application listens on its machine's loopback interface only.
    case applicationOnLoopback = "application-on-loopback"
    /// The application offers no such service.
    case serviceNotFound = "service-not-found"
    /// The service accepts callers on its own system only.
    case callerNotLocal = "caller-not-local"
    /// The service accepts callers from certain applications only.
    case callerNotListed = "caller-not-listed"
    /// The host has reached its maximum number of connections.
    case tooManyConnections = "too-many-connections"
    /// The host has reached its maximum number of connections from the caller's system, or the system opens them too
    /// often.
    case tooManyConnectionsOfSystem = "too-many-connections-of-system"
    /// The host's `accept` does not fit into a frame.
    case acceptTooLong = "accept-too-long"

    // MARK: Responses

    /// The host holds as many bytes of requests as it accepts, in all or of the caller's system. The request was not
    /// performed.
    case requestBytesExceeded = "request-bytes-exceeded"
    /// The message breaks a rule of the value encoding, or the request's key is malformed.
    case messageMalformed = "message-malformed"
    /// The service's schema does not allow the message.
    case messageNotAllowed = "message-not-allowed"
    /// The handler's response cannot be sent: its schema does not allow it, or it has no encoding.
    case responseNotAllowed = "response-not-allowed"
    /// The response is longer than the requester accepts.
    case responseTooLarge = "response-too-large"
    /// The request was performed. The host holds as many bytes of unread responses as it accepts, in all or of the
    /// caller's system.
    case responseBytesExceeded = "response-bytes-exceeded"
    /// The handler failed without a reason.
    case handlerFailed = "handler-failed"
    /// The request was cancelled, or its timeout elapsed.
    case cancelled
    /// This side accepts no requests on this connection.
    case requestsNotTaken = "requests-not-taken"
    /// The idempotency key was already used with a different message.
    case keyReused = "key-reused"
    /// Too many requests with an idempotency key are in progress.
    case tooManyKeys = "too-many-keys"
    /// The host keeps as many idempotency keys as it accepts, in all or of the caller's system. The request was not
    /// performed.
    case keyQuotaExceeded = "key-quota-exceeded"
    /// The request was performed before; its response did not fit into the idempotency cache.
    case responseNotKept = "response-not-kept"

    // MARK: Streams

    /// The ticket opens no stream here: it is unknown, used, expired, issued to another system, or issued for another
    /// purpose.
    case streamTicketRefused = "stream-ticket-refused"
    /// The application cancelled the stream.
    case streamCancelled = "stream-cancelled"
    /// The peer read too little for too long.
    case streamStalled = "stream-stalled"
    /// The receiving side has no space left to store the bytes.
    case streamStorageFull = "stream-storage-full"
    /// The receiving side could not store the bytes.
    case streamStorageFailed = "stream-storage-failed"
    /// The sending side could not read the bytes to send.
    case streamSourceFailed = "stream-source-failed"

    // MARK: Built-in services

    /// The service has no request of this `Type`.
    case requestUnknown = "request-unknown"
    /// A key of the request is missing, or its value is invalid.
    case requestInvalid = "request-invalid"
    /// The service is at its maximum number of concurrent operations; the caller may retry shortly.
    case busy
    /// The revocation list is malformed, or the account's root key did not sign it.
    case revocationListInvalid = "revocation-list-invalid"
    /// The certificate was not renewed.
    case renewalRefused = "renewal-refused"
    /// The host cannot use its own identity or its own files.
    case hostFailed = "host-failed"
}

extension TrustError {
    /// The failure code that the untrusted system receives.
    var failureCode: FailureCode {
        switch self.code {
        case .notOurAccount: .otherAccount
        // Retiring a root key ends the certificates that it signed.
        case .expired, .retiredRoot: .certificateExpired
        case .notYetValid: .certificateNotYetValid
        case .revoked: .revoked
        case .linkWithdrawn: .linkWithdrawn
        case .grantsChanged: .grantsChanged
        default: .certificateInvalid
        }
    }
}
