// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore
import NIOPosix
import NIOSSL

/// Responds on one event-loop thread.
struct RawTLSServer: Server {
    let address: String
    private let channel: any Channel

    init(_ credentials: Credentials, form: RawTLS.Form) throws {
        let context = try credentials.serverContext()
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: context))
                    try pipeline.addHandler(RawAnswerer(form))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
        guard let port = channel.localAddress?.port else { throw BenchError("The raw server has no port.") }
        address = String(port)
    }
}

/// Responds to each message, either complete or streamed.
private final class RawAnswerer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let form: RawTLS.Form
    /// The received bytes of an incomplete message.
    private var kept = ByteBuffer()
    /// The header of the incomplete message, and the number of missing bytes of its body; nil without a header.
    private var awaited: (frame: RawFrame, missing: Int)?

    init(_ form: RawTLS.Form) {
        self.form = form
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var input = unwrapInboundIn(data)
        do {
            while input.readableBytes > 0 { try answer(&input, context) }
        } catch {
            context.close(promise: nil)
        }
    }

    private func answer(_ input: inout ByteBuffer, _ context: ChannelHandlerContext) throws {
        // Most small messages arrive complete and are returned without a copy.
        if awaited == nil, kept.readableBytes == 0, let frame = try RawFrame(peekingAt: input), frame.answer == .echo,
            let whole = input.readSlice(length: frame.bytes)
        {
            context.write(wrapOutboundOut(whole), promise: nil)
            return
        }
        guard let (frame, missing) = try awaited ?? readHeader(from: &input, context) else { return }
        let available = min(missing, input.readableBytes)
        if var body = input.readSlice(length: available), available > 0 {
            switch (form, frame.answer) {
            case (.wholeMessages, _): kept.writeBuffer(&body)
            case (.streamed, .echo): context.write(wrapOutboundOut(body), promise: nil)
            case (.streamed, .acknowledgement): break
            }
        }
        guard available == missing else {
            awaited = (frame, missing - available)
            return
        }
        awaited = nil
        switch (form, frame.answer) {
        case (.wholeMessages, .echo): context.write(wrapOutboundOut(kept), promise: nil)
        case (.streamed, .echo): break
        case (_, .acknowledgement): context.write(wrapOutboundOut(frame.header), promise: nil)
        }
        kept = ByteBuffer()
    }

    /// Reads the header of the next message and the length of its body. Returns nil if the header is incomplete.
    private func readHeader(
        from input: inout ByteBuffer,
        _ context: ChannelHandlerContext
    ) throws -> (frame: RawFrame, missing: Int)? {
        let missing = min(RawFrame.headerBytes - kept.readableBytes, input.readableBytes)
        if var header = input.readSlice(length: missing) { kept.writeBuffer(&header) }
        guard let frame = try RawFrame(peekingAt: kept) else { return nil }
        switch form {
        case .wholeMessages:
            kept.reserveCapacity(frame.bytes)
        case .streamed:
            if frame.answer == .echo { context.write(wrapOutboundOut(kept), promise: nil) }
            kept = ByteBuffer()
        }
        return (frame, frame.bodyBytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
