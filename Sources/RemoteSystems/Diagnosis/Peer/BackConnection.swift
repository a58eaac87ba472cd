// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import RemoteSystemsTransport

/// What came of connecting to the one who asked for it.
enum BackConnection: String, Sendable, Hashable {
    /// It is there, and proved who it is.
    case reached
    /// Nobody listens there, or a firewall says no.
    case refused
    /// No answer: a firewall drops what comes.
    case silent
    /// There is no way there.
    case unreachable
    /// Somebody else answers, or nobody who speaks the protocol.
    case other

    init(_ error: any Error) {
        guard let error = error as? TransportError else {
            self = .other
            return
        }
        switch error.code {
        // Only the system that is meant could refuse us so.
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
            // TCP's, TLS's or the hello's: nothing came in time.
            if case .connectTimeout = error { return .silent }
            return .other
        // Something answered, and ended the connection or is no host.
        default: return .other
        }
    }
}
