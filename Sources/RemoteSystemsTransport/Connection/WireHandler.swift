// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// Reports the events of a channel to its ``ConnectionDriver``. Decides nothing.
final class WireHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let driver: ConnectionDriver

    init(driver: ConnectionDriver) {
        self.driver = driver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.driver.received(bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.driver.readCompleted()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.driver.writabilityChanged()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.driver.channelInactive()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The peer closed its half of the connection. The protocol does not use half-closed connections.
        if case .inputClosed? = event as? ChannelEvent { self.driver.channelInactive() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        var mode = CloseMode.all
        if case .uncleanShutdown? = error as? NIOSSLError { mode = .output }
        self.driver.channelFailed(error, closing: mode)
    }
}
