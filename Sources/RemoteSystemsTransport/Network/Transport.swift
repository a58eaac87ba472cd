// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import NIOCore

/// A means to connect to other systems and to accept their connections: TCP, a relay, or memory in a test.
///
/// A transport carries ordered bytes in both directions. TLS, authorisation and frames run over its channels and are
/// the same for each transport, so a transport is trusted with delivery only.
package protocol Transport: Sendable {
    /// The name with which endpoints select the transport.
    var kind: TransportKind { get }

    /// The host with which this machine reaches its own programs that listen on loopback only; `nil` if there is none.
    var loopbackHost: String? { get }

    /// Returns this transport, restricted to a part of the network; `nil` if the transport cannot be used there.
    func limited(to reach: NetworkReach) -> (any Transport)?

    /// Whether only machines nearby can have the endpoint's address. `false` if the address alone does not show it.
    func isProximal(_ endpoint: Endpoint) -> Bool

    /// Returns an event loop for a connection.
    func anyEventLoop() -> any EventLoop

    /// Connects a channel. `initializer` prepares it before it is active.
    ///
    /// A channel that is not a socket's conforms to ``TransportChannel``.
    ///
    /// - Parameters:
    ///   - endpoint: an endpoint of this kind.
    ///   - eventLoop: an event loop from ``anyEventLoop()``.
    ///   - timeout: the timeout for connecting the channel, without any handshake on it.
    func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel>

    /// Accepts connections. `initializer` prepares each channel; if it fails, the channel is closed.
    ///
    /// A transport that depends on something else, such as a relay, handles temporary failures internally.
    ///
    /// - Parameters:
    ///   - host: the address to listen on; `nil` for all within reach.
    ///   - port: the port; 0 for any free one.
    ///   - logger: logs when the machine lacks resources for further connections.
    func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort
}

package typealias ChannelInitializer = @Sendable (any Channel) -> EventLoopFuture<Void>

/// A port on which connections are accepted.
package struct BoundPort: Sendable {
    package var port: Int
    /// Stops accepting connections. Open connections stay open.
    package var close: @Sendable () async -> Void

    package init(port: Int, close: @escaping @Sendable () async -> Void) {
        self.port = port
        self.close = close
    }
}
