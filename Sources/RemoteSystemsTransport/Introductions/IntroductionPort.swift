// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore

/// The timeouts of a connection of strangers, each counted from TCP's accept.
struct IntroductionTimes {
    /// The time until the first byte.
    var firstByte = TimeAmount.seconds(2)
    /// The time until the first message, after TLS's handshake.
    var firstMessage = TimeAmount.seconds(5)
    /// The time until the conversation ends. A conversation can extend it.
    var whole: TimeAmount

    /// The timeout of a whole conversation. It is enough for five messages between slow machines on a slow network.
    static let wholeByDefault = TimeAmount.seconds(15)

    init() {
        self.whole = Self.wholeByDefault
    }

    /// One time for everything.
    init(all time: TimeAmount) {
        (self.firstByte, self.firstMessage, self.whole) = (time, time, time)
    }
}

/// Accepts connections of systems that are not trusted yet, for one protocol.
struct IntroductionPort<Message: IntroductionMessage>: Sendable {
    let bound: BoundPort
    /// The conversations whose TLS handshake is complete.
    let conversations: AsyncStream<Introduction<Message>>

    static func listen(
        host: String?,
        port: Int,
        tls: IntroductionTLS<Message>,
        times: IntroductionTimes = IntroductionTimes(),
        logger: Logger,
        network: TransportNetwork
    ) async throws -> IntroductionPort {
        let places = UnauthenticatedPlaces()
        let (conversations, feed) = AsyncStream<Introduction<Message>>.makeStream(
            bufferingPolicy: .bufferingOldest(UnauthenticatedSlots.maxConnections)
        )
        let bound = try await network.listen(host: host, port: port, logger: logger) { channel in
            channel.eventLoop.makeCompletedFuture {
                // The guaranteed times are real times, as the other timeouts of these connections.
                let place = places.enter(channel.transportPeer.key, at: .now) {
                    channel.eventLoop.execute { channel.closeBeneathTLS() }
                }
                guard let place else {
                    throw TransportError(.localResources, "Too many connections at once.", side: .local)
                }
                channel.closeFuture.whenComplete { _ in places.leave(place) }
                try channel.pipeline.syncOperations.addHandler(
                    FirstByteHandler(timeout: times.firstByte) { places.advance(place, to: .speaking) }
                )
                let conversation = try Introduction<Message>(
                    channel,
                    tls: tls.serverHandler(),
                    times: times,
                    advance: { places.advance(place, to: $0) }
                )
                // Connections without TLS are not served, so they take no place in the stream.
                conversation.whenSecured {
                    if case .enqueued = feed.yield(conversation) { return }
                    channel.close(promise: nil)
                }
            }
        }
        return IntroductionPort(bound: bound, conversations: conversations)
    }
}
