// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import RemoteSystemsDiscovery
package import WebAssociations

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Requests the association files of sites with async-http-client.
///
/// The host is looked up first, and a connection is opened only to an address that the host may have: a manifest cannot
/// make this machine send requests into its own network. No proxy is used, and nothing is sent besides the request.
package struct HTTPSAssociationClient: AssociationClient {
    private let sites: [String: AssociationSettings.Site]
    private let authorities: [NIOSSLCertificate]
    private let connectTimeout: TimeAmount

    /// The maximum number of addresses that are tried.
    private static let maxAddresses = 3
    /// The response fields that the verifier reads.
    private static let fields = ["content-type", "content-encoding", "location", "cache-control"]

    /// - Parameters:
    ///   - sites: the sites that may have private addresses, by their hosts.
    ///   - authorities: the authorities that are trusted besides those of the system, as DER.
    ///   - connectTimeout: the time to connect to one address, with the TLS handshake. Defaults to 2 s.
    package init(
        sites: [String: AssociationSettings.Site],
        authorities: [[UInt8]],
        connectTimeout: Duration = .seconds(2)
    ) throws(AssociationFailure) {
        self.sites = sites
        self.connectTimeout = TimeAmount(connectTimeout)
        do {
            self.authorities = try authorities.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        } catch {
            throw AssociationFailure(.notTrusted, "A certificate of the additional authorities cannot be read.")
        }
    }

    package func get(_ path: String, from host: String) async throws(AssociationFailure) -> AssociationResponse {
        var (addresses, port) = ([String](), 443)
        let site = self.sites[host]
        if let fixed = site?.address {
            (addresses, port) = ([fixed.host], fixed.port)
        } else {
            addresses = try await Self.addresses(of: host, allowingPrivate: site != nil)
        }
        var failure = AssociationFailure(.unreachable, "The host \(host) has no address.")
        for address in addresses.prefix(Self.maxAddresses) {
            do throws(AssociationFailure) {
                return try await self.get(path, from: host, port: port, at: address)
            } catch {
                failure = error
                // Another address helps only where there was no connection.
                guard error.code == .unreachable, !Task.isCancelled else { throw error }
            }
        }
        throw failure
    }

    /// Looks up a host. The look-up cannot be cancelled; it ends by the resolver's own time limits.
    private static func addresses(
        of host: String,
        allowingPrivate isPrivateAllowed: Bool
    ) async throws(AssociationFailure) -> [String] {
        let found: [NameResolver.Address]
        do throws(NameResolver.Failure) {
            found = try await NameResolver.addresses(of: host)
        } catch {
            throw AssociationFailure(.unreachable, "The host \(host) cannot be looked up: \(error.reason).")
        }
        let usable = found.filter { isPrivateAllowed || $0.isPublic }
        guard !usable.isEmpty else {
            throw AssociationFailure(
                .privateAddress,
                "The host \(host) has no public address (\(found.map(\.text).joined(separator: ", "))). If the site "
                    + "is on your own network, permit it: 'remotesystems association settings --private-site \(host)'."
            )
        }
        return usable.map(\.text)
    }

    private func get(
        _ path: String,
        from host: String,
        port: Int,
        at address: String
    ) async throws(AssociationFailure) -> AssociationResponse {
        let client = HTTPClient(
            eventLoopGroup: HTTPClient.defaultEventLoopGroup,
            configuration: self.configuration(host, address)
        )
        let result: Result<AssociationResponse, any Error>
        do {
            result = .success(try await Self.get("https://\(host)\(port == 443 ? "" : ":\(port)")\(path)", client))
        } catch {
            result = .failure(error)
        }
        // Fails only if it was called before.
        try? await client.shutdown()
        do {
            return try result.get()
        } catch let error as AssociationFailure {
            throw error
        } catch {
            throw Self.failure(error, host)
        }
    }

    private func configuration(_ host: String, _ address: String) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.additionalTrustRoots = self.authorities.isEmpty ? [] : [.certificates(self.authorities)]
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: self.connectTimeout),
            decompression: .disabled
        )
        configuration.dnsOverride = [host: address]
        configuration.httpVersion = .http1Only
        configuration.maximumUsesPerConnection = 1
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tracing.tracer = nil
        return configuration
    }

    private static func get(_ url: String, _ client: HTTPClient) async throws -> AssociationResponse {
        var request = HTTPClientRequest(url: url)
        request.headers = [
            "Accept": "application/json, application/pkcs7-mime", "Accept-Encoding": "identity",
            "User-Agent": "remotesystems",
        ]
        // The verifier limits the time of all requests together.
        let response = try await client.execute(request, deadline: .distantFuture)
        var result = AssociationResponse(status: Int(response.status.code))
        for name in Self.fields { result.fields[name] = response.headers[name].last }
        guard response.status == .ok else { return result }
        for try await part in response.body {
            result.body += part.readableBytesView
            guard result.body.count <= AssociationFile.maxBytes else {
                throw AssociationFailure(
                    .tooLarge,
                    "The server sends more than \(AssociationFile.maxBytes) bytes, the maximum."
                )
            }
        }
        return result
    }

    private static func failure(_ error: any Error, _ host: String) -> AssociationFailure {
        switch error {
        case let error as HTTPClientError where error == .connectTimeout || error == .deadlineExceeded:
            AssociationFailure(.unreachable, "The server of \(host) did not respond in time.")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            AssociationFailure(.notTrusted, "The server's certificate does not name \(host).")
        case NIOSSLError.uncleanShutdown: Self.isCut(host)
        case let error as HTTPClientError where error == .remoteConnectionClosed: Self.isCut(host)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            // BoringSSL names the reason in its error's text alone, among internal ones.
            AssociationFailure(
                .notTrusted,
                "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
                    ? "The server's certificate is not trusted for \(host): no authority that this machine trusts has "
                        + "issued it, or it is not valid now."
                    : "The TLS handshake with the server of \(host) failed. Does it serve HTTPS at this port?"
            )
        case let error as IOError:
            AssociationFailure(
                .unreachable,
                "The server of \(host) cannot be reached: \(unsafe String(cString: strerror(error.errnoCode)))."
            )
        default:
            AssociationFailure(.unreachable, "The server of \(host) cannot be reached: \(error).")
        }
    }

    private static func isCut(_ host: String) -> AssociationFailure {
        AssociationFailure(.unreachable, "The server of \(host) ended the connection before its response was whole.")
    }
}

extension HTTPSAssociationClient {
    /// Makes the client of an `AssociationVerifier`.
    package static let make: AssociationVerifier.MakeClient = { settings, authorities throws(AssociationFailure) in
        try HTTPSAssociationClient(sites: settings.sites, authorities: authorities)
    }
}
