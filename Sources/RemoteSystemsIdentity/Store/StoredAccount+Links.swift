// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The files of the links with other accounts.
extension StoredAccount {
    private static let linksType = "REMOTE SYSTEMS LINKS"
    private static let learnedLinksType = "REMOTE SYSTEMS LINKED ACCOUNTS"

    static func linksFile(_ list: LinkList) -> [UInt8] { Self.pem(Self.linksType, list.bytes) }

    static func learnedLinksFile(_ links: LearnedLinks) throws(IdentityError) -> [UInt8] {
        Self.pem(Self.learnedLinksType, try links.bytes())
    }

    static func links(
        of identity: SystemIdentity,
        in directory: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) -> AccountLinks {
        AccountLinks(
            try Self.linkList(of: identity, in: directory),
            of: identity.roots,
            learned: try Self.learnedLinks(of: identity, in: directory),
            now: now
        )
    }

    /// The signed list. The signature is checked on every read: a modified list must not grant anything.
    static func linkList(
        of identity: SystemIdentity,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> LinkList? {
        guard try directory.contains(File.links) else { return nil }
        let bytes = try Self.readPEM(File.links, Self.linksType, in: directory)
        do throws(TrustError) {
            return try LinkList(bytes, of: identity.roots)
        } catch {
            throw .damagedLinks(File.links, "is not a list that the account's key signed", in: directory, error)
        }
    }

    static func learnedLinks(
        of identity: SystemIdentity,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> LearnedLinks {
        guard try directory.contains(File.learnedLinks) else { return LearnedLinks() }
        let bytes = try Self.readPEM(File.learnedLinks, Self.learnedLinksType, in: directory)
        do throws(TrustError) {
            return try LearnedLinks(bytes, of: identity.roots)
        } catch {
            throw .damagedLinks(File.learnedLinks, "holds entries that are not signed", in: directory, error)
        }
    }

    /// The files of the links, for an account that is joined again or recovered. Damaged ones, and those that its root
    /// keys do not verify, are left out: other systems send them again.
    static func linkFiles(
        of identity: SystemIdentity,
        verifiedBy roots: RootChain,
        in directory: borrowing SecretDirectory
    ) -> [(name: String, bytes: [UInt8])] {
        guard let list = try? Self.linkList(of: identity, in: directory), (try? LinkList(list.bytes, of: roots)) != nil,
            (try? Self.learnedLinks(of: identity, in: directory)) != nil
        else { return [] }
        return [File.links, File.learnedLinks].compactMap { name in
            (try? directory.read(name)).flatMap { bytes in bytes.map { (name, $0) } }
        }
    }
}

extension IdentityError {
    fileprivate static func damagedLinks(
        _ name: String,
        _ what: String,
        in directory: borrowing SecretDirectory,
        _ cause: TrustError
    ) -> IdentityError {
        let path = directory.path(of: name)
        return IdentityError(
            .damaged,
            """
            \(path) \(what) (\(cause.code)). Nothing was overwritten and trying again will not help. Restore the file \
            from a backup, or move it away: the account's other systems then send it again.
            """,
            path: path,
            cause: cause
        )
    }
}
