// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Hands what the channel reads to its ``Connection``, frame by frame. Decides nothing.
final class WireHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: Connection
    private var decoder: FrameDecoder

    init(connection: Connection, decoder: FrameDecoder) {
        self.connection = connection
        self.decoder = decoder
    }

    /// Handles what had come along with the opening's last frame.
    func start() {
        self.connection.assumeIsolated { connection in
            connection.readStarted()
            self.drain(into: connection)
            connection.readCompleted()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.connection.assumeIsolated { connection in
            connection.readStarted()
            self.decoder.append(bytes)
            self.drain(into: connection)
        }
    }

    private func drain(into connection: isolated Connection) {
        do throws(TransportError) {
            while let frame = try self.decoder.next() {
                connection.received(frame)
            }
        } catch {
            connection.abort(error.closeStatus ?? .unknown, reason: error)
        }
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
