// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
package import NIOCore
internal import NIOPosix

/// Connections between programs of one user on one machine, over a Unix socket in a directory that only this user can
/// access.
///
/// Both sides check the other's user with the kernel before anything is sent. One program listens at a time; the socket
/// of a program that has ended is replaced.
package struct LocalTransport: Transport {
    private enum Place {
        case path(LocalSocket)
        /// A descriptor of the socket, opened with `O_PATH`.
        case opened(CInt)
    }

    private let place: Place

    /// Creates a transport over one Unix socket.
    ///
    /// - Parameters:
    ///   - directory: an existing directory that belongs to this user and that no other user can access.
    ///   - name: the name of the socket in it.
    package init(directory: String, name: String) {
        self.place = .path(LocalSocket(directory: directory, name: name))
    }

    /// Creates a transport that connects to a socket by a descriptor instead of a path, and cannot listen.
    ///
    /// - Parameter socket: a descriptor of the socket, opened with `O_PATH`. It must stay open while connecting.
    package init(opened socket: CInt) {
        self.place = .opened(socket)
    }

    package var kind: TransportKind { .local }
    package var loopbackHost: String? { nil }

    /// The endpoint at which the listening program is reached.
    package static var endpoint: Endpoint { Endpoint(transport: .local, host: "daemon", port: 0) }

    package func limited(to reach: NetworkReach) -> (any Transport)? { self }

    package func isProximal(_ endpoint: Endpoint) -> Bool { true }

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
            // Connecting a Unix socket does not wait.
            let (descriptor, peer) = try self.connectedSocket()
            return ClientBootstrap(group: eventLoop)
                .channelInitializer { Self.initialize($0, peer, initializer) }
                .withConnectedSocket(descriptor)
        } catch {
            return eventLoop.makeFailedFuture(
                TransportError(
                    .unreachable,
                    "The host daemon of this machine cannot be reached: \(error).",
                    side: .local,
                    canRetry: true,
                    cause: error
                )
            )
        }
    }

    private func connectedSocket() throws(LocalSocket.Failure) -> (descriptor: CInt, peer: LocalPeer) {
        switch self.place {
        case .path(let socket): try socket.connect()
        case .opened(let descriptor): try LocalSocket.connect(opened: descriptor)
        }
    }

    /// Listens on the socket.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/cannotListen``, also while another program listens.
    package func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        guard case .path(let socket) = self.place else {
            throw TransportError(.cannotListen, "Cannot listen on a socket without a path.", side: .local)
        }
        let listening: LocalSocket.Listening
        do {
            listening = try socket.listen()
        } catch {
            let reason = error.number == EADDRINUSE ? "another program listens there" : "\(error)"
            throw TransportError(
                .cannotListen,
                "Cannot listen on a socket in \(socket.directory): \(reason).",
                side: .local,
                cause: error
            )
        }
        do {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AcceptBackoff(logger: logger))
                    }
                }
                .childChannelInitializer { channel in
                    LocalPeer.of(channel).flatMap { Self.initialize(channel, $0, initializer) }
                }
                .withBoundSocket(listening.descriptor).get()
            return BoundPort(port: port) { [lock = listening.lock] in
                try? await channel.close().get()
                socket.end(lock)
            }
        } catch {
            socket.end(listening.lock)
            throw error
        }
    }

    private static func initialize(
        _ channel: any Channel,
        _ peer: LocalPeer,
        _ initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try peer.check()
            try channel.pipeline.syncOperations.addHandler(LocalPeerHandler(peer))
        }.flatMap { initializer(channel) }
    }
}
