// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

extension AccountStore {
    /// Stores root keys of this system's account that follow the known ones. If a root key has several successors, the
    /// first one learned stays: another one never replaces it.
    ///
    /// - Returns: Whether root keys were added.
    /// - Throws: ``IdentityError/Code/conflictingRoots``, or ``IdentityError/Code/wrongAccount`` for the keys of
    ///   another account. Nothing is changed then.
    @discardableResult
    package func install(roots: RootChain) throws(IdentityError) -> Bool {
        try self.withAccount { (account, stored) throws(IdentityError) in
            let extended: RootChain
            do throws(TrustError) {
                extended = try stored.identity.roots.extended(by: roots)
            } catch {
                let code: IdentityError.Code = error.code == .notOurAccount ? .wrongAccount : .conflictingRoots
                throw IdentityError(code, error.message, cause: error)
            }
            guard extended.count > stored.identity.roots.count else { return false }
            try account.replace(StoredAccount.File.rootCertificate, StoredAccount.rootsFile(extended))
            return true
        }
    }

    /// Replaces the account's root key by a new one. The account keeps its id, and every system keeps its own.
    ///
    /// The steps are such that a crash leaves either the old root key or the new one in force, and never a root key
    /// without its certificate or the reverse:
    ///
    /// 1. The new key is written to `next-root-key.pem`.
    /// 2. `root-certificate.pem` gets the certificate that the old key signs for it. From then on the new key is the
    ///   account's.
    /// 3. `next-root-key.pem` is renamed to `root-key.pem`, which deletes the old key.
    /// 4. The new key signs the revocation list, a discovery key, the list of links, and last the certificate of this
    ///   system. If a process dies before that, the next one that uses the account completes steps 3 and 4, because the
    ///   certificate is due.
    ///
    /// - Parameters:
    ///   - isStolen: Whether another person may have the old key. Everything that it signed is then invalid at once:
    ///     certificates, revocations and links; and everything that earlier keys signed. The new list of revocations is
    ///     empty, since no certificate is left that could be revoked. If the key is not stolen, it is invalid when the
    ///     last certificate that it signed expires.
    ///   - kept: The accounts whose links the new key confirms, with their present grants, although the old one is
    ///     stolen. A thief may have made links or widened grants. If the process dies meanwhile, they are dropped, too.
    /// - Returns: This system's identity, and the time at which the old key is retired.
    /// - Throws: ``IdentityError/Code/notAuthority``; ``IdentityError/Code/rootKeysUsedUp``;
    ///   ``IdentityError/Code/revocationsLost``; ``IdentityError/Code/unknownLink``. Nothing is changed then. The text
    ///   of another error says whether the key was replaced.
    package func rotateRootKey(
        isStolen: Bool,
        keepingLinks kept: Set<AccountID> = [],
        now: Date
    ) throws(IdentityError) -> (identity: SystemIdentity, retirement: Date) {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            // Not after the replacement: a list that is lost could not be signed again.
            _ = try StoredAccount.revocations(from: stored.identity, in: account)
            let retirement = isStolen ? now : now.addingTimeInterval(CertificateLife.system)
            // If no link of a stolen key stays, damaged files must not keep the key from being replaced.
            if !isStolen || !kept.isEmpty {
                let links = try StoredAccount.links(of: stored.identity, in: account, now: now)
                if let unknown = kept.first(where: { links[$0]?.withdrawal != nil || links[$0] == nil }) {
                    throw .unknownLink(unknown)
                }
            }
            let next = try authority.successor(retiring: retirement, now: now)
            try Self.completeRename(of: authority, in: account)
            try account.replace(
                StoredAccount.File.nextRootKey,
                Array((next.rootKey.pemRepresentation + "\n").utf8)
            )
            try account.replace(StoredAccount.File.rootCertificate, StoredAccount.rootsFile(next.roots))
            do throws(IdentityError) {
                let identity = try Self.completeRotation(
                    to: next,
                    of: StoredAccount(reading: account),
                    keepingLinks: kept,
                    isStolen: isStolen,
                    in: account,
                    now: now
                )
                return (identity, next.roots.retirement(of: next.roots.count - 1) ?? retirement)
            } catch {
                throw .unfinishedRotation(error)
            }
        }
    }

    /// Makes the next root key the root key, if a process that ended left that to do.
    private static func completeRename(
        of authority: AccountAuthority,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        guard try StoredAccount.isNextRootKey(authority.rootKey, in: account) else { return }
        try account.rename(StoredAccount.File.nextRootKey, to: StoredAccount.File.rootKey)
    }

    /// Does what is left to do after the root key was replaced here: see ``rotateRootKey(isStolen:keepingLinks:now:)``,
    /// steps 3 and 4.
    static func completeRotation(
        to authority: AccountAuthority,
        of stored: StoredAccount,
        keepingLinks kept: Set<AccountID> = [],
        isStolen: Bool = false,
        in account: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) -> SystemIdentity {
        try Self.completeRename(of: authority, in: account)
        // The certificate is replaced last. So a stolen key was replaced by a process that died before it was done.
        let isStolen = isStolen || authority.roots.isStolen(stored.identity.root)
        let list = try StoredAccount.revocations(from: stored.identity, in: account)
        var identity = stored.identity
        let (signedList, signedKey) = (list?.root ?? 0, identity.discoveryKey.position?.root ?? 0)
        if authority.roots.count > 1, min(signedList, signedKey) < authority.roots.count {
            // A thief of a key may have revoked any system, and no certificate is left to be revoked. The new list is
            // signed also if it is empty, so that a thief of the old key cannot make one.
            let isListStolen = list.map { authority.roots.isStolen($0.root) } ?? false
            if isListStolen { try Self.recordFormerlyRevoked(list, of: stored, in: account) }
            let systems = isListStolen ? [] : list?.allSystems ?? []
            _ = try Self.sign(Set(systems), after: list, by: authority, in: account, now: now)
            identity = try StoredAccount(reading: account).identity
        }
        try Self.renewLinks(
            of: identity,
            by: authority,
            keeping: kept,
            isStolen: isStolen,
            isRotation: true,
            in: account,
            now: now
        )
        let certificate = try authority.issueCertificate(for: identity.systemKey.publicKey, now: now)
        let renewed = try identity.replacingCertificate(with: certificate)
        try account.replace(StoredAccount.File.systemCertificate, StoredAccount.certificateFile(certificate))
        return renewed
    }
}

extension IdentityError {
    /// An error after the root key was replaced.
    fileprivate static func unfinishedRotation(_ cause: IdentityError) -> IdentityError {
        IdentityError(
            cause.code,
            """
            The root key was replaced. What follows is not complete: \(cause.message) The next program that uses the \
            account completes it; do not replace the key again.
            """,
            path: cause.path,
            cause: cause
        )
    }
}
