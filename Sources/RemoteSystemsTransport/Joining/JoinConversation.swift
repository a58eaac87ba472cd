// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One connection of joining, for either side.
struct JoinConversation: Sendable {
    typealias Messages = AsyncThrowingStream<JoinMessage, any Error>.AsyncIterator

    private let channel: any Channel
    private let peerCertificate: EventLoopFuture<[UInt8]>
    private let messages: AsyncThrowingStream<JoinMessage, any Error>

    /// What a whole conversation may take, from the TCP connection on: five messages, on a slow line and with slow
    /// machines. It ends then, whether anybody attends to it or not.
    static let time = TimeAmount.seconds(15)
    /// How many messages may wait to be read. Each side speaks in turn, so whoever sends more breaks the protocol.
    private static let maxWaiting = 2

    /// Makes a channel ready for joining; to be called on its event loop.
    init(_ channel: any Channel, tls: some ChannelHandler, time: TimeAmount = Self.time) throws {
        let secured = channel.eventLoop.makePromise(of: [UInt8].self)
        let (messages, feed) = AsyncThrowingStream<JoinMessage, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(Self.maxWaiting)
        )
        let handler = JoinHandler(deadline: .now() + time, secured: secured, feed: feed)
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

    /// Says something.
    func send(_ message: JoinMessage) async throws {
        try await self.channel.writeAndFlush(message)
    }

    /// Runs `body` once the connection is secure, and closes the connection when all that was sent has left.
    ///
    /// - Parameter body: gets the certificate that the peer showed, in DER, and what it says.
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
