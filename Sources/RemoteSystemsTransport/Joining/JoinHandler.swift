// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Converts between the bytes of a TLS channel and joining messages, and closes the channel when its timeout elapses.
final class JoinHandler: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = JoinMessage
    typealias OutboundOut = ByteBuffer
    typealias Feed = AsyncThrowingStream<JoinMessage, any Error>.Continuation

    private let deadline: NIODeadline
    private let secured: EventLoopPromise<[UInt8]>
    private let feed: Feed
    private var decoder: FrameDecoder
    private var timeout: Scheduled<Void>?

    /// Creates a handler for one conversation.
    ///
    /// - Parameters:
    ///   - deadline: when the conversation must be complete.
    ///   - secured: receives the peer's certificate, in DER, when the TLS handshake is complete.
    ///   - feed: receives the peer's messages.
    ///   - limit: the maximum length of the peer's frames, without their length fields, in bytes.
    init(deadline: NIODeadline, secured: EventLoopPromise<[UInt8]>, feed: Feed, limit: Int) {
        self.decoder = FrameDecoder(limit: limit)
        self.deadline = deadline
        self.secured = secured
        self.feed = feed
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.timeout = context.eventLoop.scheduleTask(deadline: self.deadline) {
            let (handler, context) = bound.value
            handler.fail(.tooSlow, context: context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end(.brokenOff)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(.brokenOff)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let alpn) = event as? TLSUserEvent {
            self.handshakeCompleted(alpn: alpn, context: context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func handshakeCompleted(alpn: String?, context: ChannelHandlerContext) {
        guard alpn == JoinTLS.alpn else {
            return self.fail(.incompatible(what: "protocol \(alpn ?? "unknown")"), context: context)
        }
        do {
            guard let certificate = try context.pipeline.syncOperations.nioSSL_peerCertificate()?.toDERBytes() else {
                throw TransportError(.peerNotTrusted, "It showed no certificate.", side: .remote)
            }
            self.secured.succeed(certificate)
        } catch {
            self.errorCaught(context: context, error: error)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.decoder.append(self.unwrapInboundIn(data))
        do throws(TransportError) {
            while let frame = try self.decoder.next() {
                switch self.feed.yield(try JoinMessage(frame)) {
                case .enqueued: break
                case .dropped: throw .violation("a message came out of turn", .frameUnexpected)
                case .terminated: return
                @unknown default: return
                }
            }
        } catch {
            self.fail(error, context: context)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var buffer = context.channel.allocator.buffer(capacity: 2048)
        do {
            try self.unwrapOutboundIn(data).write(to: &buffer)
            context.write(self.wrapOutboundOut(buffer), promise: promise)
        } catch {
            promise?.fail(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.fail(error as? TransportError ?? .tlsHandshakeFailed(error), context: context)
    }

    private func fail(_ error: TransportError, context: ChannelHandlerContext) {
        self.end(error)
        context.close(promise: nil)
    }

    /// Ends the conversation. Only the first call has an effect on the promise and the feed.
    private func end(_ error: TransportError) {
        self.timeout?.cancel()
        self.secured.fail(error)
        self.feed.finish(throwing: error)
    }
}

extension TransportError {
    static let brokenOff = TransportError(
        .connectionLost,
        "The connection was closed before the other side had responded.",
        side: .network,
        canRetry: true
    )

    fileprivate static let tooSlow = TransportError(
        .deadlineExceeded,
        "The other side took too long. Check that 'remotesystems account invite' still runs there, and try again.",
        side: .network,
        canRetry: true
    )
}
