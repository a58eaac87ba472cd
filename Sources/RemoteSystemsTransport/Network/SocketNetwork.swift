// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import NIOPosix

/// The machine's own network: TCP.
package struct SocketNetwork: TransportNetwork {
    package init() {}

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
        let channel = try await Listener.bind(to: host) { try await bootstrap.bind(host: $0, port: port).get() }
        return BoundPort(port: channel.localAddress?.port ?? port) { try? await channel.close().get() }
    }
}
