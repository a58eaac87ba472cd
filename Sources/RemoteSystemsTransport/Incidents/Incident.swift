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
    /// A request was refused because too many idempotency keys are kept.
    case keyLimit = "key-limit"
    /// A certificate was not renewed.
    case renewalRefused = "renewal-refused"
    /// A peer closed a connection with a reason, or refused this system.
    case closedByPeer = "closed-by-peer"
    /// A response could not be sent.
    case responseNotSent = "response-not-sent"

    /// The level of a single event.
    var level: Logger.Level {
        switch self {
        case .handshakeFailed: .info
        case .closedByPeer: .notice
        default: .warning
        }
    }

    var message: Logger.Message {
        switch self {
        case .certificateRefused: "The certificate of a peer was refused"
        case .handshakeFailed: "A peer did not complete its handshake"
        case .unauthenticatedLimit: "Too many connections are not authenticated yet; a new one was closed"
        case .connectionLimit: "A connection was refused because there are too many"
        case .protocolBroken: "The peer broke the protocol; closing"
        case .receiveLimit: "A peer's unfinished message was given up; closing"
        case .keyLimit: "A request was refused because too many idempotency keys are kept"
        case .renewalRefused: "A certificate was not renewed"
        case .closedByPeer: "The other system closes the connection"
        case .responseNotSent: "A response could not be sent"
        }
    }
}
