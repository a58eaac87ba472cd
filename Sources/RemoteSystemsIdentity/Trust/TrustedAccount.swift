// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// An account whose systems this system can recognise: its root keys, revocations and discovery key.
package struct TrustedAccount: Sendable {
    package private(set) var roots: RootChain
    /// The systems that were revoked from the account; `nil` if no revocation list is known.
    package var revocations: RevocationList?
    /// The key for the tags in its systems' advertisements; `nil` if the account did not share it.
    package var discoveryKey: DiscoveryKey?

    package var id: AccountID { self.roots.accountID }

    package init(roots: RootChain, revocations: RevocationList? = nil, discoveryKey: DiscoveryKey? = nil) {
        self.roots = roots
        self.revocations = revocations
        self.discoveryKey = discoveryKey
    }

    /// Adds root keys to the known chain.
    ///
    /// - Returns: Whether root keys were added.
    /// - Throws: As ``RootChain/extended(by:)-(RootChain)``. Nothing is changed then.
    package mutating func extend(roots chain: RootChain) throws(TrustError) -> Bool {
        let extended = try self.roots.extended(by: chain)
        guard extended.count > self.roots.count else { return false }
        self.roots = extended
        return true
    }

    /// Reads a revocation list that another system sent.
    ///
    /// - Throws: ``TrustError/Code/malformed``; ``TrustError/Code/badSignature``; ``TrustError/Code/retiredRoot`` if
    ///   the root key that signed it is retired.
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

/// Another account that this account is linked with.
package struct LinkedAccount: Sendable {
    package var account: TrustedAccount
    /// The rights that this account grants to the linked account's systems.
    package var grants: Grants

    package init(_ account: TrustedAccount, grants: Grants) {
        self.account = account
        self.grants = grants
    }

    func isInForce(at now: Date) -> Bool { self.grants.end.map { now < $0 } ?? true }
}
