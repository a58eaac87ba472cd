// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import SwiftASN1

/// An account as stored in the directory `account`: its files and the rules by which they must match.
struct StoredAccount {
    var identity: SystemIdentity
    var created: Date
    /// The number of systems in the record of formerly revoked ones, as it was last stored; `nil` if there was none.
    var formerlyRevoked: Int?

    /// The names of the files.
    enum File {
        static let manifest = "account.json"
        static let rootCertificate = "root-certificate.pem"
        static let rootKey = "root-key.pem"
        /// The successor of the root key, until it has replaced the root key
        /// (``AccountStore/rotateRootKey(isStolen:now:)``).
        static let nextRootKey = "next-root-key.pem"
        static let systemCertificate = "system-certificate.pem"
        static let systemKey = "system-key.pem"
        static let discoveryKey = "discovery-key.pem"
        static let formerDiscoveryKeys = "former-discovery-keys.pem"
        static let joinedSystems = "joined-systems"
        static let formerlyRevoked = "formerly-revoked"
        static let revokedSystems = "revoked-systems.pem"
        static let links = "links.pem"
        static let learnedLinks = "learned-links.pem"
        static let heldLinks = "held-links.pem"
    }

    private static let certificateType = "CERTIFICATE"
    private static let discoveryKeyType = "REMOTE SYSTEMS DISCOVERY KEY"
    private static let revocationsType = "REMOTE SYSTEMS REVOKED"

    // MARK: Writing

    static func files(
        of identity: SystemIdentity,
        rootKey: P256.Signing.PrivateKey?,
        joinedSystems: [SystemID] = [],
        revocations: RevocationList? = nil,
        formerlyRevoked: Int? = nil,
        created: Date
    ) throws(IdentityError) -> [(name: String, bytes: [UInt8])] {
        var manifest = Manifest(
            of: identity,
            hasRootKey: rootKey != nil,
            revocations: revocations?.position,
            created: created
        )
        manifest.formerlyRevoked = formerlyRevoked
        var files = [
            (File.manifest, try manifest.json()),
            (File.rootCertificate, Self.rootsFile(identity.roots)),
            (File.systemKey, Array((identity.systemKey.pemRepresentation + "\n").utf8)),
            (File.systemCertificate, Self.pem(Self.certificateType, identity.certificate)),
            (File.discoveryKey, Self.discoveryKeyFile(identity.discoveryKey)),
        ]
        if let rootKey {
            files.append((File.rootKey, Array((rootKey.pemRepresentation + "\n").utf8)))
        }
        if !joinedSystems.isEmpty {
            files.append((File.joinedSystems, Self.systemsFile(joinedSystems)))
        }
        if let revocations {
            files.append((File.revokedSystems, Self.revocationsFile(revocations)))
        }
        return files
    }

    static func systemsFile(_ systems: [SystemID]) -> [UInt8] {
        Array(systems.map { "\($0)\n" }.joined().utf8)
    }

    static func certificateFile(_ der: [UInt8]) -> [UInt8] { Self.pem(Self.certificateType, der) }

    /// One PEM block for each root's certificate, starting with the first root's.
    static func rootsFile(_ roots: RootChain) -> [UInt8] {
        Array(roots.certificates.map { Self.pem(Self.certificateType, $0) }.joined())
    }

    /// One PEM block for each list, starting with the newest.
    static func revocationsFile(_ list: RevocationList) -> [UInt8] {
        Array(list.allBytes.map { Self.pem(Self.revocationsType, $0) }.joined())
    }

    static func discoveryKeyFile(_ key: DiscoveryKey) -> [UInt8] { Self.pem(Self.discoveryKeyType, key.storedBytes) }

    /// Stores a revocation list, then records its position in `account.json` and outside the state directory.
    static func store(_ list: RevocationList, in directory: borrowing SecretDirectory) throws(IdentityError) {
        try directory.replace(File.revokedSystems, Self.revocationsFile(list))
        var manifest = try Manifest(reading: directory)
        NewestListRecord(of: manifest.system, in: directory)?.raise(to: list.position)
        guard manifest.revocations.map({ $0 < list.position }) ?? true else { return }
        manifest.revocations = list.position
        try directory.replace(File.manifest, manifest.json())
    }

    /// Records in `account.json` how many systems the record of formerly revoked ones names.
    static func record(formerlyRevoked count: Int, in directory: borrowing SecretDirectory) throws(IdentityError) {
        var manifest = try Manifest(reading: directory)
        guard manifest.formerlyRevoked != count else { return }
        manifest.formerlyRevoked = count
        try directory.replace(File.manifest, manifest.json())
    }

    /// The maximum number of former discovery keys that are kept.
    private static let maxFormerKeys = 4

    /// Replaces the discovery key, and keeps the present one to recognise systems that do not know the new one yet.
    static func replace(
        _ present: SystemIdentity,
        by key: DiscoveryKey,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) {
        let former = ([present.discoveryKey] + present.formerDiscoveryKeys).prefix(Self.maxFormerKeys)
        let file = former.map { Self.pem(Self.discoveryKeyType, $0.storedBytes) }.joined()
        try directory.replace(File.formerDiscoveryKeys, Array(file))
        try directory.replace(File.discoveryKey, Self.discoveryKeyFile(key))
    }

    /// The former discovery keys. They only help to find systems again, so that a damaged file is ignored.
    private static func readFormerKeys(
        _ roots: RootChain,
        in directory: borrowing SecretDirectory
    ) -> [DiscoveryKey] {
        guard let keys = try? Self.readPEMs(File.formerDiscoveryKeys, Self.discoveryKeyType, in: directory) else {
            return []
        }
        return keys.prefix(Self.maxFormerKeys).compactMap { try? DiscoveryKey(stored: $0, of: roots) }
    }

    /// The position of the newest revocation list that was stored here, whether the list still exists or not.
    static func recordedRevocations(in directory: borrowing SecretDirectory) throws(IdentityError) -> TrustPosition? {
        let manifest = try Manifest(reading: directory)
        let outside = NewestListRecord(of: manifest.system, in: directory)?.position
        return [manifest.revocations, outside].compactMap(\.self).max()
    }

    static func pem(_ type: String, _ bytes: [UInt8]) -> [UInt8] {
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
        let discoveryKey =
            isForRecovery
            ? (try? Self.readDiscoveryKey(roots, in: directory)) ?? DiscoveryKey()
            : try Self.readDiscoveryKey(roots, in: directory)
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
        self.identity.formerDiscoveryKeys = Self.readFormerKeys(roots, in: directory)
        guard isForRecovery || manifest.holdsDiscoveryKey(of: self.identity) else {
            throw .damaged(File.discoveryKey, "is not the key that this account was stored with", in: directory)
        }
        self.created = manifest.created
        self.formerlyRevoked = manifest.formerlyRevoked
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
        if number == roots.count { return AccountAuthority(rootCertificate: roots.bytes, key: key) }
        // The root key was replaced: here, by a process that ended before it was done, or on another machine. In the
        // second case this machine's key signs nothing any more.
        guard try directory.contains(File.nextRootKey) else { return nil }
        return AccountAuthority(rootCertificate: roots.bytes, key: try Self.readKey(File.nextRootKey, in: directory))
    }

    /// Whether `key` is the key in the file ``File/nextRootKey``. The file may also hold a key that was never used.
    static func isNextRootKey(
        _ key: P256.Signing.PrivateKey,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> Bool {
        guard try directory.contains(File.nextRootKey) else { return false }
        return try Self.readKey(File.nextRootKey, in: directory).rawRepresentation == key.rawRepresentation
    }

    /// The systems that were revoked from the account; `nil` if none ever was.
    ///
    /// The signature is checked on every read: a modified list must not readmit a revoked system. Neither may a missing
    /// list or an older one, for example of a backup: `account.json` records the position of the newest list, and
    /// ``NewestListRecord`` if a backup of the whole directory was restored.
    static func revocations(
        from account: SystemIdentity,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> RevocationList? {
        // Read before the list, because a list is stored before its position.
        let recorded = try Self.recordedRevocations(in: directory)
        guard let list = try Self.readRevocations(of: account.roots, in: directory) else {
            if recorded != nil { throw .lostRevocations("is missing", in: directory) }
            return nil
        }
        if let recorded, list.position < recorded { throw .lostRevocations("is older than before", in: directory) }
        return list
    }

    /// The stored revocation lists, whatever `account.json` records; `nil` if there are none.
    static func readRevocations(
        of roots: RootChain,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> RevocationList? {
        let name = File.revokedSystems
        guard try directory.contains(name) else { return nil }
        let lists = try Self.readPEMs(name, Self.revocationsType, in: directory)
        do throws(TrustError) {
            var merged: RevocationList?
            for bytes in lists {
                let list = try RevocationList(bytes, of: roots)
                merged = merged?.merging(list) ?? list
            }
            return merged
        } catch {
            throw .damaged(
                name,
                "is not a list that the account's key signed (\(error.code))",
                in: directory,
                cause: error
            )
        }
    }

    private static func readDiscoveryKey(
        _ roots: RootChain,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> DiscoveryKey {
        let name = File.discoveryKey
        let bytes = try Self.readPEM(name, Self.discoveryKeyType, in: directory)
        do throws(TrustError) {
            return try DiscoveryKey(stored: bytes, of: roots)
        } catch {
            throw .damaged(name, "holds no discovery key of this account (\(error.code))", in: directory, cause: error)
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

    static func readPEM(
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

    private static func readPEMs(
        _ name: String,
        _ type: String,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> [[UInt8]] {
        let text = try Self.readText(name, in: directory)
        guard let documents = try? PEMDocument.parseMultiple(pemString: text), !documents.isEmpty,
            documents.allSatisfy({ $0.discriminator == type })
        else { throw .damaged(name, "does not hold whole PEM blocks '\(type)'", in: directory) }
        return documents.map(\.derBytes)
    }

    private static func readRoots(in directory: borrowing SecretDirectory) throws(IdentityError) -> RootChain {
        let name = File.rootCertificate
        let certificates = try Self.readPEMs(name, Self.certificateType, in: directory)
        do throws(TrustError) {
            return try RootChain(Array(certificates.joined()))
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
    /// A signed key, which replaces the first one at a revocation, is bound by its signature instead.
    var discoveryTag: Data?
    /// The position of the newest revocation list that was stored here; `nil` if there was none. A missing or older
    /// list is therefore noticed.
    var revocations: TrustPosition?
    /// The number of systems in the record of formerly revoked ones; `nil` if there was none. A missing or older record
    /// is therefore noticed.
    var formerlyRevoked: Int?

    init(of identity: SystemIdentity, hasRootKey: Bool, revocations: TrustPosition?, created: Date) {
        self.account = identity.accountID
        self.system = identity.systemID
        self.created = created
        self.rootKey = hasRootKey
        self.revocations = revocations
        guard identity.discoveryKey.position == nil else { return }
        self.discoveryTag = Data(identity.discoveryKey.discoveryTag(instance: "\(identity.accountID)"))
    }

    func holdsDiscoveryKey(of identity: SystemIdentity) -> Bool {
        guard let tag = self.discoveryTag, identity.discoveryKey.position == nil else { return true }
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
    /// The revocation list that was stored is gone, or an older one is in its place.
    fileprivate static func lostRevocations(
        _ what: String,
        in directory: borrowing SecretDirectory
    ) -> IdentityError {
        let path = directory.path(of: StoredAccount.File.revokedSystems)
        return IdentityError(
            .revocationsLost,
            """
            \(path) \(what), so systems that were revoked would be trusted again. Nothing was overwritten and trying \
            again will not help. Restore the newest copy of the file from a backup. Without one, on the machine with \
            the account's root key: 'remotesystems account revoke --lost-list ID', once for each revoked system. On \
            another machine, join the account again ('remotesystems account join'): it keeps its id.
            """,
            path: path
        )
    }

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
            backup, or use the account's recovery file ('remotesystems account import'). If both are lost, move \
            \(lastResort)
            """,
            path: path,
            cause: cause
        )
    }
}
