// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

/// Why something was refused, failed or closed, for programs: the `code` of a failure map (`Docs/wire/registry.md`).
///
/// A code never changes its meaning, and none is removed. What the receiver of a request, a hello or a frame does with each is in
/// `Docs/wire-protocol.md`, section 14. Codes with a dot belong to services; this registry will never hold one.
package enum FailureCode: String, CaseIterable, Sendable, Hashable {
    // MARK: Frames

    /// The frame's length is above the receiver's limit.
    case frameTooLong = "frame-too-long"
    /// The frame's length is 0.
    case frameEmpty = "frame-empty"
    /// The frame's bytes are not the array that its kind demands, or not in the one encoding.
    case frameMalformed = "frame-malformed"
    /// A frame of this kind may not come now.
    case frameUnexpected = "frame-unexpected"
    /// A request's number is not greater than the last one's.
    case requestOutOfOrder = "request-out-of-order"
    /// A request came behind its sender's `close`.
    case requestAfterClose = "request-after-close"
    /// A response came for a request that is not outstanding.
    case responseUnexpected = "response-unexpected"
    /// More requests are outstanding than the receiver's `window`.
    case windowExceeded = "window-exceeded"
    /// More bytes of requests are outstanding than the receiver's `window-bytes`.
    case windowBytesExceeded = "window-bytes-exceeded"

    /// State came of a topic that is not subscribed to, or a subscription to a topic that is.
    case stateUnexpected = "state-unexpected"
    /// The peer has more subscriptions on the connection than this side accepts.
    case subscriptionsExceeded = "subscriptions-exceeded"

    // MARK: Hello

    /// TLS did not negotiate the application protocol.
    case protocolNotNegotiated = "protocol-not-negotiated"
    /// The other side's major version is not spoken here.
    case versionUnsupported = "version-unsupported"
    /// A value of the hello breaks a rule of its key, or a required key is missing.
    case helloMalformed = "hello-malformed"
    /// The hello requires a feature that the host does not have.
    case featureUnknown = "feature-unknown"

    // MARK: Trust

    /// The certificate breaks a rule other than those that have a code of their own.
    case certificateInvalid = "certificate-invalid"
    /// The certificate has expired.
    case certificateExpired = "certificate-expired"
    /// The certificate is not valid yet.
    case certificateNotYetValid = "certificate-not-yet-valid"
    /// The system belongs to another account.
    case otherAccount = "other-account"
    /// The system was revoked.
    case revoked = "revoked"
    /// The host is not the system that the caller meant.
    case otherSystem = "other-system"
    /// What is asked for is not offered to anonymous callers, whether or not it exists.
    case notAuthorized = "not-authorized"

    // MARK: Where the hello leads

    /// There is no such application.
    case applicationNotFound = "application-not-found"
    /// The application is shutting down.
    case applicationClosing = "application-closing"
    /// The application could not be started.
    case applicationNotStarted = "application-not-started"
    /// The application takes the connection at the failure's `port`.
    case applicationElsewhere = "application-elsewhere"
    /// The application listens on its machine's loopback interface alone.
    case applicationOnLoopback = "application-on-loopback"
    /// The application offers no such service.
    case serviceNotFound = "service-not-found"
    /// The service takes callers of its own system only.
    case callerNotLocal = "caller-not-local"
    /// The service takes callers of certain applications only.
    case callerNotListed = "caller-not-listed"
    /// The host has as many connections as it takes.
    case tooManyConnections = "too-many-connections"
    /// The host has as many connections of the caller's system as it takes.
    case tooManyConnectionsOfSystem = "too-many-connections-of-system"
    /// The host's `accept` does not fit into a frame.
    case acceptTooLong = "accept-too-long"

    // MARK: Responses

    /// The message breaks a rule of the value encoding, or the request's key has another form.
    case messageMalformed = "message-malformed"
    /// The service's schema does not allow the message.
    case messageNotAllowed = "message-not-allowed"
    /// The handler's response cannot be sent: its schema does not allow it, or it has no encoding.
    case responseNotAllowed = "response-not-allowed"
    /// The response is longer than the requester takes.
    case responseTooLarge = "response-too-large"
    /// The handler failed without saying why.
    case handlerFailed = "handler-failed"
    /// The request was cancelled, or its time ran out.
    case cancelled
    /// This side takes no requests on this connection.
    case requestsNotTaken = "requests-not-taken"
    /// The key was used for another message.
    case keyReused = "key-reused"
    /// Too many requests with a key are under way.
    case tooManyKeys = "too-many-keys"
    /// The request was carried out before; its response was too large to be kept.
    case responseNotKept = "response-not-kept"

    // MARK: Streams

    /// The ticket opens no stream here: it is unknown, used, expired, or another system's, or is for another purpose.
    case streamTicketRefused = "stream-ticket-refused"
    /// The application gave the stream up.
    case streamCancelled = "stream-cancelled"
    /// The peer read too little for too long.
    case streamStalled = "stream-stalled"
    /// The receiving side has no space left to store the bytes.
    case streamStorageFull = "stream-storage-full"
    /// The receiving side could not store the bytes.
    case streamStorageFailed = "stream-storage-failed"
    /// The sending side could not read the bytes that it was to send.
    case streamSourceFailed = "stream-source-failed"

    // MARK: Built-in services

    /// The service knows no request of this `Type`.
    case requestUnknown = "request-unknown"
    /// A key of the request is missing, or its value breaks the key's rule.
    case requestInvalid = "request-invalid"
    /// The service does as much as it does at once; try again in a moment.
    case busy
    /// The revocation list is malformed, or the account's key did not sign it.
    case revocationListInvalid = "revocation-list-invalid"
    /// The certificate was not renewed.
    case renewalRefused = "renewal-refused"
    /// The host cannot use its own identity or its own files.
    case hostFailed = "host-failed"
}

extension TrustError {
    /// What the system that is not trusted is told.
    var failureCode: FailureCode {
        switch self.code {
        case .notOurAccount: .otherAccount
        // The root's end is the end of what it signed.
        case .expired, .retiredRoot: .certificateExpired
        case .notYetValid: .certificateNotYetValid
        case .revoked: .revoked
        default: .certificateInvalid
        }
    }
}
