// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// An account whose systems can prove that they belong to it: what is known of its keys.
package struct TrustedAccount: Sendable {
    package private(set) var roots: RootChain
    /// The systems that are not trusted any more; `nil` if none ever was revoked, as far as is known.
    package var revocations: RevocationList?
    /// What the announcements of its systems are tagged with, if it was shared with this account.
    package var discoveryKey: DiscoveryKey?

    package var id: AccountID { self.roots.accountID }

    package init(roots: RootChain, revocations: RevocationList? = nil, discoveryKey: DiscoveryKey? = nil) {
        self.roots = roots
        self.revocations = revocations
        self.discoveryKey = discoveryKey
    }

    /// Adds root keys that follow on the known ones.
    ///
    /// - Returns: Whether there were any.
    /// - Throws: as ``RootChain/extended(by:)-(RootChain)``; nothing is changed then.
    package mutating func extend(roots chain: RootChain) throws(TrustError) -> Bool {
        let extended = try self.roots.extended(by: chain)
        guard extended.count > self.roots.count else { return false }
        self.roots = extended
        return true
    }

    /// Reads a revocation list that another system passed on.
    ///
    /// - Throws: ``TrustError/Code/malformed``; ``TrustError/Code/badSignature``, or ``TrustError/Code/retiredRoot``
    ///   when the root key that signed it is retired.
    package func revocationList(_ bytes: [UInt8], now: Date) throws(TrustError) -> RevocationList {
        let list = try RevocationList(bytes, of: self.roots)
        guard !self.isRetired(list.root, at: now) else {
            throw TrustError(
                .retiredRoot,
                """
                A revocation list was signed by a root key that the account has replaced. Nothing was changed. Sign it \
                again with the newest root key.
                """
            )
        }
        return list
    }

    func isRetired(_ root: Int, at now: Date) -> Bool {
        self.roots.retirement(of: root).map { $0 <= now } ?? false
    }

    func hasRevoked(_ system: SystemID) -> Bool { self.revocations?.contains(system) ?? false }
}

/// An account of somebody else that this account is linked with.
package struct LinkedAccount: Sendable {
    package var account: TrustedAccount
    /// What this account lets its systems do.
    package var grants: Grants

    package init(_ account: TrustedAccount, grants: Grants) {
        self.account = account
        self.grants = grants
    }

    func isInForce(at now: Date) -> Bool { self.grants.end.map { now < $0 } ?? true }
}
