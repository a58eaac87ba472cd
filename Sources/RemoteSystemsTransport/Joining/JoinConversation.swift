// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A connection for joining, for either side.
struct JoinConversation: Sendable {
    typealias Messages = AsyncThrowingStream<JoinMessage, any Error>.AsyncIterator

    private let channel: any Channel
    private let peerCertificate: EventLoopFuture<[UInt8]>
    private let messages: AsyncThrowingStream<JoinMessage, any Error>

    /// The timeout of a conversation, from the TCP connection on. It is enough for five messages between slow machines
    /// on a slow network. When it elapses the connection is closed, even if the conversation was not started yet.
    static let time = TimeAmount.seconds(15)
    /// The maximum number of unread messages. The sides send in turn, so a peer that sends more breaks the protocol.
    private static let maxWaiting = 2

    /// Prepares a channel for joining. Called on its event loop.
    ///
    /// - Parameter limit: the maximum length of the peer's frames, without their length fields, in bytes.
    init(
        _ channel: any Channel,
        tls: some ChannelHandler,
        time: TimeAmount = Self.time,
        limit: Int = JoinMessage.maxBytes
    ) throws {
        let secured = channel.eventLoop.makePromise(of: [UInt8].self)
        let (messages, feed) = AsyncThrowingStream<JoinMessage, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maxWaiting)
        )
        let handler = JoinHandler(deadline: .now() + time, secured: secured, feed: feed, limit: limit)
        do {
            try channel.pipeline.syncOperations.addHandlers([tls, handler])
        } catch {
            secured.fail(error)
            throw error
        }
        self.channel = channel
        self.peerCertificate = secured.futureResult
        self.messages = messages
    }

    /// Sends a message.
    func send(_ message: JoinMessage) async throws {
        try await self.channel.writeAndFlush(message)
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
