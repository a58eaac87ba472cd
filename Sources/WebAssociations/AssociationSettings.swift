// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems
internal import RemoteSystemsDesktop
internal import SwiftASN1
internal import UserActivities

/// How sites are asked for the applications that they approve, for sites of a private network and for tests.
///
/// The settings are stored in the state directory. They can add trust, and so only this user can change them.
package struct AssociationSettings: Sendable, Hashable {
    /// A site that may have private addresses.
    package struct Site: Sendable, Hashable {
        /// The only place to connect to; `nil` for the addresses in the DNS.
        package var address: Address?

        package init(address: Address? = nil) { self.address = address }
    }

    /// An IP address and a port.
    package struct Address: Sendable, Hashable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// The maximum number of private sites.
    package static let maxSites = 64
    private static let maxAuthorityBytes = 1 << 20

    /// The path of a PEM file with authorities that are trusted besides those of the system.
    package var authorities: String?
    /// The sites that may have private addresses, by their hosts.
    package var sites: [String: Site] = [:]

    package init() {}

    /// The certificates of the additional authorities, as DER.
    ///
    /// - Throws: ``AssociationFailure`` if the file cannot be read, or other users can change it.
    package func authorityCertificates() throws(AssociationFailure) -> [[UInt8]] {
        guard let path = self.authorities else { return [] }
        let file: ConfigurationFile?
        do {
            file = try ConfigurationFile(path: path, limit: Self.maxAuthorityBytes)
        } catch {
            throw AssociationFailure(.notTrusted, "\(error)")
        }
        guard let file else { throw AssociationFailure(.notTrusted, "\(path): The file does not exist.") }
        do {
            return try PEMDocument.parseMultiple(pemString: String(decoding: file.bytes, as: UTF8.self))
                .map(\.derBytes)
        } catch {
            throw AssociationFailure(.notTrusted, "\(path): The file has no certificates in PEM.")
        }
    }
}

// MARK: - The file

extension AssociationSettings {
    private struct File: Codable {
        struct Site: Codable {
            var address: String?
            var port: Int?
        }

        var authorities: String?
        var privateSites: [String: Site]?
    }

    /// Reads the settings of this system.
    ///
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read or is damaged.
    package static func read(_ configuration: RemoteSystemsConfiguration) throws(RemoteSystemError) -> Self {
        let (bytes, path) = try RemoteSystemsAccount(configuration).contents(of: .associationSettings)
        return try Self(bytes, path: path)
    }

    /// Changes the settings of this system.
    ///
    /// - Throws: as ``read(_:)``; with the code `invalidArgument` for an invalid host or too many sites.
    @discardableResult
    package static func change(
        _ configuration: RemoteSystemsConfiguration,
        _ change: (inout Self) -> Void
    ) throws(RemoteSystemError) -> Self {
        var settings = Self()
        try RemoteSystemsAccount(configuration).update(.associationSettings) { bytes, path throws(RemoteSystemError) in
            settings = try Self(bytes, path: path)
            change(&settings)
            return try settings.encoded(path: path)
        }
        return settings
    }

    private init(_ bytes: [UInt8]?, path: String) throws(RemoteSystemError) {
        guard let bytes, !bytes.isEmpty else { return }
        guard let file = try? JSONDecoder().decode(File.self, from: Data(bytes)) else {
            throw RemoteSystemError(
                .identity,
                "\(path) is damaged, so no site is asked. Delete the file to use the default settings.",
                side: .local
            )
        }
        self.authorities = file.authorities
        for (host, site) in file.privateSites ?? [:] {
            guard let address = site.address else {
                self.sites[host] = Site()
                continue
            }
            self.sites[host] = Site(address: Address(host: address, port: site.port ?? 443))
        }
        try self.check()
    }

    private func check() throws(RemoteSystemError) {
        guard self.sites.count <= Self.maxSites, self.sites.keys.allSatisfy({ AssociatedDomain.isHost($0) }),
            self.sites.values.allSatisfy({ site in site.address.map { (1...65535).contains($0.port) } ?? true }),
            self.authorities?.hasPrefix("/") ?? true
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "At most \(Self.maxSites) sites are private, each named by a host such as intranet.example.com with a "
                    + "port from 1 to 65535; the authorities' file has an absolute path.",
                side: .local
            )
        }
    }

    private func encoded(path: String) throws(RemoteSystemError) -> [UInt8] {
        try self.check()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        let file = File(
            authorities: self.authorities,
            privateSites: self.sites.mapValues { File.Site(address: $0.address?.host, port: $0.address?.port) }
        )
        do {
            return Array(try encoder.encode(file)) + [UInt8(ascii: "\n")]
        } catch {
            throw RemoteSystemError(.identity, "\(path) could not be written.", side: .local, cause: error)
        }
    }
}
