// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy on the loopback interface that can go silent like a cut cable: it drops all data and closes nothing. It
/// records what the connecting side sends.
final class Tunnel: Sendable {
    let port: Int
    private let listener: any Channel
    private let ends: Ends

    private init(listener: any Channel, ends: Ends, port: Int) {
        self.listener = listener
        self.ends = ends
        self.port = port
    }

    static func start(to port: Int) async throws -> Tunnel {
        let ends = Ends()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { near in
                ends.add(near)
                return ClientBootstrap(group: near.eventLoop)
                    .channelInitializer { far in
                        ends.add(far)
                        return far.eventLoop.makeCompletedFuture {
                            try far.pipeline.syncOperations.addHandler(Forwarder(to: near, ends))
                        }
                    }
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing {
                        try near.pipeline.syncOperations.addHandler(Forwarder(to: $0, ends, records: true))
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return Tunnel(listener: listener, ends: ends, port: listener.localAddress?.port ?? 0)
    }

    func goSilent() { self.ends.goSilent() }

    /// The bytes that the connecting side has sent.
    var sent: [UInt8] { self.ends.sent }

    /// Closes both TCP connections without a close_notify of TLS.
    func cut() { self.ends.close() }

    func stop() async {
        self.ends.close()
        try? await self.listener.close().get()
    }
}

private final class Ends: Sendable {
    private let state = Mutex((channels: [any Channel](), isSilent: false, sent: [UInt8]()))

    func add(_ channel: any Channel) { self.state.withLock { $0.channels.append(channel) } }
    func goSilent() { self.state.withLock { $0.isSilent = true } }
    func record(_ bytes: ByteBuffer) { self.state.withLock { $0.sent += bytes.readableBytesView } }
    var sent: [UInt8] { self.state.withLock { $0.sent } }
    var isSilent: Bool { self.state.withLock { $0.isSilent } }
    func close() { for channel in self.state.withLock({ $0.channels }) { channel.close(promise: nil) } }
}

private final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let ends: Ends
    private let records: Bool

    init(to other: any Channel, _ ends: Ends, records: Bool = false) {
        self.other = other
        self.ends = ends
        self.records = records
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.records { self.ends.record(self.unwrapInboundIn(data)) }
        guard !self.ends.isSilent else { return }
        self.other.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard !self.ends.isSilent else { return }
        self.other.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
