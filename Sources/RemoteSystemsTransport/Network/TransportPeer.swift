// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

/// What a transport knows of the other end of a channel. None of it is authenticated.
package struct TransportPeer: Sendable {
    private enum Place: Sendable {
        case socket(SocketAddress?)
        case other(Endpoint, isProximal: Bool, key: PeerKey)
    }

    private let place: Place

    /// The other end of a channel that is not a socket's.
    ///
    /// - Parameters:
    ///   - endpoint: where the peer can be connected to by the same transport.
    ///   - isProximal: whether only neighbours have that address.
    ///   - key: what limits count the peer by; `nil` for its host.
    package init(_ endpoint: Endpoint, isProximal: Bool, key: PeerKey? = nil) {
        let key = key ?? PeerKey(transport: endpoint.transport, endpoint.host.utf8)
        self.place = .other(endpoint, isProximal: isProximal, key: key)
    }

    /// The other end of a socket; `nil` for that of a closed one.
    package init(_ address: SocketAddress?) {
        self.place = .socket(address)
    }

    /// Where the peer can be connected to: its host, at the port that this connection has there. `nil` if that is not known.
    package var endpoint: Endpoint? {
        switch self.place {
        case .socket(let address): address.flatMap { Endpoint($0) }
        case .other(let endpoint, _, _): endpoint
        }
    }

    /// The address as text for people, without a port; `?` if it is not known.
    package var address: String {
        switch self.place {
        case .socket(let address): address?.ipAddress ?? "?"
        case .other(let endpoint, _, _): endpoint.host
        }
    }

    /// Whether the peer's address is one that only neighbours have.
    package var isProximal: Bool {
        switch self.place {
        case .socket(let address): address?.ipAddress.map { SocketTransport.isProximal(host: $0) } ?? false
        case .other(_, let isProximal, _): isProximal
        }
    }

    /// What limits count the peer by while it is not authenticated.
    package var key: PeerKey {
        switch self.place {
        case .socket(let address): PeerKey(address)
        case .other(_, _, let key): key
        }
    }
}

/// A channel of a transport other than sockets, which says itself where its other end is.
package protocol TransportChannel: Channel {
    var transportPeer: TransportPeer { get }
}

extension Channel {
    /// What is known of the other end. A closed socket's is not known.
    package var transportPeer: TransportPeer {
        (self as? any TransportChannel)?.transportPeer ?? TransportPeer(self.remoteAddress)
    }

    /// Whether the peer's address is one that only neighbours have.
    package var isProximal: Bool { self.transportPeer.isProximal }
}

extension Endpoint {
    /// The address as it can be connected to: IPv4 as such, link-local IPv6 with its zone.
    fileprivate init?(_ address: SocketAddress) {
        let host = unsafe address.withSockAddr { address, size -> String? in
            unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
                guard let start = buffer.baseAddress,
                    unsafe getnameinfo(
                        address,
                        socklen_t(size),
                        start,
                        socklen_t(buffer.count),
                        nil,
                        0,
                        NI_NUMERICHOST
                    ) == 0
                else { return nil }
                return unsafe String(cString: start)
            }
        }
        guard let host, let port = address.port else { return nil }
        let isMapped = host.hasPrefix("::ffff:") && host.contains(".")
        self.init(host: isMapped ? String(host.dropFirst(7)) : host, port: port)
    }
}
