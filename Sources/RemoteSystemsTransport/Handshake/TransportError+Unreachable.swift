// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension TransportError {
    /// The error for a TCP connection that could not be established, with the operating system's reason if there is
    /// one.
    static func unreachable(_ endpoint: Endpoint, _ error: any Error) -> TransportError {
        if let error = error as? TransportError { return error }
        return TransportError(
            .unreachable,
            "No connection to \(endpoint.host) port \(endpoint.port)\(Self.reason(error, endpoint.host))",
            side: .network,
            canRetry: true,
            cause: error
        )
    }

    /// The end of the sentence, with advice.
    private static func reason(_ error: any Error, _ host: String) -> String {
        switch error {
        case let error as NIOConnectionError:
            let isUnknown = error.dnsAError != nil || error.dnsAAAAError != nil
            guard let last = error.connectionErrors.last else {
                return isUnknown
                    ? ": the name \(host) is unknown. Check its spelling, or use an address." : Self.unknownReason
            }
            return Self.reason(last.error, host)
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED:
                return ": nothing listens there. Is the service running there, and is the port right?"
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN:
                return ": there is no route to it. Are both machines connected to the network?"
            default: return Self.unknownReason
            }
        case ChannelError.connectTimeout:
            return ": there was no response in time. Is the machine on, and does a firewall allow the port?"
        default: return Self.unknownReason
        }
    }

    private static var unknownReason: String {
        ". Is the service running there, and does the network let it through?"
    }
}
