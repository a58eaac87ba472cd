// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// Reports the events of a channel to its ``ByteStreamDriver``. Decides nothing.
final class StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let driver: ByteStreamDriver

    init(driver: ByteStreamDriver) {
        self.driver = driver
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.driver.readNetwork = { context.read() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.driver.readNetwork = {}
    }

    /// Reads from the channel unless the driver holds the read back. TCP's flow control then stops the peer.
    func read(context: ChannelHandlerContext) {
        if self.driver.networkWantsRead() { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.driver.received(self.unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.driver.flush()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.driver.writabilityChanged()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.driver.connectionEnded()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The peer closed its half of the connection. A stream does not continue on the other half alone.
        if case .inputClosed? = event as? ChannelEvent { self.driver.connectionEnded() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        var mode = CloseMode.all
        if case .uncleanShutdown? = error as? NIOSSLError { mode = .output }
        self.driver.connectionEnded(cause: error, closing: mode)
    }
}
