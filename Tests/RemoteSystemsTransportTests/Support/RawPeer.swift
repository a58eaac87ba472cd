// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import RemoteSystemsTransport

/// A client that sends raw bytes over TCP, with or without TLS, and follows no rule by itself.
final class RawPeer: Sendable {
    let channel: any Channel
    private let inbox: Inbox

    private init(channel: any Channel, inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    /// Connects, and waits for the end of the TLS handshake if there is one.
    ///
    /// - Parameter source: The loopback address to connect from, for example 127.0.0.2. Defaults to 127.0.0.1.
    static func connect(port: Int, tls: TLSConfiguration?, from source: String? = nil) async throws -> RawPeer {
        let inbox = Inbox()
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
        let channel =
            try await bootstrap
            .channelOption(.socketOption(.so_rcvbuf), value: 1 << 16)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        let handler = try NIOSSLClientHandler(context: context, serverHostname: nil) { _, promise in
                            promise.succeed(.certificateVerified)
                        }
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(RawHandler(inbox: inbox))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawPeer(channel: channel, inbox: inbox)
    }

    /// A host that sends raw bytes. Accepts one connection on loopback.
    ///
    /// - Returns: Its port, and the peer once a client has connected. The receiver of the peer closes both channels.
    static func listen(
        with security: TransportSecurity
    ) async throws -> (port: Int, listener: any Channel, peer: EventLoopFuture<RawPeer>) {
        let promise = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: RawPeer.self)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let inbox = Inbox()
                    try channel.pipeline.syncOperations.addHandlers(security.serverHandler(), RawHandler(inbox: inbox))
                    promise.succeed(RawPeer(channel: channel, inbox: inbox))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return (listener.localAddress?.port ?? 0, listener, promise.futureResult)
    }

    func send(_ bytes: [UInt8]) {
        self.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    func send(_ frames: Frame...) throws {
        var buffer = ByteBuffer()
        for frame in frames { try buffer.writeFrame(frame, limit: 1 << 24) }
        self.channel.writeAndFlush(buffer, promise: nil)
    }

    /// The next frame from the host; `nil` when it has closed the connection.
    func nextFrame() async throws -> Frame? {
        try await eventually("a frame or the end") {
            try self.inbox.next()
        }
    }

    /// All further frames until the host closes the connection.
    func remainingFrames() async throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try await self.nextFrame() { frames.append(frame) }
        return frames
    }

    func waitUntilClosed() async throws {
        _ = try await eventually("the end of the connection") { self.inbox.isClosed ? true : nil }
    }

    /// Stops reading, so that the host's output accumulates.
    func stopReading() async throws {
        try await self.channel.setOption(.autoRead, value: false).get()
    }

    /// The error that ended the connection on this side.
    var error: (any Error)? { self.inbox.error }

    var isClosed: Bool { self.inbox.isClosed }

    func close() {
        self.channel.close(promise: nil)
    }
}

/// Received data, shared between the event loop and the test.
private final class Inbox: Sendable {
    private struct State {
        var decoder = FrameDecoder(limit: 1 << 24)
        var isClosed = false
        var error: (any Error)?
    }

    private let state = Mutex(State())

    func append(_ bytes: ByteBuffer) { self.state.withLock { $0.decoder.append(bytes) } }
    func close() { self.state.withLock { $0.isClosed = true } }
    func fail(_ error: any Error) { self.state.withLock { $0.error = $0.error ?? error } }
    var isClosed: Bool { self.state.withLock { $0.isClosed } }
    var error: (any Error)? { self.state.withLock { $0.error } }

    /// `nil` if nothing has arrived yet, `.some(nil)` at the end.
    func next() throws -> Frame?? {
        try self.state.withLock { state in
            if let bytes = try state.decoder.next() { return try Frame(bytes) }
            return state.isClosed ? .some(nil) : nil
        }
    }
}

private final class RawHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let inbox: Inbox

    init(inbox: Inbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.inbox.append(self.unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) { self.inbox.close() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.inbox.fail(error)
        context.close(promise: nil)
    }
}

struct NotInTime: Error, CustomStringConvertible {
    var what: String
    var description: String { "\(self.what) did not come in time" }
}

/// Polls until there is a value, for at most 20 seconds.
func eventually<Response>(_ what: String, _ ask: () async throws -> Response?) async throws -> Response {
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
        if let response = try await ask() { return response }
        // Polls in real time: the peers are real sockets.
        try await Task.sleep(for: .milliseconds(2))
    }
    throw NotInTime(what: what)
}

/// Polls until the condition holds, for at most 20 seconds.
func eventually(_ what: String, that condition: () async throws -> Bool) async throws {
    let _: Bool = try await eventually(what) { try await condition() ? true : nil }
}

extension Connection {
    var hasCallsOut: Bool { get async throws { try await self.ask { !$0.machine.outgoing.isEmpty } } }
    var hasRequestsIn: Bool { get async throws { try await self.ask { !$0.machine.incoming.isEmpty } } }
    /// The number of running handlers.
    var handlers: Int { get async throws { try await self.ask { $0.handlerTasks.count } } }

    func ask<Response: Sendable>(_ question: @escaping @Sendable (ConnectionDriver) -> Response) async throws
        -> Response
    {
        try await self.channel.eventLoop.submit { question(self.driver.value) }.get()
    }
}
