// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1

/// An account as stored in the directory `account`: its files and the rules by which they must match.
struct StoredAccount {
    var identity: SystemIdentity
    var created: Date

    /// The names of the files.
    enum File {
        static let manifest = "account.json"
        static let rootCertificate = "root-certificate.pem"
        static let rootKey = "root-key.pem"
        static let systemCertificate = "system-certificate.pem"
        static let systemKey = "system-key.pem"
        static let discoveryKey = "discovery-key.pem"
        static let joinedSystems = "joined-systems"
        static let revokedSystems = "revoked-systems.pem"
    }

    private static let certificateType = "CERTIFICATE"
    private static let discoveryKeyType = "REMOTE SYSTEMS DISCOVERY KEY"
    private static let revocationsType = "REMOTE SYSTEMS REVOKED"

    // MARK: Writing

    static func files(
        of identity: SystemIdentity,
        rootKey: P256.Signing.PrivateKey?,
        joinedSystems: [UInt8]? = nil,
        revocations: RevocationList? = nil,
        created: Date
    ) throws(IdentityError) -> [(name: String, bytes: [UInt8])] {
        let manifest = Manifest(of: identity, hasRootKey: rootKey != nil, created: created)
        var files = [
            (File.manifest, try manifest.json()),
            (File.rootCertificate, Self.rootsFile(identity.roots)),
            (File.systemKey, Array((identity.systemKey.pemRepresentation + "\n").utf8)),
            (File.systemCertificate, Self.pem(Self.certificateType, identity.certificate)),
            (File.discoveryKey, Self.pem(Self.discoveryKeyType, identity.discoveryKey.bytes)),
        ]
        if let rootKey {
            files.append((File.rootKey, Array((rootKey.pemRepresentation + "\n").utf8)))
        }
        if let joinedSystems {
            files.append((File.joinedSystems, joinedSystems))
        }
        if let revocations {
            files.append((File.revokedSystems, Self.revocationsFile(revocations)))
        }
        return files
    }

    static func certificateFile(_ der: [UInt8]) -> [UInt8] { Self.pem(Self.certificateType, der) }

    /// One PEM block for each root's certificate, starting with the first root's.
    static func rootsFile(_ roots: RootChain) -> [UInt8] {
        Array(roots.certificates.map { Self.pem(Self.certificateType, $0) }.joined())
    }

    static func revocationsFile(_ list: RevocationList) -> [UInt8] { Self.pem(Self.revocationsType, list.bytes) }

    private static func pem(_ type: String, _ bytes: [UInt8]) -> [UInt8] {
        Array((PEMDocument(type: type, derBytes: bytes).pemString + "\n").utf8)
    }

    // MARK: Reading

    /// Reads and checks the account in `directory`.
    ///
    /// - Parameter isForRecovery: Whether to ignore the keys that a recovery file restores, since they may be damaged.
    init(reading directory: borrowing SecretDirectory, isForRecovery: Bool = false) throws(IdentityError) {
        let manifest = try Manifest(reading: directory)
        let roots = try Self.readRoots(in: directory)
        let certificate = try Self.readPEM(File.systemCertificate, Self.certificateType, in: directory)
        let systemKey = try Self.readKey(File.systemKey, in: directory)
        guard
            let discoveryKey = DiscoveryKey(
                bytes: try Self.readPEM(File.discoveryKey, Self.discoveryKeyType, in: directory)
            )
        else { throw .damaged(File.discoveryKey, "holds no key of 32 bytes", in: directory) }
        let isAuthority =
            isForRecovery ? try directory.contains(File.rootKey) : try Self.authority(in: directory) != nil
        do throws(TrustError) {
            self.identity = try SystemIdentity(
                roots: roots,
                certificate: certificate,
                systemKey: systemKey,
                discoveryKey: discoveryKey,
                isAuthority: isAuthority
            )
        } catch {
            throw .damaged(
                File.systemCertificate,
                "does not match the keys beside it (\(error.code))",
                in: directory,
                cause: error
            )
        }
        guard manifest.account == self.identity.accountID, manifest.system == self.identity.systemID else {
            throw .damaged(File.manifest, "names another account or system than the keys beside it", in: directory)
        }
        guard isForRecovery || manifest.holdsDiscoveryKey(of: self.identity) else {
            throw .damaged(File.discoveryKey, "is not the key that this account was stored with", in: directory)
        }
        self.created = manifest.created
    }

    /// Whether the account's root key was stored here and is missing now.
    static func lacksRootKey(in directory: borrowing SecretDirectory) throws(IdentityError) -> Bool {
        guard try !directory.contains(File.rootKey) else { return false }
        if let wasThere = try Manifest(reading: directory).rootKey { return wasThere }
        // Accounts of earlier versions do not record it. But only a machine with the root key records joined systems.
        return try directory.contains(File.joinedSystems)
    }

    static func authority(in directory: borrowing SecretDirectory) throws(IdentityError) -> AccountAuthority? {
        guard try directory.contains(File.rootKey) else { return nil }
        let roots = try Self.readRoots(in: directory)
        let key = try Self.readKey(File.rootKey, in: directory)
        guard let number = roots.number(of: key.publicKey) else {
            throw .damaged(File.rootKey, "is not the key of \(File.rootCertificate)", in: directory)
        }
        // Another machine may have replaced the root key. The old key then signs nothing any more.
        return number == roots.count ? AccountAuthority(rootCertificate: roots.bytes, key: key) : nil
    }

    /// The systems that were revoked from the account; `nil` if none ever was.
    ///
    /// The signature is checked on every read: a modified list must not readmit a revoked system.
    static func revocations(
        from account: SystemIdentity,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> RevocationList? {
        guard try directory.contains(File.revokedSystems) else { return nil }
        let bytes = try Self.readPEM(File.revokedSystems, Self.revocationsType, in: directory)
        do throws(TrustError) {
            return try RevocationList(bytes, of: account.roots)
        } catch {
            throw .damaged(
                File.revokedSystems,
                "is not a list that the account's key signed (\(error.code))",
                in: directory,
                cause: error
            )
        }
    }

    private static func readText(
        _ name: String,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> String {
        guard let bytes = try directory.read(name) else {
            throw .damaged(name, "is missing", in: directory)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .damaged(name, "is not text", in: directory)
        }
        return text
    }

    private static func readPEM(
        _ name: String,
        _ type: String,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> [UInt8] {
        let text = try Self.readText(name, in: directory)
        guard let document = try? PEMDocument(pemString: text), document.discriminator == type else {
            throw .damaged(name, "does not hold one whole PEM block '\(type)'", in: directory)
        }
        return document.derBytes
    }

    private static func readRoots(in directory: borrowing SecretDirectory) throws(IdentityError) -> RootChain {
        let name = File.rootCertificate
        let text = try Self.readText(name, in: directory)
        guard let documents = try? PEMDocument.parseMultiple(pemString: text), !documents.isEmpty,
            documents.allSatisfy({ $0.discriminator == Self.certificateType })
        else { throw .damaged(name, "does not hold whole PEM blocks '\(Self.certificateType)'", in: directory) }
        do throws(TrustError) {
            return try RootChain(Array(documents.map(\.derBytes).joined()))
        } catch {
            throw .damaged(
                name,
                "holds no certificates of the account's root keys (\(error.code))",
                in: directory,
                cause: error
            )
        }
    }

    private static func readKey(
        _ name: String,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> P256.Signing.PrivateKey {
        let text = try Self.readText(name, in: directory)
        // The library's error is not kept, because it may quote the content of the key file.
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else {
            throw .damaged(name, "does not hold a P-256 private key in PEM", in: directory)
        }
        return key
    }
}

/// `account.json`: describes the other files, in a format that later versions can extend.
private struct Manifest: Codable {
    static let currentFormat = 1

    var format = Self.currentFormat
    var account: AccountID
    var system: SystemID
    var created: Date
    /// Whether the root key was stored with the account; `nil` in accounts of earlier versions.
    var rootKey: Bool?
    /// The tag that the discovery key computes for the account's id; `nil` in accounts of earlier versions. Nothing
    /// else binds the discovery key to the account, so without the tag another key would be accepted.
    var discoveryTag: Data?

    init(of identity: SystemIdentity, hasRootKey: Bool, created: Date) {
        self.account = identity.accountID
        self.system = identity.systemID
        self.created = created
        self.rootKey = hasRootKey
        self.discoveryTag = Data(identity.discoveryKey.discoveryTag(instance: "\(identity.accountID)"))
    }

    func holdsDiscoveryKey(of identity: SystemIdentity) -> Bool {
        guard let tag = self.discoveryTag else { return true }
        return identity.discoveryKey.matches(Array(tag), instance: "\(self.account)")
    }

    init(reading directory: borrowing SecretDirectory) throws(IdentityError) {
        struct Version: Decodable { var format: Int }
        let name = StoredAccount.File.manifest
        guard let bytes = try directory.read(name) else { throw .damaged(name, "is missing", in: directory) }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let data = Data(bytes)
        guard let version = try? decoder.decode(Version.self, from: data) else {
            throw .damaged(name, "is not JSON with a format number", in: directory)
        }
        guard version.format == Self.currentFormat else {
            throw IdentityError(
                .unsupportedFormat,
                """
                \(directory.path(of: name)) has format \(version.format); this version reads \(Self.currentFormat) \
                only. A newer version wrote it: update this software. Nothing was changed.
                """,
                path: directory.path(of: name)
            )
        }
        do {
            self = try decoder.decode(Manifest.self, from: data)
        } catch {
            throw .damaged(name, "lacks the account, the system or the date", in: directory)
        }
    }

    func json() throws(IdentityError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        do {
            return try Array(encoder.encode(self)) + [UInt8(ascii: "\n")]
        } catch {
            throw IdentityError(
                .inputOutput,
                "The account's description could not be written as JSON. Please report this.",
                cause: error
            )
        }
    }
}

extension IdentityError {
    static func damaged(
        _ name: String,
        _ what: String,
        in directory: borrowing SecretDirectory,
        cause: (any Error)? = nil
    ) -> IdentityError {
        let path = directory.path(of: name)
        let lastResort =
            name == StoredAccount.File.rootKey
            ? """
            \(path) away: this system stays in the account until its certificate ends, but no system can join the \
            account or be revoked any more, and no certificate is renewed.
            """
            : "\(directory.path) away: a new identity is made on the next start, and its systems have to join again."
        return IdentityError(
            .damaged,
            """
            \(path) \(what). Nothing was overwritten and trying again will not help. Restore the files from a \
            backup, or use the account's recovery file (`remotesystems account import`). If both are lost, move \
            \(lastResort)
            """,
            path: path,
            cause: cause
        )
    }
}
