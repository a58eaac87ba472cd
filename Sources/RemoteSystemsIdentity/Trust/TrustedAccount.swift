// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// An account whose systems this system can recognise: its root keys, revocations and discovery key.
package struct TrustedAccount: Sendable {
    package private(set) var roots: RootChain
    /// The systems that were revoked from the account; `nil` if no revocation list is known. It is never replaced by an
    /// older list: see ``merge(_:)``.
    package private(set) var revocations: RevocationList?
    /// The key for the tags in its systems' advertisements; `nil` if the account did not share it.
    package private(set) var discoveryKey: DiscoveryKey?

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

    /// Adds what another value knows of the same account, whichever is newer. Neither root keys nor revocations are
    /// lost.
    package mutating func merge(_ other: TrustedAccount) {
        guard other.id == self.id else { return }
        // In a conflict of root keys, the own ones prevail.
        _ = try? self.extend(roots: other.roots)
        if let list = other.revocations { self.revocations = self.revocations?.merging(list) ?? list }
        if let key = other.discoveryKey, self.discoveryKey.map({ key.isNewer(than: $0) }) ?? true {
            self.discoveryKey = key
        }
    }

    /// What other accounts may know of the account: everything but its discovery key.
    package var forOthers: TrustedAccount { TrustedAccount(roots: self.roots, revocations: self.revocations) }

    /// Reads a signed discovery key that another system sent.
    ///
    /// - Throws: As ``revocationList(_:now:)``.
    package func discoveryKey(_ bytes: [UInt8], now: Date) throws(TrustError) -> DiscoveryKey {
        let key = try DiscoveryKey(signed: bytes, of: self.roots)
        guard let root = key.position?.root, !self.roots.isRetired(root, at: now) else {
            throw RootStatement.discoveryKey.retired
        }
        return key
    }

    /// Whether a signed discovery key is to be used from now on: it is newer than the present one, and the revocation
    /// list that was made with it is known. A system that does not know the list could pass the key on to the revoked
    /// system.
    package func adopts(_ key: DiscoveryKey) -> Bool {
        guard let position = key.position, let list = self.revocations, list.position >= position else { return false }
        return self.discoveryKey.map { key.isNewer(than: $0) } ?? true
    }

    /// Reads a revocation list that another system sent.
    ///
    /// - Throws: ``TrustError/Code/malformed``; ``TrustError/Code/badSignature``; ``TrustError/Code/retiredRoot`` if
    ///   the root key that signed it is retired.
    package func revocationList(_ bytes: [UInt8], now: Date) throws(TrustError) -> RevocationList {
        let list = try RevocationList(bytes, of: self.roots)
        guard !self.roots.isRetired(list.root, at: now) else { throw RootStatement.revocationList.retired }
        return list
    }

    func hasRevoked(_ system: SystemID) -> Bool { self.revocations?.contains(system) ?? false }
}

/// Another account that this account is linked with.
package struct LinkedAccount: Sendable {
    package var account: TrustedAccount
    /// The rights that this account grants to the linked account's systems.
    package var grants: Grants
    /// The name that the linked account stated when it was linked. It proves nothing.
    package var name: String

    /// - Parameter account: Its discovery key is the one that the two accounts share, not the linked account's own.
    package init(_ account: TrustedAccount, grants: Grants, name: String = "") {
        self.account = account
        self.grants = grants
        self.name = name
    }
}
