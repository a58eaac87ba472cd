// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportCore
import GRPCNIOTransportHTTP2Posix
import NIOPosix

/// Responds on one event-loop thread.
struct GRPCEchoServer: Server {
    let address: String

    init(_ credentials: Credentials) throws {
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: 0),
            transportSecurity: .mTLS(
                certificateChain: credentials.server.grpcChain,
                privateKey: credentials.server.grpcKey
            ) { $0.trustRoots = credentials.grpcRoots },
            eventLoopGroup: MultiThreadedEventLoopGroup(numberOfThreads: 1)
        )
        let server = GRPCServer(transport: transport, services: [GRPCEchoService()])
        address = try blocking {
            Task { try await server.serve() }
            guard let port = try await server.transport.listeningAddress.ipv4?.port else {
                throw BenchError("The gRPC server has no port.")
            }
            return String(port)
        }
    }
}

private struct GRPCEchoService: RegistrableRPCService {
    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        register(GRPCMethods.echo, with: &router) { request in
            let single = try await ServerRequest(stream: request)
            return StreamingServerResponse(single: ServerResponse(message: single.message))
        }
        register(GRPCMethods.acknowledge, with: &router) { request in
            _ = try await ServerRequest(stream: request)
            return StreamingServerResponse(single: ServerResponse(message: []))
        }
        register(GRPCMethods.echoStream, with: &router) { request in
            StreamingServerResponse { writer in
                for try await message in request.messages { try await writer.write(message) }
                return [:]
            }
        }
        register(GRPCMethods.acknowledgeStream, with: &router) { request in
            StreamingServerResponse { writer in
                for try await _ in request.messages { try await writer.write([]) }
                return [:]
            }
        }
    }

    private func register<Transport: ServerTransport>(
        _ method: MethodDescriptor,
        with router: inout RPCRouter<Transport>,
        answer: @escaping @Sendable (StreamingServerRequest<[UInt8]>) async throws -> StreamingServerResponse<[UInt8]>
    ) {
        router.registerHandler(
            forMethod: method,
            deserializer: BytesDeserializer(),
            serializer: BytesSerializer()
        ) { request, _ in
            try await answer(request)
        }
    }
}
