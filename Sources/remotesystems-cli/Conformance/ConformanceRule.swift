// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A rule of `Docs/wire-protocol.md` that `serve --conformance` can check.
///
/// The raw values are stable. A raw value is the failure code of the rule, if the protocol defines one; the others
/// begin with `client-`.
enum ConformanceRule: String, CaseIterable, Sendable {
    case tls = "client-tls"
    case protocolNotNegotiated = "protocol-not-negotiated"
    case certificateInvalid = "certificate-invalid"
    case certificateExpired = "certificate-expired"
    case certificateNotYetValid = "certificate-not-yet-valid"
    case otherAccount = "other-account"
    case revoked = "revoked"
    case hostNotVerified = "client-host-not-verified"
    case helloLate = "client-hello-late"
    case helloMalformed = "hello-malformed"
    case refusal = "client-refusal"
    case frameUnexpected = "frame-unexpected"
    case frameTooLong = "frame-too-long"
    case frameEmpty = "frame-empty"
    case frameMalformed = "frame-malformed"
    case acceptKeys = "client-unknown-accept-keys"
    case unknownFrames = "client-unknown-frames"
    case requestOutOfOrder = "request-out-of-order"
    case windowExceeded = "window-exceeded"
    case windowBytesExceeded = "window-bytes-exceeded"
    case messageMalformed = "message-malformed"
    case responseTooLarge = "response-too-large"
    case cancel = "client-cancel"
    case responseUnexpected = "response-unexpected"
    case requestUnanswered = "client-request-unanswered"
    case cancelledUnanswered = "client-cancelled-request-unanswered"
    case keyReused = "key-reused"
    case pong = "client-pong"
    case close = "client-close"
    case closeUnanswered = "client-close-unanswered"
    case requestAfterClose = "request-after-close"
    case closeNotify = "client-close-notify"

    /// The section of `Docs/wire-protocol.md` that states the rule.
    var section: Int {
        switch self {
        case .certificateInvalid, .certificateExpired, .certificateNotYetValid, .otherAccount, .revoked,
            .hostNotVerified:
            2
        case .tls, .protocolNotNegotiated, .helloLate, .closeNotify: 3
        case .frameTooLong, .frameEmpty, .frameMalformed, .acceptKeys, .unknownFrames: 4
        case .helloMalformed, .refusal, .frameUnexpected: 5
        case .requestOutOfOrder, .windowExceeded, .windowBytesExceeded, .responseTooLarge, .cancel,
            .responseUnexpected, .requestUnanswered, .cancelledUnanswered, .keyReused:
            6
        case .pong: 7
        case .close, .closeUnanswered, .requestAfterClose: 8
        case .messageMalformed: 9
        }
    }

    /// The requirement, as a sentence.
    var expected: String {
        switch self {
        case .tls: "TLS 1.3, with the client's certificate."
        case .protocolNotNegotiated: "The ALPN protocol 'remote-systems/1'."
        case .certificateInvalid: "A certificate that satisfies section 2, signed by the account's root key."
        case .certificateExpired: "A certificate that has not expired."
        case .certificateNotYetValid: "A certificate whose validity has begun."
        case .otherAccount: "A certificate of this host's account."
        case .revoked: "A certificate of a system that is not revoked."
        case .hostNotVerified:
            "No hello to a host of another account: the client verifies the host's certificate."
        case .helloLate: "A complete hello within 1 s of the start of the TCP connection."
        case .helloMalformed: "A hello with every required key, each with a valid value."
        case .refusal: "After a refuse, the client sends nothing more and closes the connection."
        case .frameUnexpected: "One hello first, nothing more until the accept, and no handshake frame afterwards."
        case .frameTooLong: "Frames of at most 8192 bytes before the connection is open, then of the host's 'limit'."
        case .frameEmpty: "Frames of at least one byte."
        case .frameMalformed:
            "One CBOR array with the elements of its kind, in the deterministic encoding, and nothing after it."
        case .acceptKeys: "Keys of the accept that the client does not know are ignored."
        case .unknownFrames: "Frames of an unknown kind are ignored on an open connection."
        case .requestOutOfOrder: "Request ids from 1, each greater than the one before."
        case .windowExceeded: "No more requests outstanding than the host's 'window'."
        case .windowBytesExceeded: "No more bytes of outstanding requests than the host's 'window-bytes'."
        case .messageMalformed:
            "Messages that are dictionaries in the deterministic encoding, and idempotency keys of 1 to 64 bytes."
        case .responseTooLarge: "A response with status 5 fails one request; the connection stays open."
        case .cancel: "A cancel names a request of the client; that request still gets a response."
        case .responseUnexpected: "One response to each request of the host, with the id of the request."
        case .requestUnanswered: "Every request of the host gets a response."
        case .cancelledUnanswered: "A request that the host cancelled still gets a response."
        case .keyReused: "An idempotency key is reused only with the same message."
        case .pong: "Each ping is answered by a pong with its token."
        case .close: "The client sends a close before it ends the connection."
        case .closeUnanswered: "The client answers the host's close with its own."
        case .requestAfterClose: "No request after the client's own close."
        case .closeNotify: "The client ends TLS with close_notify."
        }
    }
}
