// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Converts between the bytes of a TLS channel and messages, and closes the channel when a timeout elapses.
final class IntroductionHandler<Message: IntroductionMessage>: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Message
    typealias OutboundOut = ByteBuffer
    typealias Feed = AsyncThrowingStream<Message, any Error>.Continuation

    private let firstMessageDeadline: NIODeadline
    private var deadline: NIODeadline
    private let secured: EventLoopPromise<[UInt8]>
    private let feed: Feed
    private let greeted: () -> Void
    private var decoder: FrameDecoder
    private var context: ChannelHandlerContext?
    private var timeout: Scheduled<Void>?
    private var isGreeted = false

    /// Creates a handler for one conversation.
    ///
    /// - Parameters:
    ///   - times: the timeouts, from now on.
    ///   - secured: receives the peer's certificate, in DER, when the TLS handshake is complete.
    ///   - feed: receives the peer's messages.
    ///   - limit: the maximum length of the peer's frames, without their length fields, in bytes.
    ///   - greeted: called when the first message has arrived.
    init(
        times: IntroductionTimes,
        secured: EventLoopPromise<[UInt8]>,
        feed: Feed,
        limit: Int,
        greeted: @escaping () -> Void
    ) {
        let now = NIODeadline.now()
        self.decoder = FrameDecoder(limit: limit)
        self.firstMessageDeadline = now + times.firstMessage
        self.deadline = now + times.whole
        self.secured = secured
        self.feed = feed
        self.greeted = greeted
    }

    /// The maximum length of the peer's frames, without their length fields, in bytes.
    var limit: Int {
        get { self.decoder.limit }
        set { self.decoder.limit = newValue }
    }

    /// Replaces the time at which the conversation must be complete.
    func extend(to deadline: NIODeadline) {
        self.deadline = deadline
        self.schedule()
    }

    private func schedule() {
        self.timeout?.cancel()
        guard let context else { return }
        let deadline = self.isGreeted ? self.deadline : min(self.deadline, self.firstMessageDeadline)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.timeout = context.eventLoop.scheduleTask(deadline: deadline) {
            let (handler, context) = bound.value
            handler.fail(.tooSlow(Message.slowAdvice), context: context)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.schedule()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
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
        guard alpn == Message.alpn else {
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
                let message = try Message(frame)
                if !self.isGreeted {
                    self.isGreeted = true
                    self.greeted()
                    self.schedule()
                }
                switch self.feed.yield(message) {
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
        // A port that is flooded closes connections at any time, also during the handshake.
        let end: TransportError = isEndOfConnection(error) ? .brokenOff : .tlsHandshakeFailed(error)
        self.fail(error as? TransportError ?? end, context: context)
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

    fileprivate static func tooSlow(_ advice: String) -> TransportError {
        TransportError(
            .deadlineExceeded,
            "The other side took too long. \(advice)",
            side: .network,
            canRetry: true
        )
    }
}

/// Whether the other side, or the network, has closed the connection, without a fault of TLS.
private func isEndOfConnection(_ error: any Error) -> Bool {
    switch error as? NIOSSLError {
    case .uncleanShutdown?: true
    case .handshakeFailed(.sslError(let errors))?: errors == [.eofDuringHandshake]
    default: error is IOError
    }
}
