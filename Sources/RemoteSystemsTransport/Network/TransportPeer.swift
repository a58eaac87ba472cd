// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

/// What a transport knows about the other end of a channel. None of it is authenticated.
package struct TransportPeer: Sendable {
    private enum Place: Sendable {
        case socket(SocketAddress?)
        case other(Endpoint, isProximal: Bool, key: PeerKey)
        case program(LocalPeer)
    }

    private let place: Place

    /// Creates the peer of a channel that is not a socket's.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint at which the same transport can connect to the peer.
    ///   - isProximal: whether only machines nearby can have that address.
    ///   - key: identifies the peer in limits; `nil` for a key made from its host.
    package init(_ endpoint: Endpoint, isProximal: Bool, key: PeerKey? = nil) {
        let key = key ?? PeerKey(transport: endpoint.transport, endpoint.host.utf8)
        self.place = .other(endpoint, isProximal: isProximal, key: key)
    }

    /// Creates the peer of a Unix socket.
    init(_ program: LocalPeer) {
        self.place = .program(program)
    }

    /// Creates the peer of a socket; `nil` if the socket is closed.
    package init(_ address: SocketAddress?) {
        self.place = .socket(address)
    }

    /// The endpoint at which the peer can be connected to: its host, with this connection's remote port. `nil` if it is
    /// unknown.
    package var endpoint: Endpoint? {
        switch self.place {
        case .socket(let address): address.flatMap { Endpoint($0) }
        case .other(let endpoint, _, _): endpoint
        case .program: nil
        }
    }

    /// The address for display, without a port; `?` if it is unknown.
    package var address: String {
        switch self.place {
        case .socket(let address): address?.ipAddress ?? "?"
        case .other(let endpoint, _, _): endpoint.host
        case .program(let program): "process \(program.pid)"
        }
    }

    /// Whether only machines nearby can have the peer's address.
    package var isProximal: Bool {
        switch self.place {
        case .socket(let address): address?.ipAddress.map { SocketTransport.isProximal(host: $0) } ?? false
        case .other(_, let isProximal, _): isProximal
        case .program: true
        }
    }

    /// The process id of a program on this machine, as the kernel reports it; `nil` for other peers.
    package var processID: CInt? {
        if case .program(let program) = self.place { program.pid } else { nil }
    }

    /// The key that identifies the peer in limits while it is not authenticated.
    package var key: PeerKey {
        switch self.place {
        case .socket(let address): PeerKey(address)
        case .other(_, _, let key): key
        case .program(let program): program.key
        }
    }
}

/// A channel of a transport other than sockets, which provides its peer itself.
package protocol TransportChannel: Channel {
    var transportPeer: TransportPeer { get }
}

extension Channel {
    /// The peer of this channel. Unknown once a socket is closed. For a Unix socket, call this on the event loop.
    package var transportPeer: TransportPeer {
        if let channel = self as? any TransportChannel { return channel.transportPeer }
        switch self.remoteAddress {
        case .v4, .v6: return TransportPeer(self.remoteAddress)
        case .unixDomainSocket, nil:
            guard self.eventLoop.inEventLoop,
                let handler = try? self.pipeline.syncOperations.handler(type: LocalPeerHandler.self)
            else { return TransportPeer(self.remoteAddress) }
            return TransportPeer(handler.peer)
        }
    }

    /// Whether only machines nearby can have the peer's address.
    package var isProximal: Bool { self.transportPeer.isProximal }
}

extension Endpoint {
    /// Creates an endpoint from a socket's address: IPv4 without a mapping to IPv6, link-local IPv6 with its zone.
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
