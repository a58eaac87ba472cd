// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportCore
import GRPCNIOTransportHTTP2Posix
import Measuring
import NIOPosix

/// gRPC Swift 2 over HTTP/2 and mutual TLS. Messages are plain bytes, so that no encoding is measured.
struct GRPCPeer: Contestant {
    enum Form: Sendable {
        /// One call per message.
        case unary
        /// One bidirectional stream for all messages of an exchange.
        case stream
    }

    var form: Form

    func serve(_ setup: Setup) throws -> any Server {
        try GRPCEchoServer(setup.credentials)
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        try GRPCCaller(setup, form: form)
    }
}

/// The methods of the service.
enum GRPCMethods {
    private static let service = "remotesystems.Benchmark"
    static let echo = MethodDescriptor(fullyQualifiedService: service, method: "Echo")
    static let acknowledge = MethodDescriptor(fullyQualifiedService: service, method: "Acknowledge")
    static let echoStream = MethodDescriptor(fullyQualifiedService: service, method: "EchoStream")
    static let acknowledgeStream = MethodDescriptor(fullyQualifiedService: service, method: "AcknowledgeStream")
}

struct BytesSerializer: MessageSerializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes {
        Bytes(message)
    }
}

struct BytesDeserializer: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_ serializedMessageBytes: Bytes) throws -> [UInt8] {
        unsafe serializedMessageBytes.withUnsafeBytes { unsafe [UInt8]($0) }
    }
}

extension Credentials.Identity {
    var grpcChain: [TLSConfig.CertificateSource] { [.bytes(Array(certificate.utf8), format: .pem)] }
    var grpcKey: TLSConfig.PrivateKeySource { .bytes(Array(privateKey.utf8), format: .pem) }
}

extension Credentials {
    var grpcRoots: TLSConfig.TrustRootsSource { .certificates([.bytes(Array(root.utf8), format: .pem)]) }
}
