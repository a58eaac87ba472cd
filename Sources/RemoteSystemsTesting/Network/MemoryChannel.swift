// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import RemoteSystemsTransport
internal import Synchronization

/// One end of a connection in memory.
///
/// To its pipeline it behaves like a TCP socket. Bytes arrive in order or not at all. Writing more than the other end
/// accepts makes it unwritable. It ends when the other end closes, or by a reset.
final class MemoryChannel: TransportChannel {
    private struct State {
        var pipeline: ChannelPipeline?
        var isOpen = true
        var isActive = false
        var isWritable = true
        /// Whether the pipeline has requested bytes and has not received any since.
        var wantsRead = false
        /// The bytes that were written but not flushed.
        var pending: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
        var wire: Wire?
        /// Whether one bit of the next write is changed.
        var corruptsNext = false
    }

    /// The water marks in bytes, as NIO's defaults for a socket: above the high mark the channel becomes unwritable,
    /// below the low mark writable again.
    private static let highWater = 64 * 1024
    private static let lowWater = 32 * 1024

    let eventLoop: any EventLoop
    let transportPeer: TransportPeer
    private let side: Wire.Side
    private let closePromise: EventLoopPromise<Void>
    private let state = Mutex(State())

    init(eventLoop: any EventLoop, side: Wire.Side, peer: TransportPeer) {
        self.eventLoop = eventLoop
        self.side = side
        self.transportPeer = peer
        self.closePromise = eventLoop.makePromise()
    }

    var allocator: ByteBufferAllocator { ByteBufferAllocator() }
    var closeFuture: EventLoopFuture<Void> { self.closePromise.futureResult }
    var parent: (any Channel)? { nil }
    /// `nil`: the channel is not a socket and has no socket address.
    var localAddress: SocketAddress? { nil }
    var remoteAddress: SocketAddress? { nil }
    var isWritable: Bool { self.state.withLock { $0.isWritable } }
    var isActive: Bool { self.state.withLock { $0.isActive } }
    var _channelCore: any ChannelCore { self }

    var pipeline: ChannelPipeline {
        self.state.withLock { state in
            if let pipeline = state.pipeline { return pipeline }
            let new = ChannelPipeline(channel: self)
            state.pipeline = new
            return new
        }
    }

    /// There are no socket options to set.
    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        self.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        self.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    // MARK: Called by the wire

    func activate(_ wire: Wire) {
        let isOpen = self.state.withLock { state in
            guard state.isOpen else { return false }
            state.wire = wire
            state.isActive = true
            return true
        }
        guard isOpen else { return wire.send(.end, from: self.side) }
        self.pipeline.syncOperations.fireChannelRegistered()
        self.pipeline.syncOperations.fireChannelActive()
        self.pipeline.syncOperations.read()
    }

    /// Whether the channel accepts bytes now. If not, they wait, as in a socket that is not read.
    var wantsRead: Bool { self.state.withLock { $0.wantsRead } }

    func receive(_ piece: Lane.Piece) {
        guard self.isActive else { return }
        switch piece {
        case .bytes(let bytes):
            self.state.withLock { $0.wantsRead = false }
            self.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            self.pipeline.syncOperations.fireChannelReadComplete()
            // Reads on, unless a handler holds back the read.
            if self.isActive { self.pipeline.syncOperations.read() }
        case .end:
            self.close0(error: ChannelError.eof, mode: .all, promise: nil)
        case .reset:
            let error = IOError(errnoCode: ECONNRESET, reason: "The connection was cut by the test.")
            self.pipeline.syncOperations.fireErrorCaught(error)
            self.close0(error: error, mode: .all, promise: nil)
        }
    }

    func corruptNextWrite() { self.state.withLock { $0.corruptsNext = true } }

    /// Compares the bytes in flight with the water marks.
    func updateWritability() {
        let hasChanged = self.state.withLock { state in
            guard state.isActive, let wire = state.wire else { return false }
            let bytes = state.pending.reduce(wire.bytesInFlight(from: self.side)) { $0 + $1.bytes.readableBytes }
            let isWritable = state.isWritable ? bytes <= Self.highWater : bytes < Self.lowWater
            defer { state.isWritable = isWritable }
            return state.isWritable != isWritable
        }
        if hasChanged { self.pipeline.syncOperations.fireChannelWritabilityChanged() }
    }
}

// MARK: - Called by the pipeline

extension MemoryChannel: ChannelCore {
    func localAddress0() throws -> SocketAddress { throw ChannelError.unknownLocalAddress }
    func remoteAddress0() throws -> SocketAddress { throw ChannelError.unknownLocalAddress }

    func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = self.unwrapData(data, as: ByteBuffer.self)
        let isOpen = self.state.withLock { state in
            var bytes = bytes
            if state.corruptsNext, let last = bytes.readableBytesView.last {
                bytes.setInteger(last ^ 1, at: bytes.writerIndex - 1)
                state.corruptsNext = false
            }
            if state.isOpen { state.pending.append((bytes, promise)) }
            return state.isOpen
        }
        guard isOpen else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        self.updateWritability()
    }

    func flush0() {
        let (pending, wire) = self.state.withLock { state -> ([(ByteBuffer, EventLoopPromise<Void>?)], Wire?) in
            guard let wire = state.wire else { return ([], nil) }
            defer { state.pending = [] }
            return (state.pending, wire)
        }
        for (bytes, promise) in pending {
            wire?.send(.bytes(bytes), from: self.side)
            promise?.succeed(())
        }
    }

    func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            promise?.fail(ChannelError.operationUnsupported)
            return
        }
        enum Before { case closed, opening, active(Wire?) }
        let (before, pending) = self.state.withLock { state in
            let before: Before = !state.isOpen ? .closed : state.isActive ? .active(state.wire) : .opening
            let pending = state.pending
            state.pending = []
            state.isOpen = false
            state.isActive = false
            state.isWritable = false
            return (before, pending)
        }
        for (_, promise) in pending { promise?.fail(error) }
        switch before {
        case .closed:
            promise?.fail(ChannelError.alreadyClosed)
            return
        case .opening:
            promise?.succeed(())
        case .active(let wire):
            promise?.succeed(())
            wire?.send(.end, from: self.side)
            self.pipeline.syncOperations.fireChannelInactive()
            self.pipeline.syncOperations.fireChannelUnregistered()
        }
        // The handler that called `close` may still be on the call stack, so the pipeline is removed later.
        self.eventLoop.execute {
            self.removeHandlers(pipeline: self.pipeline)
            self.closePromise.succeed(())
        }
    }

    func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// The channel is registered from the beginning, and its network connects it.
    func register0(promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
    func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed(()) }
    func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }
    func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    func read0() {
        let wire = self.state.withLock { state in
            state.wantsRead = true
            return state.isActive ? state.wire : nil
        }
        wire?.readWanted(by: self.side)
    }

    func channelRead0(_ data: NIOAny) {}
    func errorCaught0(error: any Error) {}
}
