// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// A kind of event that peers can cause as often as they like, and that an operator should see.
package enum Incident: String, CaseIterable, Sendable {
    /// A peer's certificate was refused.
    case certificateRefused = "certificate-refused"
    /// A TLS handshake or a hello failed, or was not complete in time.
    case handshakeFailed = "handshake-failed"
    /// A connection was closed because too many are not authenticated yet.
    case unauthenticatedLimit = "unauthenticated-limit"
    /// A connection was refused because the host has too many.
    case connectionLimit = "connection-limit"
    /// A peer broke the protocol.
    case protocolBroken = "protocol-broken"
    /// A peer sent too many bytes of unfinished messages, or sent a message too slowly.
    case receiveLimit = "receive-limit"
    /// A request was refused because those that wait or are being handled have too many bytes.
    case requestLimit = "request-limit"
    /// A response was dropped because those that are not read have too many bytes.
    case responseLimit = "response-limit"
    /// A request was refused because too many idempotency keys are kept.
    case keyLimit = "key-limit"
    /// A continuation of an activity, or a stream of one, was refused because the peer has begun too many.
    case continuationLimit = "continuation-limit"
    /// A certificate was not renewed.
    case renewalRefused = "renewal-refused"
    /// A peer that was asked to renew this system's certificate did not.
    case renewalFailed = "renewal-failed"
    /// A list of revoked systems or of links, or another statement of an account's root key, was rejected.
    case trustRejected = "trust-rejected"
    /// A peer closed a connection with a reason, or refused this system.
    case closedByPeer = "closed-by-peer"
    /// A response could not be sent.
    case responseNotSent = "response-not-sent"
    /// A peer was refused what it wanted to use. The name is that of the audit event.
    case accessRefused = "access.refused"
    /// An activity was not handed over because of the publishers of the applications. The name is that of the audit
    /// event.
    case activityRefused = "activity.refused"
    /// A handler or an interceptor of the application failed while it handled a request.
    case handlerFailed = "handler-failed"
    /// The application failed while it opened a URI for a peer.
    case launchFailed = "launch-failed"
    /// A launch was refused because too many are under way, or its system launches too often.
    case launchLimit = "launch-limit"
    /// The start of an application was refused because too many are under way.
    case startLimit = "start-limit"
    /// An application that a peer requested was not started.
    case applicationNotStarted = "application-not-started"

    /// The level of a single event.
    var level: Logger.Level {
        switch self {
        case .handshakeFailed: .info
        case .closedByPeer, .trustRejected, .accessRefused, .activityRefused, .renewalFailed: .notice
        default: .warning
        }
    }

    /// The maximum number of events that are logged in a period: in all, and of one origin; and how many of all are
    /// reserved for origins of which none is logged yet. An operator may have to account for each refusal, so more of
    /// them are logged, and two origins do not hide the others.
    var limits: (total: Int, perPeer: Int, reserved: Int) {
        switch self {
        case .accessRefused, .activityRefused: (20, 10, 5)
        default: (10, 3, 0)
        }
    }

    var message: Logger.Message {
        switch self {
        case .certificateRefused: "The certificate of a peer was refused"
        case .handshakeFailed: "A peer did not complete its handshake"
        case .unauthenticatedLimit: "Too many connections are not authenticated yet; one was closed"
        case .connectionLimit: "A connection was refused because there are too many"
        case .protocolBroken: "The peer broke the protocol; closing"
        case .receiveLimit: "A peer's unfinished message was given up; closing"
        case .requestLimit: "A request was refused because those in flight have too many bytes"
        case .responseLimit: "A response was dropped because those that are not read have too many bytes"
        case .keyLimit: "A request was refused because too many idempotency keys are kept"
        case .continuationLimit: "A continuation of an activity was refused because there are too many"
        case .renewalRefused: "A certificate was not renewed"
        case .renewalFailed: "The system's certificate could not be renewed"
        case .trustRejected: "A list of revoked systems or of links was rejected"
        case .closedByPeer: "The other system closes the connection"
        case .responseNotSent: "A response could not be sent"
        case .accessRefused: "A peer was refused"
        case .activityRefused: "An activity was not handed over because of the applications' publishers"
        case .handlerFailed: "A handler failed"
        case .launchFailed: "A launch failed"
        case .launchLimit: "A launch was refused because there are too many"
        case .startLimit: "The start of an application was refused because there are too many"
        case .applicationNotStarted: "An application was not started"
        }
    }
}
