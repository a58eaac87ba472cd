// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// The statements of `Docs/wire-protocol.md` and its companion documents about hosts, from a caller without the SDK's
/// services.
@Suite(.timeLimit(.minutes(1))) struct WirePageTests {
    /// An open connection to a service of a host, using nothing of the SDK above it.
    private static func connect(
        _ configuration: RemoteSystemsConfiguration,
        port: Int,
        service: String,
        targetApplication: String? = nil,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) async throws -> Connection {
        let local = ApplicationContext(configuration)
        var connector = try await local.connector()
        connector.accepted = accepted
        return try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: port)],
            expecting: nil,
            hello: local.hello(service: service, targetApplication: targetApplication, limits: connector.limits)
        ) { _, _ in Response() }
    }

    // MARK: Hello

    @Test func `an empty target application means no particular application`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([.ping]) { host in
                let connection = try await Self.connect(
                    loopbackSystem.configuration("test.caller"),
                    port: try await host.port,
                    service: AppService.pingName,
                    targetApplication: ""
                )
                #expect(try await connection.send(["Type": "ping"], timeout: .seconds(20)).message == ["Type": "pong"])
                await connection.close()
            }
        }
    }

    @Test func `an anonymous caller's connection to the presence service has the usual window`() async throws {
        try await AnyoneNearbyTests.with { neighbours, host in
            let connection = try await Self.connect(
                neighbours.configuration("test.stranger", of: neighbours.strangers),
                port: try await host.port,
                service: Presence.service,
                accepting: [.sameAccount, .anonymous]
            )
            #expect(connection.remote.limits.window == 8)
            #expect(connection.remote.limits.messageBytes == 65_536)
            #expect(connection.remote.limits.windowBytes == 131_072)
            connection.abort()
        }
    }

    // MARK: Presence

    @Test func `a renewal without its request, and an unknown request, have their codes`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { host in
                let connection = try await Self.connect(
                    loopbackSystem.configuration("test.caller"),
                    port: try await host.port,
                    service: Presence.service
                )
                let codes: [(ValueSet, FailureCode)] = [
                    (["Type": "renew"], .requestInvalid), (["Type": "renew", "Request": "x"], .requestInvalid),
                    (["Type": "describe"], .requestUnknown), ([:], .requestUnknown), (["Type": 1], .requestUnknown),
                ]
                for (message, code) in codes {
                    let response = try await connection.send(message, timeout: .seconds(20))
                    #expect(response.status == .failure && response.failure?.code == code.rawValue, "\(message)")
                }
                connection.abort()
            }
        }
    }

    @Test func `the hello's response may take longer than connecting`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            var caller = loopbackSystem.configuration("test.caller")
            // On a busy machine, the handshake alone takes seconds.
            caller.transport.connectTimeout = .seconds(6)
            let local = ApplicationContext(loopbackSystem.configuration("test.host"))
            let listener = try await Listener.start(
                host: "127.0.0.1",
                port: 0,
                security: try local.security(),
                limits: local.limits,
                logger: local.logger
            ) { hello, _ in
                // Like a host that has to start the application first.
                try? await Task.sleep(for: .seconds(8))
                return .refuse(Refusal(.appServiceUnavailable, "After all, there is no service \(hello.service) here."))
            }
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await RemoteSystem.find(host: "127.0.0.1", port: listener.port, configuration: caller)
            }
            await listener.stop()
            #expect(error?.code == .refused)
            #expect(error?.message.contains("After all") == true)
        }
    }

    // MARK: Launching

    @Test(arguments: [
        "http://[1]/", "http://[zz]/", "http://[::1%25lo]/", "http://a@b@c/", "http://a:b/", "http://a:1:2/",
    ])
    func `a URI with an invalid host or port is not launched`(text: String) {
        let error = #expect(throws: RemoteSystemError.self) { try LaunchURI(text) }
        #expect(error?.code == .misuse)
    }

    // MARK: Diagnosis

    @Test(
        arguments: [
            (errno: ECONNREFUSED, .refused), (ETIMEDOUT, .silent), (EHOSTUNREACH, .unreachable),
            (ENETUNREACH, .unreachable), (EHOSTDOWN, .unreachable), (ENETDOWN, .unreachable), (EACCES, .unreachable),
            (EPERM, .unreachable), (ECONNRESET, .other), (EPIPE, .other),
        ] as [(errno: Int32, BackConnection)]
    )
    func `the system's error while connecting back is reported in the document's words`(
        errno: Int32,
        outcome: BackConnection
    ) {
        let cause = IOError(errnoCode: errno, reason: "connect")
        #expect(BackConnection(TransportError(.unreachable, "", side: .network, cause: cause)) == outcome)
    }

    @Test(arguments: [
        (Stranger.Manner.silent, "silent"), (.closing, "other"), (.resetting, "other"), (.garbage, "other"),
        (.none, "refused"),
    ])
    func `a listener other than the caller is reported as the document states`(
        manner: Stranger.Manner,
        outcome: String
    )
        async throws
    {
        let stranger = try await Stranger.start(manner)
        try await DiagnosisServiceTests.withPeer { machines, port in
            try await DiagnosisServiceTests.ask(port, machines.configuration("second")) { connection in
                let response = try await connection.send(
                    ["Type": "connect", "Port": .integer(Int64(stranger.port))],
                    timeout: .seconds(20)
                )
                #expect(response.message == ["Outcome": .string(outcome)])
            }
        }
        await stranger.stop()
    }
}

/// A TCP server that is not a RemoteSystems host.
final class Stranger: Sendable {
    enum Manner: Sendable, CaseIterable {
        /// Accepts connections, and sends nothing.
        case silent
        /// Closes connections at once.
        case closing
        /// Resets connections on the first bytes.
        case resetting
        /// Responds with data that is not TLS.
        case garbage
        /// Has ended: its port is free.
        case none
    }

    let port: Int
    private let listener: any Channel

    private init(_ listener: any Channel) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
    }

    static func start(_ manner: Manner) async throws -> Stranger {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(StrangerHandler(manner: manner))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let stranger = Stranger(listener)
        if manner == .none { await stranger.stop() }
        return stranger
    }

    func stop() async {
        try? await self.listener.close().get()
    }
}

private final class StrangerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let manner: Stranger.Manner

    init(manner: Stranger.Manner) { self.manner = manner }

    func channelActive(context: ChannelHandlerContext) {
        if self.manner == .closing { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.manner {
        case .resetting:
            let channel = context.channel
            _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            context.close(promise: nil)
        case .garbage:
            context.writeAndFlush(
                self.wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n")),
                promise: nil
            )
        case .silent, .closing, .none: break
        }
    }
}
