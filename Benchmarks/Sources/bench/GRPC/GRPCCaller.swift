// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportCore
import GRPCNIOTransportHTTP2Posix
import Measuring
import NIOPosix

/// Calls on one event-loop thread. Each line has its own client and therefore its own connection.
struct GRPCCaller: Caller {
    private let form: GRPCPeer.Form
    private let port: Int
    private let credentials: Credentials
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    init(_ setup: Setup, form: GRPCPeer.Form) throws {
        guard let port = Int(setup.address) else { throw BenchError("The gRPC server's port is not a number.") }
        self.port = port
        self.form = form
        credentials = setup.credentials
    }

    func open() async throws -> any Line {
        let transport = try HTTP2ClientTransport.Posix(
            target: .ipv4(address: "127.0.0.1", port: port),
            transportSecurity: .mTLS(
                certificateChain: credentials.caller.grpcChain,
                privateKey: credentials.caller.grpcKey
            ) {
                $0.trustRoots = credentials.grpcRoots
                $0.serverCertificateVerification = .noHostnameVerification
            },
            eventLoopGroup: group
        )
        let client = GRPCClient(transport: transport)
        let connection = GRPCConnection(client: client, running: Task { try await client.runConnections() })
        let line: any Line =
            switch form {
            case .unary: GRPCUnaryLine(connection: connection)
            case .stream: GRPCStreamLine(connection: connection)
            }
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

struct GRPCConnection: Sendable {
    let client: GRPCClient<HTTP2ClientTransport.Posix>
    let running: Task<Void, any Error>

    func close() async {
        client.beginGracefulShutdown()
        _ = await running.result
    }
}

private struct GRPCUnaryLine: RoundTripLine {
    let connection: GRPCConnection

    func message(for load: Load) -> [UInt8] {
        [UInt8](repeating: 0x5a, count: load.bytes)
    }

    func roundTrip(_ message: [UInt8], load: Load) async throws {
        let answer = try await connection.client.unary(
            request: ClientRequest(message: message),
            descriptor: load.answer == .echo ? GRPCMethods.echo : GRPCMethods.acknowledge,
            serializer: BytesSerializer(),
            deserializer: BytesDeserializer(),
            options: .defaults
        ) { try $0.message }
        guard answer.count == (load.answer == .echo ? load.bytes : 0) else {
            throw BenchError("The gRPC response has \(answer.count) bytes.")
        }
    }

    func close() async {
        await connection.close()
    }
}
