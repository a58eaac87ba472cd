// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import NIOCore

/// One way to reach other systems and to be reached by them: TCP, a relay, or memory in a test.
///
/// A transport carries ordered bytes both ways. TLS, authorisation and frames run over its channels, the same on each, so
/// a transport is trusted with nothing but delivery.
package protocol Transport: Sendable {
    /// The name by which endpoints choose it.
    var kind: TransportKind { get }

    /// The host by which this machine reaches programs of its own that listen for it alone; `nil` if there is none.
    var loopbackHost: String? { get }

    /// The same transport, of which no more is used than that; `nil` if that leaves nothing of it.
    func limited(to reach: NetworkReach) -> (any Transport)?

    /// Whether only neighbours have the endpoint's address. False where that is not known from the address alone.
    func isProximal(_ endpoint: Endpoint) -> Bool

    /// An event loop for a connection.
    func anyEventLoop() -> any EventLoop

    /// Connects a channel, prepared by `initializer` before it is active.
    ///
    /// A channel that is not a socket's conforms to ``TransportChannel``.
    ///
    /// - Parameters:
    ///   - endpoint: one of this kind.
    ///   - eventLoop: one of ``anyEventLoop()``.
    ///   - timeout: how long it may take, without what follows on the channel.
    func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel>

    /// Takes connections; each channel is prepared by `initializer`, and closed when that fails.
    ///
    /// A transport that depends on something else (a relay) deals with its passing failures inside.
    ///
    /// - Parameters:
    ///   - host: the address to listen on; `nil` for all within reach.
    ///   - port: 0 lets the transport choose.
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
