// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import Synchronization

/// The memory that the connections of a host may hold for unfinished frames, for requests and for responses that are
/// not read, in all and of one peer.
///
/// A frame that does not arrive whole reserves its announced length before more of it is read, so that a frame with a
/// reservation can always be finished. The others wait: their connections are not read. The requests of a connection
/// that wait or are being handled reserve what they hold; without a reservation a request is refused. The responses
/// that a connection cannot send, because its peer does not read, reserve their bytes, too; without a reservation a
/// response is replaced by a failure.
///
/// Each connection has an allowance, which is not counted: for its unfinished frame, and as much for its requests, and
/// one for its responses. The budget is therefore not used for messages that are small and for which nothing waits. A
/// peer that has very many connections has smaller allowances on most of them. In the same way, a peer to which very
/// many streams were offered has smaller buffers for most of them.
///
/// The budget also counts the requests whose handlers run, because the handlers of many connections may wait for each
/// other, such as in front of one actor. The first ones of each connection are not counted, so that each goes on. A
/// further request waits for a place.
package final class MemoryBudget: Sendable {
    /// The allowance of a connection, in bytes.
    package static var allowance: Int { 16 << 10 }
    /// The allowance of a connection beyond the first ones of its peer, or of all peers, in bytes.
    package static var allowanceOfFurther: Int { 4 << 10 }
    /// The allowance of a connection for responses, in bytes, and that of a connection beyond the first ones. Twice the
    /// bytes that are collected before they are flushed.
    package static var responseAllowance: Int { 128 << 10 }
    package static var responseAllowanceOfFurther: Int { 8 << 10 }
    /// The number of connections that have the full allowance, and that of one peer.
    package static var connections: Int { 1024 }
    package static var connectionsEach: Int { 64 }
    /// The limits by default, in bytes: of the reserved frames, of the requests, of the responses, of the bytes that
    /// have arrived of waiting frames, and of one peer's.
    package static var frameBytes: Int { 64 << 20 }
    package static var requestBytes: Int { 64 << 20 }
    package static var responseBytes: Int { 128 << 20 }
    package static var waitingBytes: Int { 32 << 20 }
    package static var waitingBytesEach: Int { 8 << 20 }

    /// The number of streams whose unread bytes have the buffer of their limits, and that of one peer.
    package static var streams: Int { 256 }
    package static var streamsEach: Int { 64 }
    /// The buffer of a stream beyond the first ones of its peer, or of all peers, in bytes, and the maximum of one read
    /// of the network that is added to it.
    package static var streamBytesOfFurther: Int { 16 << 10 }

    /// The number of requests that are handled at the same time by default, and that of one peer.
    package static var handled: Int { 4096 }
    package static var handledEach: Int { 256 }
    /// The number of requests of a connection that are handled and not counted, and that of a connection beyond the
    /// first ones.
    package static var handledOfConnection: Int { 4 }
    package static var handledOfFurther: Int { 1 }
    /// The unit in which places for requests are reserved.
    package static var handledStep: Int { 8 }

    private struct Use {
        /// The connections that have the full allowance.
        var connections: KeyedLimiter<QuotaHolder>
        /// The streams that have the full buffer.
        var streams: KeyedLimiter<QuotaHolder>
        /// The places of requests that are handled.
        var places: KeyedLimiter<QuotaHolder>
    }

    private let use: Mutex<Use>
    /// The memory for unfinished frames, by their announced lengths.
    package let frames: ReservedMemory
    /// The memory for what has arrived of waiting frames.
    package let waiting: ReservedMemory
    /// The memory for requests.
    package let requests: ReservedMemory
    /// The memory for responses.
    package let responses: ReservedMemory

    /// Creates an unused budget.
    ///
    /// - Parameters:
    ///   - messageBytes: the maximum length of a message. The budget has space for at least eight unfinished ones.
    ///   - windowBytes: the maximum of the requests in flight on one connection. The budget has space for those of at
    ///     least four. Defaults to one message.
    ///   - window: the maximum number of requests in flight on one connection. The budget has places for those of at
    ///     least two connections of one peer. Defaults to 128.
    ///   - frameBytes: the maximum of the reserved frames together, if that is more. A peer may use a quarter of it,
    ///     and never more than half of what is free.
    ///   - requestBytes: the same of the requests.
    ///   - responseBytes: the same of the responses. By default, one peer's part has space for the longest response.
    ///   - connectionsEach: the number of connections of one peer that have the full allowance.
    ///   - streams: the number of streams that have the full buffer.
    ///   - streamsEach: the number of those of one peer.
    package init(
        messageBytes: Int,
        windowBytes: Int? = nil,
        window: Int = 128,
        frameBytes: Int = frameBytes,
        requestBytes: Int = requestBytes,
        responseBytes: Int = responseBytes,
        waitingBytes: Int = waitingBytes,
        waitingBytesEach: Int = waitingBytesEach,
        connectionsEach: Int = connectionsEach,
        streams: Int = MemoryBudget.streams,
        streamsEach: Int = streamsEach
    ) {
        self.frames = ReservedMemory(bytes: max(frameBytes, 8 * messageBytes))
        self.waiting = ReservedMemory(bytes: waitingBytes, each: waitingBytesEach)
        self.requests = ReservedMemory(
            bytes: max(requestBytes, 4 * HeldMemory.step + 4 * max(windowBytes ?? 0, messageBytes))
        )
        self.responses = ReservedMemory(bytes: responseBytes)
        let handledEach = max(Self.handledEach, 2 * window)
        let handled = max(Self.handled, 4 * handledEach)
        self.use = Mutex(
            Use(
                connections: KeyedLimiter(total: Self.connections, perKey: connectionsEach, sharesOfFree: 2),
                streams: KeyedLimiter(total: streams, perKey: streamsEach, sharesOfFree: 2),
                places: KeyedLimiter(total: handled, perKey: handledEach, sharesOfFree: 2)
            )
        )
    }

    /// The number of connections that have the full allowance.
    package var connections: Int { self.use.withLock { $0.connections.count } }

    /// The number of streams that have the full buffer.
    package var streams: Int { self.use.withLock { $0.streams.count } }

    /// The reserved places of requests that are handled.
    package var places: Int { self.use.withLock { $0.places.count } }

    // MARK: Handlers

    /// Reserves places for requests that are handled, if there are so many.
    func reservePlaces(_ count: Int, for holder: QuotaHolder) -> Bool {
        self.use.withLock { $0.places.enter(holder, adding: count) }
    }

    /// Returns places.
    func releasePlaces(_ count: Int, for holder: QuotaHolder) {
        self.use.withLock { $0.places.add(-count, for: holder) }
    }

    // MARK: Streams

    /// Limits the unread bytes of a stream that has opened, for as long as it is open. Called on its event loop.
    func enter(_ stream: StreamConnection) {
        let holder = stream.peer.quotaHolder
        guard self.use.withLock({ $0.streams.enter(holder) }) else { return stream.holdLittle() }
        stream.onClose { [weak self] _ in self?.use.withLock { $0.streams.leave(holder) } }
    }

    // MARK: Connections

    /// Counts a connection that has opened. Returns its allowance.
    func enter(_ holder: QuotaHolder) -> Int {
        self.use.withLock { $0.connections.enter(holder) } ? Self.allowance : Self.allowanceOfFurther
    }

    /// No longer counts a connection.
    ///
    /// - Parameter allowance: the result of ``enter(_:)``.
    func leave(_ holder: QuotaHolder, allowance: Int) {
        guard allowance == Self.allowance else { return }
        self.use.withLock { $0.connections.leave(holder) }
    }
}
