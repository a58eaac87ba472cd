// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL

/// What SwiftNIO and TLS 1.3 can do with mutual certificates, channel handlers and nothing above them.
struct RawTLS: Contestant {
    enum Form: Sendable {
        /// Each message is collected, and answered once it is there as a whole.
        case wholeMessages
        /// Bytes are returned or forgotten as they arrive, as no protocol can that hands messages to somebody.
        case streamed
    }

    var form: Form

    func serve(_ setup: Setup) throws -> any Server {
        try RawTLSServer(setup.credentials, form: form)
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        try RawTLSCaller(setup)
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
    /// TLS 1.3 only, and the caller must show a certificate of the same root.
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
