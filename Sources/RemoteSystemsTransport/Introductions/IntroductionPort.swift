// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import Synchronization

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
        let gate = IntroductionGate()
        let (conversations, feed) = AsyncStream<Introduction<Message>>.makeStream(
            bufferingPolicy: .bufferingOldest(IntroductionSlots.maxConnections)
        )
        let bound = try await network.listen(host: host, port: port, logger: logger) { channel in
            channel.eventLoop.makeCompletedFuture {
                guard let slot = gate.enter(channel, of: channel.transportPeer.key) else {
                    throw TransportError(.localResources, "Too many connections at once.", side: .local)
                }
                try channel.pipeline.syncOperations.addHandler(
                    FirstByteHandler(timeout: times.firstByte) { gate.advance(slot, to: .speaking) }
                )
                let conversation = try Introduction<Message>(
                    channel,
                    tls: tls.serverHandler(),
                    times: times,
                    advance: { gate.advance(slot, to: $0) }
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

/// The slots of a port and the channels in them.
private final class IntroductionGate: Sendable {
    private struct State {
        var slots = IntroductionSlots()
        var channels: [IntroductionSlots.ID: any Channel] = [:]
    }

    private let state = Mutex(State())

    /// Gives a channel a slot, and closes the channel that had it; `nil` if there is no slot.
    ///
    /// The guaranteed times are real times, as the other timeouts of these connections.
    func enter(_ channel: any Channel, of peer: PeerKey) -> IntroductionSlots.ID? {
        let now = ContinuousClock.now
        let (slot, replaced) = self.state.withLock { state -> (IntroductionSlots.ID?, (any Channel)?) in
            switch state.slots.enter(peer, at: now) {
            case .entered(let id):
                state.channels[id] = channel
                return (id, nil)
            case .replaced(let other, let id):
                state.channels[id] = channel
                return (id, state.channels.removeValue(forKey: other))
            case .refused:
                return (nil, nil)
            }
        }
        if let replaced { FirstByteHandler.close(replaced) }
        guard let slot else { return nil }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.slots.leave(slot)
                state.channels[slot] = nil
            }
        }
        return slot
    }

    func advance(_ slot: IntroductionSlots.ID, to stage: IntroductionSlots.Stage) {
        self.state.withLock { $0.slots.advance(slot, to: stage) }
    }
}

/// Closes a connection on which no byte arrives, before TLS.
private final class FirstByteHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let deadline: NIODeadline
    private let arrived: () -> Void
    private var timeout: Scheduled<Void>?

    init(timeout: TimeAmount, arrived: @escaping () -> Void) {
        self.deadline = .now() + timeout
        self.arrived = arrived
    }

    /// Closes a channel at once, from its event loop.
    ///
    /// Closing the whole channel would first wait for the peer's part of TLS's close, which a peer can delay for
    /// seconds. A flood of such connections would hold more file descriptors than there are slots.
    static func close(_ channel: any Channel) {
        channel.eventLoop.execute {
            guard let context = try? channel.pipeline.syncOperations.context(handlerType: FirstByteHandler.self) else {
                return channel.close(promise: nil)
            }
            context.close(promise: nil)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        self.timeout = context.eventLoop.scheduleTask(deadline: self.deadline) {
            bound.value.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timeout?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let timeout = self.timeout.take() {
            timeout.cancel()
            self.arrived()
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timeout?.cancel()
        context.fireChannelInactive()
    }
}
