// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A rule of the wire page that `serve --conformance` can see a client keep or break.
///
/// The raw values are stable. Where the page's table of codes has a code for the rule, it is that code; the others
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

    /// The section of `Docs/wire-protocol.md`.
    var section: Int {
        switch self {
        case .certificateInvalid, .certificateExpired, .certificateNotYetValid, .otherAccount, .revoked: 2
        case .tls, .protocolNotNegotiated, .hostNotVerified, .helloLate, .closeNotify: 3
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

    /// What the page demands.
    var expected: String {
        switch self {
        case .tls: "TLS 1.3, with the client's certificate."
        case .protocolNotNegotiated: "The ALPN protocol 'remote-systems/1'."
        case .certificateInvalid: "A certificate that keeps every rule of section 2, signed by the account's key."
        case .certificateExpired: "A certificate that has not expired."
        case .certificateNotYetValid: "A certificate whose validity has begun."
        case .otherAccount: "A certificate of this host's account."
        case .revoked: "A certificate of a system that was not revoked."
        case .hostNotVerified:
            "No hello to a host of another account: the client verifies the host's certificate after the handshake."
        case .helloLate: "The whole hello within a second of the TCP connection's beginning."
        case .helloMalformed: "Every required key of the hello, each with a value that keeps the key's rule."
        case .refusal: "The connection is over after a refuse: the client says nothing more, and closes it."
        case .frameUnexpected: "One hello first, nothing more until the answer, and no frame of the opening afterwards."
        case .frameTooLong: "Frames of at most 8192 bytes before the connection is open, then of the host's 'limit'."
        case .frameEmpty: "Frames of at least one byte."
        case .frameMalformed: "One CBOR array with the elements of its kind, in the one encoding, nothing behind it."
        case .acceptKeys: "Keys of the accept that the client does not know are ignored."
        case .unknownFrames: "Frames of an unknown kind are ignored on an open connection."
        case .requestOutOfOrder: "Request numbers from 1 on, each greater than the one before."
        case .windowExceeded: "No more requests outstanding than the host's 'window'."
        case .windowBytesExceeded: "No more bytes of requests outstanding than the host's 'window-bytes'."
        case .messageMalformed: "Messages that are dictionaries in the one encoding, and keys of 1 to 64 bytes."
        case .responseTooLarge: "A response of status 5 fails one request; the connection goes on."
        case .cancel: "A cancel names a request that the client made; it is answered all the same."
        case .responseUnexpected: "One response to each request of the host, with its number."
        case .requestUnanswered: "Every request of the host is answered."
        case .cancelledUnanswered: "A request that the host cancelled is answered all the same."
        case .keyReused: "A key is used again for the same message only."
        case .pong: "Each ping is answered by a pong with its token."
        case .close: "A client that is done sends a close before it ends the connection."
        case .closeUnanswered: "The host's close is answered by one of the client's."
        case .requestAfterClose: "No request behind the client's own close."
        case .closeNotify: "TLS is ended with close_notify."
        }
    }
}
