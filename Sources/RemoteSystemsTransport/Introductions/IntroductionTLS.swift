// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// TLS 1.3 between systems that do not trust each other yet. Each side presents a certificate, which TLS does not
/// verify. The messages verify both certificates.
struct IntroductionTLS<Message: IntroductionMessage>: Sendable {
    private let client: NIOSSLContext
    private let server: NIOSSLContext

    init(certificate: [UInt8], privateKeyPEM: String) throws {
        (self.client, self.server) = try TLSConfiguration.contexts(
            certificates: [certificate],
            privateKeyPEM: privateKeyPEM,
            alpn: Message.alpn
        )
    }

    func clientHandler() throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(
            context: self.client,
            serverHostname: nil,
            customVerificationCallbackWithMetadata: TransportSecurity.acceptForNow
        )
    }

    func serverHandler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(
            context: self.server,
            customVerificationCallbackWithMetadata: TransportSecurity.acceptForNow
        )
    }
}
