// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL

/// SwiftNIO and TLS 1.3 with mutual certificates and channel handlers only.
struct RawTLS: Contestant {
    /// What the server does with a message.
    enum Form: Sendable {
        /// Each message is collected and gets its response once it is complete.
        case wholeMessages
        /// Bytes are returned or discarded as they arrive. A protocol that delivers complete messages cannot do this.
        case streamed
    }

    var form = Form.wholeMessages
    /// Whether the caller's messages come from tasks outside the event loop, through a continuation each.
    var isFromPool = false

    func serve(_ setup: Setup) throws -> any Server {
        try RawTLSServer(setup.credentials, form: form)
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        isFromPool ? try RawTLSPoolCaller(setup) : try RawTLSCaller(setup)
    }
}

extension Credentials.Identity {
    fileprivate func apply(to configuration: inout TLSConfiguration, trusting root: String) throws {
        configuration.certificateChain = [
            .certificate(try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))
        ]
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(privateKey.utf8), format: .pem))
        configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(root.utf8), format: .pem)])
        configuration.minimumTLSVersion = .tlsv13
        configuration.certificateVerification = .noHostnameVerification
    }
}

extension Credentials {
    /// The server's TLS context: TLS 1.3 only, and the caller must present a certificate of the same root.
    func serverContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(server.privateKey.utf8), format: .pem))
        )
        try server.apply(to: &configuration, trusting: root)
        return try NIOSSLContext(configuration: configuration)
    }

    func callerContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        try caller.apply(to: &configuration, trusting: root)
        return try NIOSSLContext(configuration: configuration)
    }
}
