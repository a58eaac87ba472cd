// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import RemoteSystemsTransport

/// The result of connecting back to the system that requested it.
enum BackConnection: String, Sendable, Hashable {
    /// The system was reached and authenticated.
    case reached
    /// No process listens on the port, or a firewall rejects the connection.
    case refused
    /// No response: a firewall drops the packets.
    case silent
    /// There is no route to the address.
    case unreachable
    /// Another system responds, or a program that does not speak the protocol.
    case other

    init(_ error: any Error) {
        guard let error = error as? TransportError else {
            self = .other
            return
        }
        switch error.code {
        // Only the expected system can send a refusal.
        case .refused: self = .reached
        case .unreachable: self = Self.reason(error.cause)
        case .outOfReach: self = .unreachable
        default: self = .other
        }
    }

    private static func reason(_ cause: (any Error)?) -> BackConnection {
        switch cause {
        case let failure as NIOConnectionError:
            guard let first = failure.connectionErrors.first?.error else { return .unreachable }
            return Self.reason(first)
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: return .refused
            case ETIMEDOUT: return .silent
            case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EACCES, EPERM: return .unreachable
            default: return .other
            }
        case let error as ChannelError:
            // The timeout of TCP, TLS or the hello.
            if case .connectTimeout = error { return .silent }
            return .other
        // A peer responded, but closed the connection, or is not a host.
        default: return .other
        }
    }
}
