// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
package import NIOCore
internal import NIOPosix

/// TCP over IPv4 and IPv6.
package struct SocketTransport: Transport {
    private let listeningSocket: CInt?
    private var reach: NetworkReach

    /// Creates a transport over TCP.
    ///
    /// - Parameters:
    ///   - listeningSocket: a listening socket that this process inherited. It is used regardless of the requested host
    ///     and port. The transport owns it from then on.
    ///   - reach: the part of the machine's network to use. Defaults to all of it.
    package init(listeningSocket: CInt? = nil, reach: NetworkReach = .all) {
        self.listeningSocket = listeningSocket
        self.reach = reach
    }

    package var kind: TransportKind { .ip }
    package var loopbackHost: String? { "127.0.0.1" }

    package func limited(to reach: NetworkReach) -> (any Transport)? {
        SocketTransport(listeningSocket: self.listeningSocket, reach: reach)
    }

    package func anyEventLoop() -> any EventLoop {
        MultiThreadedEventLoopGroup.singleton.any()
    }

    package func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel> {
        do {
            // The socket API would use the lower 16 bits of any number.
            guard (1...65_535).contains(endpoint.port) else {
                let text = "There is no port \(endpoint.port). Ports are 1 to 65535."
                throw TransportError(.unreachable, text, side: .local)
            }
            try self.reach.check(host: endpoint.host)
        } catch {
            return eventLoop.makeFailedFuture(error)
        }
        let bootstrap = ClientBootstrap(group: eventLoop).connectTimeout(timeout)
            .channelInitializer(self.binding(initializer))
        let host = self.reach.literal(for: endpoint.host)
        // Most endpoints are addresses, which need no resolver and its thread.
        if let address = try? SocketAddress(ipAddress: host, port: endpoint.port) {
            return bootstrap.connect(to: address)
        }
        // Only the resolver can parse zones. It resolves a literal address without a network request.
        if host.contains("%"), let address = try? SocketAddress.makeAddressResolvingHost(host, port: endpoint.port) {
            return bootstrap.connect(to: address)
        }
        return bootstrap.connect(host: host, port: endpoint.port)
    }

    /// Returns the initializer, preceded by a binding to the allowed interfaces if there are any.
    private func binding(_ initializer: @escaping ChannelInitializer) -> ChannelInitializer {
        guard case .interfaces(let names) = self.reach else { return initializer }
        return { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(InterfaceBinding(names: names))
            }.flatMap { initializer(channel) }
        }
    }

    package func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        if let listeningSocket {
            try ListeningSocket.check(listeningSocket, within: self.reach)
            let bootstrap = Self.bootstrap(logger, initializer)
            let channel = try await bootstrap.withBoundSocket(Self.nonBlocking(listeningSocket)).get()
            return BoundPort(port: channel.localAddress?.port ?? port) { try? await channel.close().get() }
        }
        if host == nil, case .interfaces(let names) = self.reach {
            return try await InterfaceListening.start(names: names, port: port, logger: logger) { interface, port in
                try await Listener.bind(to: nil) { host in
                    try await Self.bootstrap(logger, initializer)
                        .serverChannelOption(.socketOption(.bindsToInterface), value: Int(interface))
                        .bind(host: host, port: port).get()
                }
            }
        }
        let channel = try await Listener.bind(to: host ?? (self.reach == .machine ? "127.0.0.1" : nil)) {
            try await Self.bootstrap(logger, initializer).bind(host: $0, port: port).get()
        }
        return BoundPort(port: channel.localAddress?.port ?? port) { try? await channel.close().get() }
    }

    private static func bootstrap(_ logger: Logger, _ initializer: @escaping ChannelInitializer) -> ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptBackoff(logger: logger))
                }
            }
            .childChannelInitializer(initializer)
    }

    /// Makes the socket non-blocking. The process that created it may not have done so, and a blocking accept would
    /// block the event loop.
    private static func nonBlocking(_ descriptor: Int32) throws -> Int32 {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw IOError(errnoCode: errno, reason: "fcntl")
        }
        return descriptor
    }
}
