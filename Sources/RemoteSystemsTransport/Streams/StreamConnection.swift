// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization

/// The connection of a stream, for those that watch over connections: trust, limits, shutting down. ``ByteStream`` is what reads
/// and writes over it.
///
/// What is to be done is done by its ``ByteStreamDriver`` on the channel's event loop.
package final class StreamConnection: AuthenticatedConnection {
    package let peer: PeerIdentity
    package let channel: any Channel
    /// Runs tasks on the connection's event loop.
    package let taskExecutor: EventLoopTaskExecutor
    let driver: NIOLoopBound<ByteStreamDriver>
    let eventLoop: any EventLoop
    private let lastOperation = Atomic<UInt64>(0)

    /// On the channel's event loop.
    init(
        channel: any Channel,
        peer: PeerIdentity,
        remote: PeerLimits,
        limits: StreamLimits,
        decoder: FrameDecoder,
        logger: Logger,
        observer: ConnectionObserver.One? = nil
    ) {
        self.channel = channel
        self.eventLoop = channel.eventLoop
        self.peer = peer
        self.taskExecutor = EventLoopTaskExecutor(channel.eventLoop)
        let driver = ByteStreamDriver(
            channel: channel,
            remote: remote,
            limits: limits,
            trusted: peer.trustedTime,
            decoder: decoder,
            logger: logger,
            observer: observer
        )
        self.driver = NIOLoopBound(driver, eventLoop: channel.eventLoop)
        driver.connection = self
    }

    func nextOperation<Result>() -> StreamOperation<Result> {
        StreamOperation(id: self.lastOperation.add(1, ordering: .relaxed).newValue)
    }

    /// At once if this is the connection's event loop, else as soon as it gets to it.
    func onEventLoop(_ body: @escaping @Sendable (ByteStreamDriver) -> Void) {
        if self.eventLoop.inEventLoop {
            body(self.driver.value)
        } else {
            self.eventLoop.execute { body(self.driver.value) }
        }
    }

    // MARK: Ending

    /// Gives the stream up; the peer gets the reason.
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

    /// Lets what is under way come to its end, for the drain time at most. Returns once the connection is closed.
    package func close(_ status: CloseStatus) async {
        self.onEventLoop { $0.closeSoon() }
        _ = await self.waitUntilClosed()
    }

    package func onClose(_ listener: @escaping @Sendable (CloseStatus) -> Void) {
        self.onEventLoop { $0.onClose(listener) }
    }
}
