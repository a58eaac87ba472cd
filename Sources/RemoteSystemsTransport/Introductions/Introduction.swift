// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A connection between systems that do not trust each other yet, for either side.
struct Introduction<Message: IntroductionMessage>: Sendable {
    typealias Messages = AsyncThrowingStream<Message, any Error>.AsyncIterator

    private let channel: any Channel
    private let handler: NIOLoopBound<IntroductionHandler<Message>>
    private let peerCertificate: EventLoopFuture<[UInt8]>
    private let advance: @Sendable (UnauthenticatedSlots.Stage) -> Void
    /// The peer's address, for log messages. Kept, because a closed channel has none.
    let peerAddress: String
    /// The key of the peer in limits. Kept for the same reason.
    let peerKey: PeerKey
    /// The peer's messages, for one reader.
    let messages: AsyncThrowingStream<Message, any Error>

    /// The maximum number of unread messages. The sides send in turn, so a peer that sends more breaks the protocol.
    private static var maxWaiting: Int { 2 }

    /// Prepares a channel. Called on its event loop.
    ///
    /// - Parameters:
    ///   - times: the timeouts. When one elapses the connection is closed, even if nothing was read yet.
    ///   - limit: the maximum length of the peer's frames, without their length fields, in bytes.
    ///   - advance: called when the connection reaches a further stage.
    init(
        _ channel: any Channel,
        tls: some ChannelHandler,
        times: IntroductionTimes = IntroductionTimes(),
        limit: Int = Message.maxBytes,
        advance: @escaping @Sendable (UnauthenticatedSlots.Stage) -> Void = { _ in }
    ) throws {
        let secured = channel.eventLoop.makePromise(of: [UInt8].self)
        let (messages, feed) = AsyncThrowingStream<Message, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maxWaiting)
        )
        let handler = IntroductionHandler<Message>(
            times: times,
            secured: secured,
            feed: feed,
            limit: limit
        ) { advance(.greeted) }
        do {
            try channel.pipeline.syncOperations.addHandlers([tls, handler])
        } catch {
            secured.fail(error)
            throw error
        }
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.peerCertificate = secured.futureResult
        self.advance = advance
        let peer = channel.transportPeer
        self.peerAddress = peer.address
        self.peerKey = peer.key
        self.messages = messages
    }

    /// Calls `body` when TLS's handshake is complete.
    func whenSecured(_ body: @escaping @Sendable () -> Void) {
        self.peerCertificate.whenSuccess { _ in body() }
    }

    /// Sends a message.
    func send(_ message: Message) async throws {
        do {
            try await self.channel.writeAndFlush(message)
        } catch let error where error is ChannelError || error is IOError {
            throw TransportError.brokenOff
        }
    }

    /// Keeps the connection's place on its port, because the peer has proven something.
    func keepPlace() {
        self.advance(.proven)
    }

    /// Replaces the timeout of the conversation.
    func extend(by time: TimeAmount) {
        self.channel.eventLoop.execute { [handler] in handler.value.extend(to: .now() + time) }
    }

    /// Replaces the maximum length of the peer's frames.
    func allow(bytes limit: Int) async throws {
        try await self.channel.eventLoop.submit { [handler] in handler.value.limit = limit }.get()
    }

    /// Runs `body` when the connection is secure, and closes the connection after all messages were sent.
    ///
    /// - Parameter body: receives the peer's certificate, in DER, and its messages.
    func run<Result: Sendable>(
        _ body: ([UInt8], inout Messages) async throws -> Result
    ) async throws -> Result {
        let result: Swift.Result<Result, any Error>
        do {
            let certificate = try await withTaskCancellationHandler {
                try await self.peerCertificate.get()
            } onCancel: {
                self.channel.close(promise: nil)
            }
            var messages = self.messages.makeAsyncIterator()
            result = .success(try await body(certificate, &messages))
        } catch {
            result = .failure(error)
        }
        try? await self.channel.close().get()
        return try result.get()
    }
}
