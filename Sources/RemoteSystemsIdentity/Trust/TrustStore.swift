// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The accounts that this system trusts, and the decisions about peers that follow from them.
///
/// A value type that reads no file and no clock. Its methods are synchronous and short, so that they can run on the
/// event loop of the handshake.
package struct TrustStore: Sendable {
    /// This system's own account.
    package private(set) var own: TrustedAccount
    /// The linked accounts, by id.
    package private(set) var linked: [AccountID: LinkedAccount] = [:]
    /// The accounts whose links this account has withdrawn, by id. Their systems receive the notice instead of an
    /// unspecific refusal.
    private var withdrawn: [AccountID: (account: TrustedAccount, notice: LinkWithdrawal)] = [:]

    package init(_ own: TrustedAccount) {
        self.own = own
    }

    /// The certificates that a peer presents in the TLS handshake. TLS has verified only that the peer holds the
    /// certificate's key.
    package struct Presented: Hashable, Sendable {
        /// The peer's own certificate, in DER.
        package var certificate: [UInt8]
        /// The certificates after it: those of its account's roots but the first, newest first.
        package var successions: [[UInt8]]

        package init(_ certificate: [UInt8], successions: [[UInt8]] = []) {
            self.certificate = certificate
            self.successions = successions
        }

        /// Hashes the certificate's bytes at once. The array's own `hash(into:)` hashes them one by one.
        package func hash(into hasher: inout Hasher) {
            unsafe self.certificate.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
    }

    /// The result for a trusted peer.
    package struct Verdict: Sendable {
        package var peer: PeerIdentity
        /// The extended chain of the peer's account, for ``extend(roots:)``; `nil` unless it has root keys that are not
        /// known yet.
        package var learned: RootChain?
    }

    // MARK: Decisions

    /// Decides whether to trust a peer. TLS must already have verified that the peer holds the certificate's key.
    ///
    /// - Parameters:
    ///   - presented: Reads at most 4 KiB of certificate and 15 successions of 512 bytes.
    ///   - accepted: The accepted standings. Defaults to this system's own account. The certificate of an anonymous
    ///     system must satisfy every rule except the signature, which cannot be verified: the key of its account is not
    ///     known.
    /// - Throws: The reason why the peer is not trusted. The order of the checks is that of `Docs/wire-protocol.md`,
    ///   section 2.
    package func judge(
        _ presented: Presented,
        now: Date,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws(TrustError) -> Verdict {
        let system = try SystemCertificate(presented.certificate)
        let standing = self.claimedStanding(system.name.account, now: now, accepting: accepted)
        guard accepted.contains(standing.kind) else {
            throw accepted.contains(.linked)
                ? self.withdrawal(for: system, presented) ?? .notOurAccount
                : self.isOfLinkedAccount(system, presented) ? .linkedAccount : .notOurAccount
        }
        guard system.hasKnownSignatureAlgorithm else { throw .badSignature }
        var verdict = Verdict(
            peer: PeerIdentity(standing, systemID: system.name.system, expiry: system.validity.to)
        )
        var isRetired = false
        if let account = self.account(of: standing) {
            let roots = try account.roots.extended(by: presented.successions)
            guard let root = roots.signer(system.isSigned) else { throw .badSignature }
            verdict.peer.root = roots.id(of: root)
            if roots.count > account.roots.count { verdict.learned = roots }
            isRetired = roots.isRetired(root, at: now)
            if let retirement = roots.retirement(of: root) { verdict.peer.end(by: retirement) }
        }
        if case .linked(_, let grants) = standing, let end = grants.end { verdict.peer.end(by: end) }
        do throws(TrustError) {
            try system.checkUsage()
            try system.checkValidity(at: now)
            // The certificate is valid and the grants are in force now, so the remaining reason is a retired root.
            guard !isRetired, now < verdict.peer.expiry else { throw .retiredRoot }
            if self.isRevoked(verdict.peer) { throw .revoked }
        } catch {
            var error = error
            // Only the signature proves it.
            if verdict.peer.root != nil { error.system = system.name.system }
            throw error
        }
        return verdict
    }

    /// The notice for a system of an account whose link was withdrawn; `nil` unless its certificate is of that account.
    private func withdrawal(for system: SystemCertificate, _ presented: Presented) -> TrustError? {
        guard let (account, notice) = self.withdrawn[system.name.account],
            Self.isSigned(system, presented, by: account)
        else { return nil }
        var error = TrustError.linkWithdrawn
        error.withdrawal = notice
        return error
    }

    /// Whether a system belongs to an account that is linked with this one, as its certificate proves.
    private func isOfLinkedAccount(_ system: SystemCertificate, _ presented: Presented) -> Bool {
        guard let linked = self.linked[system.name.account] else { return false }
        return Self.isSigned(system, presented, by: linked.account)
    }

    /// Whether a root key of the account signed the certificate of a system that names the account.
    private static func isSigned(
        _ system: SystemCertificate,
        _ presented: Presented,
        by account: TrustedAccount
    ) -> Bool {
        guard system.hasKnownSignatureAlgorithm,
            let roots = try? account.roots.extended(by: presented.successions)
        else { return false }
        return roots.signer(system.isSigned) != nil
    }

    /// Decides about a certificate without successions, as ``judge(_:now:accepting:)``.
    ///
    /// - Parameter der: The peer's own certificate.
    package func authenticate(
        peerCertificate der: [UInt8],
        now: Date,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws(TrustError) -> PeerIdentity {
        try self.judge(Presented(der), now: now, accepting: accepted).peer
    }

    /// Returns the reason why a peer that this store or an older one authenticated is not trusted any more; `nil` if it
    /// is still trusted.
    package func objection(to peer: PeerIdentity, now: Date) -> TrustError? {
        switch peer.standing {
        case .sameAccount(self.own.id), .anonymous:
            break
        case .sameAccount:
            return .notOurAccount
        case .linked(let account, let grants):
            guard let linked = self.linked[account] else {
                var error = TrustError.linkWithdrawn
                error.withdrawal = self.withdrawn[account]?.notice
                return error
            }
            // The grants are part of the peer's identity. If they changed, the peer has to connect again.
            guard linked.grants.inForce(at: now) == grants else { return .grantsChanged }
        }
        if let root = peer.root, let account = self.account(of: peer.standing), account.roots.isRetired(root, at: now) {
            return .retiredRoot
        }
        return self.isRevoked(peer) ? .revoked : nil
    }

    /// Whether nothing was learned against a system that was authenticated earlier: it was not revoked, and the link
    /// with its account was not withdrawn.
    ///
    /// - Parameter account: the linked account that certified it; `nil` for this system's own account.
    package func isTrusted(_ system: SystemID, ofLinked account: AccountID?) -> Bool {
        guard !self.own.hasRevoked(system) else { return false }
        guard let account else { return true }
        return self.linked[account].map { !$0.account.hasRevoked(system) } ?? false
    }

    /// Returns the time at which the root key that certified an authenticated peer is retired; `nil` if no retirement
    /// is known.
    package func retirement(of peer: PeerIdentity) -> Date? {
        guard let root = peer.root, let roots = self.account(of: peer.standing)?.roots else { return nil }
        return roots.number(of: root).flatMap { roots.retirement(of: $0) }
    }

    /// The standing of a system that names `account`, if its certificate satisfies the rules. A system that names a
    /// trusted account must belong to it, even where anonymous systems are accepted.
    private func claimedStanding(
        _ account: AccountID,
        now: Date,
        accepting accepted: Set<Standing.Kind>
    ) -> Standing {
        if account == self.own.id { return .sameAccount(account) }
        if accepted.contains(.linked), let linked = self.linked[account] {
            return .linked(account, linked.grants.inForce(at: now))
        }
        return .anonymous
    }

    /// The account that certified a peer; `nil` if that is not proved.
    private func account(of standing: Standing) -> TrustedAccount? {
        switch standing {
        case .sameAccount: self.own
        case .linked(let account, _): self.linked[account]?.account
        case .anonymous: nil
        }
    }

    /// A system that this account revoked is refused, whatever account it names.
    private func isRevoked(_ peer: PeerIdentity) -> Bool {
        self.own.hasRevoked(peer.systemID) || self.account(of: peer.standing)?.hasRevoked(peer.systemID) ?? false
    }

    // MARK: Changes

    /// Adds root keys to a trusted account's chain.
    ///
    /// - Returns: Whether root keys were added.
    /// - Throws: ``TrustError/Code/notOurAccount`` for an account that is not trusted; otherwise as
    ///   ``TrustedAccount/extend(roots:)``.
    @discardableResult
    package mutating func extend(roots: RootChain) throws(TrustError) -> Bool {
        if roots.accountID == self.own.id { return try self.own.extend(roots: roots) }
        guard var linked = self.linked[roots.accountID] else { throw .notOurAccount }
        let isExtended = try linked.account.extend(roots: roots)
        self.linked[roots.accountID] = linked
        return isExtended
    }

    /// Replaces this system's own account.
    package mutating func update(own account: TrustedAccount) { self.own = account }

    /// Links an account, or changes its grants. Does nothing for this system's own account.
    package mutating func link(_ account: LinkedAccount) {
        guard account.account.id != self.own.id else { return }
        self.linked[account.account.id] = account
    }

    /// Removes the link with an account.
    package mutating func unlink(_ account: AccountID) { self.linked[account] = nil }

    /// Replaces all links.
    package mutating func update(links: [AccountLink]) {
        let known = self.linked
        self.linked = [:]
        self.withdrawn = [:]
        for link in links {
            if let notice = link.withdrawal {
                self.withdrawn[link.account] = (TrustedAccount(roots: link.roots), notice)
            } else if var account = link.linkedAccount {
                // Learned root keys may not be stored yet.
                if let known = known[link.account] { _ = try? account.account.extend(roots: known.account.roots) }
                self.link(account)
            }
        }
    }
}

extension TrustError {
    /// The objection to a connection with a system of an account that is not linked any more.
    package static var linkWithdrawn: TrustError {
        TrustError(
            .linkWithdrawn,
            """
            The link with the other system's account was withdrawn on this side. Link the accounts again if that was \
            wrong ('remotesystems pair --link').
            """,
            toPeer: """
                The other account has withdrawn its link with yours. Trying again will not help; link the accounts \
                again if that was wrong.
                """
        )
    }

    /// The objection to a system of a linked account where only systems of this account are accepted. Advises no
    /// invitation, which would give that system all rights of this account.
    package static var linkedAccount: TrustError {
        TrustError(
            .notOurAccount,
            """
            The other system belongs to an account that is linked with this one. Only programs use the systems of a \
            linked account, as far as its owner permits: 'remotesystems account links' shows what they may use, and \
            'remotesystems list --filter authorization=linked' lists the systems. 'remotesystems doctor ADDRESS' \
            records it if the owner has withdrawn the link.
            """,
            toPeer: """
                Your system belongs to an account that is linked with the other side's account, which is not enough \
                for this connection. 'remotesystems account links' shows what your programs may use.
                """
        )
    }

    /// The objection to a connection that depends on grants that changed or ended.
    package static var grantsChanged: TrustError {
        TrustError(
            .grantsChanged,
            "This account changed what it grants to the other system's account. The other system can connect again.",
            toPeer: "The other account changed what it grants to yours. Connect again to use what is granted now."
        )
    }

    static var badSignature: TrustError {
        TrustError(
            .badSignature,
            """
            The certificate names this account, but the account's key did not sign it. The other system impersonates \
            a member of the account, or the certificate was changed on its way. Trying again will not help.
            """
        )
    }

    fileprivate static var retiredRoot: TrustError {
        TrustError(
            .retiredRoot,
            """
            The certificate was signed by a root key that the account has replaced. The other system has to renew its \
            certificate with the machine that holds the account's root key, or join again.
            """,
            toPeer: """
                Your certificate was signed by a root key that the account has replaced. Renew it with the machine \
                that holds the account's root key, or join the account again on your machine.
                """
        )
    }

    fileprivate static var revoked: TrustError {
        TrustError(
            .revoked,
            "The other system was revoked from the account. Trying again will not help; invite it again if that was "
                + "wrong.",
            toPeer: "Your system was revoked from the account. Trying again will not help; ask for an invitation if "
                + "that was wrong."
        )
    }
}
