// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL

/// Answers on one event-loop thread.
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
                    switch form {
                    case .wholeMessages: try pipeline.addHandler(WholeMessageAnswerer())
                    case .streamed: try pipeline.addHandler(StreamedAnswerer())
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
        guard let port = channel.localAddress?.port else { throw BenchError("The raw server has no port.") }
        address = String(port)
    }
}

/// Returns bytes as they come.
private final class StreamedAnswerer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.write(data, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// Answers each message when all of it is there.
private final class WholeMessageAnswerer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The beginning of a message whose end has not come yet; its body is kept only if it is to go back.
    private var unfinished = ByteBuffer()
    /// The header of that message, once it is there, and how much of its body is missing.
    private var awaited: (frame: RawFrame, missing: Int)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var input = unwrapInboundIn(data)
        do {
            while input.readableBytes > 0 {
                if let answer = try nextAnswer(in: &input) {
                    context.write(wrapOutboundOut(answer), promise: nil)
                }
            }
        } catch {
            context.close(promise: nil)
        }
    }

    private func nextAnswer(in input: inout ByteBuffer) throws -> ByteBuffer? {
        // Most small messages arrive whole and go back without being copied here.
        if awaited == nil, unfinished.readableBytes == 0, let frame = try RawFrame(peekingAt: input),
            frame.answer == .echo, let whole = input.readSlice(length: frame.bytes)
        {
            return whole
        }
        if awaited == nil {
            try readHeader(from: &input)
        }
        guard var (frame, missing) = awaited else { return nil }
        let available = min(missing, input.readableBytes)
        missing -= available
        switch frame.answer {
        case .echo:
            if var body = input.readSlice(length: available) { unfinished.writeBuffer(&body) }
        case .acknowledgement:
            input.moveReaderIndex(forwardBy: available)
        }
        awaited = (frame, missing)
        guard missing == 0 else { return nil }
        awaited = nil
        defer { unfinished = ByteBuffer() }
        return unfinished
    }

    private func readHeader(from input: inout ByteBuffer) throws {
        let missing = min(RawFrame.headerBytes - unfinished.readableBytes, input.readableBytes)
        if var header = input.readSlice(length: missing) { unfinished.writeBuffer(&header) }
        guard let frame = try RawFrame(peekingAt: unfinished) else { return }
        awaited = (frame, frame.bodyBytes)
        if frame.answer == .echo { unfinished.reserveCapacity(frame.bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
