// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Reports the first byte on a connection, before TLS, and is then removed.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let deadline: NIODeadline?
    private let arrived: () -> Void
    private var timeout: Scheduled<Void>?

    /// - Parameter timeout: the time after which a connection without a byte is closed. Defaults to `nil`: never.
    init(timeout: TimeAmount? = nil, arrived: @escaping () -> Void) {
        self.deadline = timeout.map { NIODeadline.now() + $0 }
        self.arrived = arrived
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard let deadline else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        self.timeout = context.eventLoop.scheduleTask(deadline: deadline) {
            bound.value.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timeout?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.timeout?.cancel()
        self.arrived()
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timeout?.cancel()
        context.fireChannelInactive()
    }
}
