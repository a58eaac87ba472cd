// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// TLS 1.3 for joining. Each side presents a certificate, which TLS does not verify. The joining messages verify both
/// certificates.
struct JoinTLS: Sendable {
    /// The protocol's name in TLS's application-layer protocol negotiation (RFC 7301).
    static let alpn = "remote-systems-join/1"

    private let client: NIOSSLContext
    private let server: NIOSSLContext

    init(certificate: [UInt8], privateKeyPEM: String) throws {
        let certificate = try NIOSSLCertificate(bytes: certificate, format: .der)
        let key = try NIOSSLPrivateKey(bytes: Array(privateKeyPEM.utf8), format: .pem)
        var server = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        var client = TLSConfiguration.makeClientConfiguration()
        client.certificateChain = server.certificateChain
        client.privateKey = server.privateKey
        server.secure(alpn: Self.alpn)
        client.secure(alpn: Self.alpn)
        self.client = try NIOSSLContext(configuration: client)
        self.server = try NIOSSLContext(configuration: server)
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
