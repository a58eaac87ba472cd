// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The files of the links with other accounts.
extension StoredAccount {
    private static let linksType = "REMOTE SYSTEMS LINKS"
    private static let learnedLinksType = "REMOTE SYSTEMS LINKED ACCOUNTS"
    private static let heldLinksType = "REMOTE SYSTEMS HELD LINKS"

    static func linksFile(_ list: LinkList) -> [UInt8] { Self.pem(Self.linksType, list.bytes) }

    static func learnedLinksFile(_ links: LearnedLinks) throws(IdentityError) -> [UInt8] {
        Self.pem(Self.learnedLinksType, try links.bytes())
    }

    static func heldLinksFile(_ links: HeldLinks) throws(IdentityError) -> [UInt8] {
        Self.pem(Self.heldLinksType, try links.bytes())
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
        try Self.read(
            File.links,
            Self.linksType,
            orElse: "is not a list that the account's key signed",
            in: directory
        ) { (bytes) throws(TrustError) in try LinkList(bytes, of: identity.roots) }
    }

    static func learnedLinks(
        of identity: SystemIdentity,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> LearnedLinks {
        try Self.read(
            File.learnedLinks,
            Self.learnedLinksType,
            orElse: "holds entries that are not signed",
            in: directory
        ) { (bytes) throws(TrustError) in try LearnedLinks(bytes, of: identity.roots) } ?? LearnedLinks()
    }

    /// The links that this system held. If a root key was stolen before the one that signed `list` replaced it, a
    /// record of the time before counts as empty: the notices of its links are signed, or a thief invented them.
    ///
    /// A damaged file counts as empty, too: it must not keep a stolen key from being replaced.
    ///
    /// - Parameter list: The list of links, stored or to be stored; `nil` if there is none.
    static func heldLinks(
        of identity: SystemIdentity,
        beside list: LinkList?,
        in directory: borrowing SecretDirectory
    ) throws(IdentityError) -> HeldLinks {
        var held: HeldLinks?
        do throws(IdentityError) {
            held = try Self.read(File.heldLinks, Self.heldLinksType, orElse: "cannot be read", in: directory) {
                (bytes) throws(TrustError) in try HeldLinks(bytes)
            }
        } catch {
            guard error.code == .damaged else { throw error }
        }
        guard let held else { return HeldLinks() }
        if let list, identity.roots.isStolen(held.root, before: list.root) { return HeldLinks() }
        return held
    }

    /// Reads a file; returns `nil` if there is none.
    ///
    /// - Parameter damage: what is wrong with a file that `parse` refuses.
    private static func read<Contents>(
        _ name: String,
        _ type: String,
        orElse damage: String,
        in directory: borrowing SecretDirectory,
        _ parse: ([UInt8]) throws(TrustError) -> Contents
    ) throws(IdentityError) -> Contents? {
        guard try directory.contains(name) else { return nil }
        let bytes: [UInt8]
        do throws(IdentityError) {
            bytes = try Self.readPEM(name, type, in: directory)
        } catch {
            guard error.code == .damaged else { throw error }
            throw .damagedLinks(name, "does not hold one whole PEM block '\(type)'", in: directory, error)
        }
        do throws(TrustError) {
            return try parse(bytes)
        } catch {
            throw .damagedLinks(name, "\(damage) (\(error.code))", in: directory, error)
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
        return [File.links, File.learnedLinks, File.heldLinks].compactMap { name in
            (try? directory.read(name)).flatMap { bytes in bytes.map { (name, $0) } }
        }
    }
}

extension IdentityError {
    fileprivate static func damagedLinks(
        _ name: String,
        _ what: String,
        in directory: borrowing SecretDirectory,
        _ cause: any Error
    ) -> IdentityError {
        let path = directory.path(of: name)
        let holdsRootKey = try? directory.contains(StoredAccount.File.rootKey)
        let isPersonal = try? AccountStore.isPersonal(directory)
        let isOnlySystem = holdsRootKey == true && isPersonal == true
        let next =
            switch (isOnlySystem, name) {
            case (true, StoredAccount.File.links):
                "no other system of this account can send the file. Then withdraw the links with this account on the "
                    + "other accounts' machines ('remotesystems account unlink'), and link the accounts again"
            case (true, _): "the systems of the linked accounts then send its contents again"
            case (false, _): "the account's other systems then send it again"
            }
        return IdentityError(
            .damaged,
            """
            \(path) \(what). Nothing was overwritten and trying again will not help. Restore the file from a backup, \
            or move it away: \(next).
            """,
            path: path,
            cause: cause
        )
    }
}
