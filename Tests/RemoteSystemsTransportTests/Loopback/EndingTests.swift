// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import NIOPosix
import NIOSSL
import RemoteSystemsIdentity
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// How a connection ends, byte for byte (`Docs/wire-protocol.md`, section 8).
@Suite(.timeLimit(.minutes(1))) struct EndingTests {
    @Test func `a failure in a graceful close is ignored`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(.close(.completed, WireFailure("Everything is fine.", code: .busy)))
            #expect(try await peer.remainingFrames() == [.close(.completed, nil)])
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == .completed)
            #expect(!host.log.all.contains { $0.contains("Everything is fine.") })
        }
    }

    @Test func `a failure in a successful response is ignored`() async throws {
        try await LoopbackHost.with { _, connection in
            let response = try? await connection.send([:], timeout: .seconds(20))
            return Response(message: [
                "hasFailure": .bool(response?.failure != nil), "status": Value(response?.status.rawValue ?? 9),
            ])
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(.request(id: 1, timeoutMilliseconds: 20_000, message: [:]))
            guard case .request(let id, _, _, _, _)? = try await peer.nextFrame() else {
                Issue.record("the host asked nothing")
                return
            }
            try peer.send(.response(id: id, status: .success, message: [:], failure: WireFailure("Fine.")))
            guard case .response(1, .success, let message, nil)? = try await peer.nextFrame() else {
                Issue.record("no response")
                return
            }
            #expect(message == ["hasFailure": false, "status": 0])
        }
    }

    @Test func `a close with a status other than 0 ends the connection at once, despite work in progress`() async throws
    {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        try await LoopbackHost.with { _, _ in
            await endOfTest.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(.request(id: 1, timeoutMilliseconds: 20_000, message: [:]))
            let hosts = try await host.connections.first()
            try await eventually("the request") { try await hosts.hasRequestsIn }
            // The peer stays connected: it waits for the host to end the connection.
            try peer.send(.close(CloseStatus(rawValue: 77), WireFailure("Enough.")))
            #expect(try await peer.remainingFrames() == [.close(CloseStatus(rawValue: 77), nil)])
            #expect(await hosts.waitUntilClosed().rawValue == 77)
            endOfTest.open()
        }
    }

    @Test func `nothing follows this side's close with a status other than 0`() async throws {
        let gate = Gate()
        defer { gate.open() }
        try await LoopbackHost.with { _, _ in
            await gate.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(.request(id: 1, timeoutMilliseconds: 20_000, message: [:]))
            let hosts = try await host.connections.first()
            try await eventually("the request") { try await hosts.hasRequestsIn }
            async let closing: Void = hosts.close(.cancelled)
            #expect(try await peer.nextFrame() == .close(.cancelled, nil))
            // The peer does not end the connection, and the request's handler ends only now.
            gate.open()
            #expect(try await peer.remainingFrames() == [])
            await closing
            #expect(await hosts.waitUntilClosed() == .cancelled)
        }
    }

    @Test(arguments: [true, false])
    func `a peer that ends its half first still gets close_notify`(saysGoodbye: Bool) async throws {
        try await LoopbackHost.with { host in
            let peer = try await HalfPeer.connect(to: host)
            // TCP's end of data, without close_notify.
            try await peer.shutDownOutput(after: saysGoodbye ? [.close(.completed, nil)] : [])
            #expect(try await peer.endedWithCloseNotify())
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == (saysGoodbye ? .completed : .unknown))
        }
    }

    @Test func `a side that closes first responds to the request in progress`() async throws {
        try await LoopbackHost.with { request, connection in
            connection.leave()
            return Response(message: request.message)
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(.request(id: 1, timeoutMilliseconds: 20_000, message: ["a": 1]))
            let said = try await peer.remainingFrames()
            #expect(
                said == [
                    .response(id: 1, status: .success, message: ["a": 1], failure: nil), .close(.completed, nil),
                ]
            )
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == .completed)
        }
    }

    @Test func `a side that closes without work in progress ends at once, without the peer's close`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            let hosts = try await host.connections.first()
            hosts.leave()
            #expect(try await peer.remainingFrames() == [.close(.completed, nil)])
            #expect(peer.error == nil)
        }
    }

    @Test func `a caller that is cancelled just after opening still sends its close and close_notify`()
        async throws
    {
        let account = try TestAccount()
        let security = try TransportSecurity(identity: account.system())
        let (port, listener, promised) = try await RawPeer.listen(with: security)
        let connector = Connector(
            security: try TransportSecurity(identity: account.system()),
            limits: .patient,
            timeout: .seconds(20),
            logger: TestLog().logger
        )
        let cancelled = Cancelled()
        let connecting = Task {
            let endpoint = Endpoint(host: "127.0.0.1", port: port)
            return try await connector.connect(to: [endpoint], expecting: nil, hello: .test) { request, _ in
                // The connecting task has usually not returned yet.
                cancelled.cancel()
                return Response(message: request.message)
            }
        }
        cancelled.task.withLock { $0 = connecting }
        // The connection has the handler, which would keep it.
        defer { cancelled.task.withLock { $0 = nil } }
        let peer = try await promised.get()
        _ = try await peer.nextFrame()
        try peer.send(
            .accept(Acceptance(application: "test", limits: ConnectionLimits.patient.peerLimits)),
            .request(id: 1, timeoutMilliseconds: 20_000, message: ["a": 1])
        )
        // If it has returned, it was not cancelled.
        try await connecting.value.leave()
        let said = try await peer.remainingFrames()
        #expect(
            said == [.response(id: 1, status: .success, message: ["a": 1], failure: nil), .close(.completed, nil)]
        )
        try? await listener.close().get()
    }

    @Test func `a caller sends close_notify before it reports that the host broke a rule`() async throws {
        let account = try TestAccount()
        let (port, listener, promised) = try await RawPeer.listen(with: TransportSecurity(identity: account.system()))
        let security = try TransportSecurity(identity: account.system())
        let order = Order()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let opened = channel.eventLoop.makePromise(of: Connection.self)
                    opened.futureResult.whenFailure { _ in order.append("reported") }
                    let established = EstablishedConnection(
                        acceptance: Acceptance(application: "test", limits: ConnectionLimits.patient.peerLimits),
                        limits: .patient,
                        handler: { _, _ in Response() },
                        opened: { _ in }
                    )
                    let handshake = HandshakeHandler(
                        role: .caller(
                            CallerHandshake(hello: .test, expecting: nil),
                            .messages(established),
                            fail: opened.fail
                        ),
                        security: security,
                        deadline: HandshakeDeadline(.now() + .seconds(20), now: .now()),
                        logger: TestLog().logger
                    )
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandlers(
                        handshake.clientHandler(on: channel.eventLoop),
                        CloseObserver(order: order),
                        handshake
                    )
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let peer = try await promised.get()
        _ = try await peer.nextFrame()
        // A response in place of the acceptance.
        try peer.send(.response(id: 1, status: .success, message: [:], failure: nil))
        try await peer.waitUntilClosed()
        #expect(peer.error == nil)
        try await eventually("the report") { order.all.contains("reported") }
        #expect(order.all.prefix(2) == ["closed", "reported"])
        channel.close(promise: nil)
        try? await listener.close().get()
    }

    @Test func `the reason for ending reaches the peer in words addressed to it`() {
        let error = TransportError(
            .peerNotTrusted,
            "The other system's certificate has expired.",
            side: .remote,
            toPeer: "Your certificate has expired."
        )
        #expect(error.wireFailure.text == "Your certificate has expired.")
        #expect(TransportError(.unreachable, "No.", side: .network).wireFailure.text == "No.")
    }

    @Test func `a refusal with the status of success is one without a known reason`() {
        let limits = PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
        var handshake = CallerHandshake(
            hello: Hello(service: "s", targetApplication: nil, application: "a", limits: limits),
            expecting: nil
        )
        let peer = PeerIdentity(.sameAccount(.example), systemID: .example(1), expiry: .distantFuture)
        _ = handshake.secured(alpn: "remote-systems/1", peer: .success(peer))
        guard case .fail(let error) = handshake.received(.refuse(.success, WireFailure("No."))) else {
            Issue.record("it went on")
            return
        }
        #expect(error.openStatus == .unknown)
    }
}

/// Records events in their order.
private final class Order: Sendable {
    private let events = Mutex<[String]>([])

    func append(_ event: String) { self.events.withLock { $0.append(event) } }
    var all: [String] { self.events.withLock { $0 } }
}

/// A task to be cancelled.
private final class Cancelled: Sendable {
    let task = Mutex<Task<Connection, any Error>?>(nil)

    func cancel() { self.task.withLock { $0 }?.cancel() }
}

/// Records when a channel is closed by the code above.
private final class CloseObserver: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private let order: Order

    init(order: Order) { self.order = order }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        self.order.append("closed")
        context.close(mode: mode, promise: promise)
    }
}

/// A client that ends its half of the TCP connection and continues to read.
private final class HalfPeer: Sendable {
    private let raw: RawPeer

    private init(_ raw: RawPeer) { self.raw = raw }

    static func connect(to host: LoopbackHost) async throws -> HalfPeer {
        HalfPeer(try await host.openRaw())
    }

    /// Shuts down the output below TLS, which would send close_notify first. Runs in one event-loop tick with the
    /// frames, since the host could otherwise end the connection in between.
    func shutDownOutput(after frames: [Frame]) async throws {
        let channel = self.raw.channel
        try await channel.eventLoop.submit {
            for frame in frames { try self.raw.send(frame) }
            let tls = try channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
            tls.close(mode: .output, promise: nil)
        }.get()
    }

    /// Whether TLS reported the end of data before TCP did.
    func endedWithCloseNotify() async throws -> Bool {
        try await self.raw.waitUntilClosed()
        return self.raw.error == nil
    }
}
