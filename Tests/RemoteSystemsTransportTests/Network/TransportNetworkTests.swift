// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import Synchronization
import Testing

@testable import RemoteSystemsTransport

/// Transports by kind: which one an endpoint gets, and the error for an endpoint without one.
@Suite struct TransportNetworkTests {
    /// A transport without connections, which records the ports it listens on.
    private final class Line: Transport {
        let kind: TransportKind
        let loopbackHost: String? = nil
        private let canListen: Bool
        private let isWithinMachine: Bool
        private let listening = Mutex<[Int]>([])

        init(_ kind: TransportKind, canListen: Bool = true, isWithinMachine: Bool = true) {
            self.kind = kind
            self.canListen = canListen
            self.isWithinMachine = isWithinMachine
        }

        var ports: [Int] { self.listening.withLock { $0 } }

        func limited(to reach: NetworkReach) -> (any Transport)? {
            reach != .machine || self.isWithinMachine ? self : nil
        }
        func isProximal(_ endpoint: Endpoint) -> Bool { endpoint.host == "near" }
        func anyEventLoop() -> any EventLoop { SocketTransport().anyEventLoop() }

        func connect(
            to endpoint: Endpoint,
            on eventLoop: any EventLoop,
            timeout: TimeAmount,
            initializer: @escaping ChannelInitializer
        ) -> EventLoopFuture<any Channel> {
            eventLoop.makeFailedFuture(TransportError(.unreachable, "\(self.kind) tried \(endpoint).", side: .network))
        }

        func listen(
            host: String?,
            port: Int,
            logger: Logger,
            initializer: @escaping ChannelInitializer
        ) async throws -> BoundPort {
            guard self.canListen else { throw ChannelError.eof }
            let port = port == 0 ? 4711 : port
            self.listening.withLock { $0.append(port) }
            return BoundPort(port: port) { self.listening.withLock { $0.removeAll { $0 == port } } }
        }
    }

    private static let wire = TransportKind(rawValue: "wire")
    private static let relay = TransportKind(rawValue: "relay")
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func endpoint(_ kind: TransportKind, _ host: String = "a") -> Endpoint {
        Endpoint(transport: kind, host: host, port: 1)
    }

    @Test func `an endpoint gets the transport of its kind, and of one kind the last one registered`() throws {
        let (first, second, other) = (Line(Self.wire), Line(Self.wire), Line(Self.relay))
        var network = TransportNetwork([first, other])
        #expect(try network.transport(for: Self.endpoint(Self.wire)) as AnyObject === first)
        #expect(try network.transport(for: Self.endpoint(Self.relay)) as AnyObject === other)
        network.register(second)
        #expect(try network.transport(for: Self.endpoint(Self.wire)) as AnyObject === second)
        #expect(network.endpoint(host: "a", port: 1) == Self.endpoint(Self.wire))
    }

    @Test func `text that users type means IP unless the network has none`() {
        #expect(TransportNetwork.sockets.endpoint(host: "10.0.0.5", port: 1) == Endpoint(host: "10.0.0.5", port: 1))
        #expect(TransportNetwork([Line(Self.relay)]).endpoint(host: "a", port: 1).transport == Self.relay)
    }

    @Test func `endpoints of unknown transports are skipped, and an error names them if none is left`() throws {
        let network = TransportNetwork([Line(Self.wire)])
        let (known, unknown) = (Self.endpoint(Self.wire), Self.endpoint(Self.relay))
        #expect(try network.connectable([unknown, known, unknown]) == [known])
        #expect(try network.connectable([]).isEmpty)
        for endpoints in [[unknown], [unknown, Self.endpoint(.ip)]] {
            let error = #expect(throws: TransportError.self) { _ = try network.connectable(endpoints) }
            #expect(error?.code == .unreachable)
            #expect(error?.side == .local)
            #expect(error?.canRetry == false)
            for endpoint in endpoints { #expect(error?.message.contains("'\(endpoint.transport)'") == true) }
        }
    }

    @Test func `a connector tries the endpoints that it has a transport for`() async throws {
        let connector = Connector(
            security: try TransportSecurity(identity: TestAccount().system()),
            limits: .patient,
            timeout: .seconds(20),
            logger: Self.logger,
            network: TransportNetwork([Line(Self.wire)])
        )
        func failure(_ endpoints: [Endpoint]) async -> String? {
            let error = await #expect(throws: TransportError.self) {
                _ = try await connector.connect(to: endpoints, expecting: nil, hello: .test) { _, _ in Response() }
            }
            return error?.message
        }
        let tried = "wire tried wire:a:1."
        #expect(await failure([Self.endpoint(Self.wire)]) == tried)
        #expect(await failure([Self.endpoint(Self.relay), Self.endpoint(Self.wire)]) == tried)
        #expect(await failure([Self.endpoint(Self.relay)])?.contains("'relay'") == true)
        #expect(await failure([Endpoint(host: "127.0.0.1", port: 1)])?.contains("'ip'") == true)
    }

    @Test func `nearness is known to the endpoint's own transport`() {
        let network = TransportNetwork([Line(Self.wire), SocketTransport()])
        #expect(network.isProximal(Self.endpoint(Self.wire, "near")))
        #expect(!network.isProximal(Self.endpoint(Self.wire, "10.0.0.5")))
        #expect(!network.isProximal(Self.endpoint(.ip, "near")))
        #expect(network.isProximal(Self.endpoint(.ip, "10.0.0.5")))
        #expect(!network.isProximal(Self.endpoint(Self.relay, "near")))
    }

    @Test func `a transport outside the allowed network is left out`() throws {
        let network = TransportNetwork([Line(Self.wire), Line(Self.relay, isWithinMachine: false)])
        let endpoints = [Self.endpoint(Self.wire), Self.endpoint(Self.relay)]
        #expect(try network.limited(to: .all).connectable(endpoints) == endpoints)
        #expect(try network.limited(to: .machine).connectable(endpoints) == [endpoints[0]])
    }

    // MARK: Listening

    @Test func `a host listens on every transport, at one port`() async throws {
        let (first, second) = (Line(Self.wire), Line(Self.relay))
        let network = TransportNetwork([first, second])
        let bound = try await network.listen(host: nil, port: 0, logger: Self.logger) {
            $0.eventLoop.makeSucceededVoidFuture()
        }
        #expect(bound.port == 4711)
        #expect(first.ports == [4711])
        #expect(second.ports == [4711])
        await bound.close()
        #expect(first.ports.isEmpty && second.ports.isEmpty)
    }

    @Test func `a host that cannot listen on one transport listens on none`() async throws {
        let first = Line(Self.wire)
        for network in [TransportNetwork([first, Line(Self.relay, canListen: false)]), TransportNetwork([])] {
            await #expect(throws: (any Error).self) {
                _ = try await network.listen(host: nil, port: 1, logger: Self.logger) {
                    $0.eventLoop.makeSucceededVoidFuture()
                }
            }
            #expect(first.ports.isEmpty)
        }
    }
}
