// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore
internal import NIOPosix

/// The machine's own network: TCP.
package struct SocketNetwork: TransportNetwork {
    private let listeningSocket: CInt?

    /// - Parameter listeningSocket: a socket that listens already, given to this process by whoever started it; it is used
    ///   whatever host and port are asked for, and belongs to the network from then on.
    package init(listeningSocket: CInt? = nil) {
        self.listeningSocket = listeningSocket
    }

    package var time: TimeSource { .system }
    package var taskExecutor: (any TaskExecutor)? { nil }

    package func anyEventLoop() -> any EventLoop {
        MultiThreadedEventLoopGroup.singleton.any()
    }

    package func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop).connectTimeout(timeout).channelInitializer(initializer)
        // Only the resolver knows zones; for a literal address it answers without asking anybody.
        if endpoint.host.contains("%"),
            let address = try? SocketAddress.makeAddressResolvingHost(endpoint.host, port: endpoint.port)
        {
            return bootstrap.connect(to: address)
        }
        return bootstrap.connect(host: endpoint.host, port: endpoint.port)
    }

    package func listen(
        host: String?,
        port: Int,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer(initializer)
        let channel =
            if let listeningSocket {
                try await bootstrap.withBoundSocket(Self.nonBlocking(listeningSocket)).get()
            } else {
                try await Listener.bind(to: host) { try await bootstrap.bind(host: $0, port: port).get() }
            }
        return BoundPort(port: channel.localAddress?.port ?? port) { try? await channel.close().get() }
    }

    /// Whoever has made the socket need not have made it so, and an event loop that waits for one caller serves none.
    private static func nonBlocking(_ descriptor: Int32) throws -> Int32 {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw IOError(errnoCode: errno, reason: "fcntl")
        }
        return descriptor
    }
}
