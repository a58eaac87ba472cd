// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization

/// The connection of a stream, for the parts that manage connections: trust, limits and shutdown. ``ByteStream`` reads
/// and writes over it.
///
/// The ``ByteStreamDriver`` does the work on the channel's event loop.
package final class StreamConnection: AuthenticatedConnection {
    package let peer: PeerIdentity
    package let channel: any Channel
    /// The executor that runs tasks on the connection's event loop.
    package let taskExecutor: EventLoopTaskExecutor
    let driver: NIOLoopBound<ByteStreamDriver>
    /// The received bytes, for the reading task.
    let inbox: StreamInbox
    let eventLoop: any EventLoop
    private let lastOperation = Atomic<UInt64>(0)

    /// Called on the channel's event loop.
    init(
        channel: any Channel,
        peer: PeerIdentity,
        remote: PeerLimits,
        limits: StreamLimits,
        decoder: FrameDecoder,
        logger: Logger,
        incidents: IncidentLog,
        observer: ConnectionObserver.One? = nil
    ) {
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.peer = peer
        self.taskExecutor = EventLoopTaskExecutor(channel.eventLoop)
        let inbox = StreamInbox(limit: limits.bufferedBytes)
        self.inbox = inbox
        let driver = ByteStreamDriver(
            channel: channel,
            remote: remote,
            limits: limits,
            trusted: peer.trustedTime,
            decoder: decoder,
            inbox: inbox,
            logger: logger,
            incidents: incidents,
            observer: observer
        )
        self.driver = NIOLoopBound(driver, eventLoop: channel.eventLoop)
        driver.connection = self
    }

    /// Lowers the limit of unread bytes, for a peer that has many streams. Called on the channel's event loop, when the
    /// stream opens.
    func holdLittle() {
        let bytes = MemoryBudget.streamBytesOfFurther
        self.inbox.limit(to: bytes)
        // One read of the network, which is added to them, is otherwise four reads of at most 64 KiB.
        let options = self.channel.syncOptions
        try? options?.setOption(.maxMessagesPerRead, value: 1)
        try? options?.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: bytes))
    }

    func nextOperation() -> StreamOperation {
        StreamOperation(id: self.lastOperation.add(1, ordering: .relaxed).newValue)
    }

    /// Runs the closure on the connection's event loop: at once if called there, otherwise as soon as possible.
    func onEventLoop(_ body: @escaping @Sendable (ByteStreamDriver) -> Void) {
        if self.eventLoop.inEventLoop {
            body(self.driver.value)
        } else {
            self.eventLoop.execute { body(self.driver.value) }
        }
    }

    // MARK: Ending

    /// Aborts the stream, and sends the reason to the peer.
    package func abort(_ reason: WireFailure) {
        self.onEventLoop { $0.abort(.aborted(reason)) }
    }

    package func abort(_ status: CloseStatus, reason: TransportError?) {
        guard let reason else { return self.abort(.streamCancelled) }
        self.onEventLoop {
            $0.abort(
                StreamError(
                    reason.code == .peerNotTrusted ? .peerNotTrusted : .aborted,
                    reason.message,
                    side: reason.side,
                    canRetry: reason.canRetry,
                    failureCode: reason.failureCode,
                    cause: reason
                )
            )
        }
    }

    /// Waits for the stream to end, within the drain time. Returns after the connection has closed.
    package func close(_ status: CloseStatus) async {
        self.onEventLoop { $0.closeSoon() }
        _ = await self.waitUntilClosed()
    }

    package func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        self.onEventLoop { $0.onClose(listener) }
    }
}
