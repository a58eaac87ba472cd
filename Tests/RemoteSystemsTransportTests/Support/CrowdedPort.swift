// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Synchronization
import Testing

/// A port on the loopback interface that closes each connection at its first byte, as a flooded one does.
final class CrowdedPort: Sendable {
    private let count = Mutex(0)

    /// The number of connections so far.
    var accepted: Int { self.count.withLock { $0 } }

    /// Runs `body` with such a port and its number.
    static func with(_ body: (CrowdedPort, Int) async throws -> Void) async throws {
        let crowded = CrowdedPort()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                crowded.count.withLock { $0 += 1 }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ClosesAtFirstByte())
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        do {
            try await body(crowded, try #require(channel.localAddress?.port))
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }
}

private final class ClosesAtFirstByte: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
}
