// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL

/// The server of a raw caller, which has one event-loop thread.
struct RawTLSTarget {
    private let port: Int
    private let context: NIOSSLContext
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    init(_ setup: Setup) throws {
        guard let port = Int(setup.address) else { throw BenchError("The raw server's port is not a number.") }
        self.port = port
        context = try setup.credentials.callerContext()
    }

    /// Connects, with a handler behind TLS.
    func connect<Handler: ChannelInboundHandler & SendableMetatype>(
        _ makeHandler: @escaping @Sendable () -> Handler
    ) async throws -> (channel: any Channel, handler: NIOLoopBound<Handler>) {
        try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(to: SocketAddress(ipAddress: "127.0.0.1", port: port)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = makeHandler()
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: nil))
                    try pipeline.addHandler(handler)
                    return (channel, NIOLoopBound(handler, eventLoop: channel.eventLoop))
                }
            }
    }
}
