// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import NIOCore

/// How connections come about and what time it is: sockets and the machine's clock, or what a test puts in their place.
package protocol TransportNetwork: Sendable {
    var time: TimeSource { get }
    /// Where tasks run that belong to the network's connections; `nil` for where all tasks do.
    var taskExecutor: (any TaskExecutor)? { get }

    /// The same network, of which no more is used than that. One that is in memory alone reaches no further anyway.
    func limited(to reach: NetworkReach) -> any TransportNetwork

    /// An event loop for a connection.
    func anyEventLoop() -> any EventLoop

    /// Connects a channel, prepared by `initializer` before it is active.
    func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel>

    /// Takes connections; each channel is prepared by `initializer`, and closed when that fails.
    ///
    /// - Parameters:
    ///   - host: the address to listen on; `nil` for all within the network's reach.
    ///   - port: 0 lets the network choose.
    ///   - logger: is told when the machine has no room for further connections.
    func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort
}

package typealias ChannelInitializer = @Sendable (any Channel) -> EventLoopFuture<Void>

/// A port on which connections are taken.
package struct BoundPort: Sendable {
    package var port: Int
    /// Takes no more connections. Open ones go on.
    package var close: @Sendable () async -> Void

    package init(port: Int, close: @escaping @Sendable () async -> Void) {
        self.port = port
        self.close = close
    }
}
