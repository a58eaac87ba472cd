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
    /// No TCP connection could be made: says what kept it from being made, as far as the operating system does.
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

    /// The end of the sentence, and what to do.
    private static func reason(_ error: any Error, _ host: String) -> String {
        switch error {
        case let error as NIOConnectionError:
            let isUnknown = error.dnsAError != nil || error.dnsAAAAError != nil
            guard let last = error.connectionErrors.last else {
                return isUnknown
                    ? ": the name \(host) is not known. Check its spelling, or use an address." : Self.unknownReason
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
            return ": there was no answer in time. Is the machine on, and does a firewall let the port through?"
        default: return Self.unknownReason
        }
    }

    private static var unknownReason: String {
        ". Is the service running there, and does the network let it through?"
    }
}
