// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Tells a ``Connection`` what happens to its channel. Decides nothing.
final class WireHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: Connection

    init(connection: Connection) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.connection.assumeIsolated { $0.received(bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.connection.assumeIsolated { $0.readCompleted() }
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.connection.assumeIsolated { $0.writabilityChanged() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.connection.assumeIsolated { $0.channelInactive() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.connection.assumeIsolated { $0.channelFailed(error) }
    }
}
