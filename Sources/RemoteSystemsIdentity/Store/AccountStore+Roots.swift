// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

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
}
