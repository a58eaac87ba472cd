// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The accounts that this system trusts, and every decision that follows from them.
///
/// A value without files or a clock. Its methods are synchronous and short, so that they run on the event loop that did
/// the handshake.
package struct TrustStore: Sendable {
    /// This system's own account.
    package private(set) var own: TrustedAccount
    /// The accounts that it is linked with, by id.
    package private(set) var linked: [AccountID: LinkedAccount] = [:]

    package init(_ own: TrustedAccount) {
        self.own = own
    }

    /// What a peer presents in the TLS handshake: bytes that nothing is known of yet, but that it holds the key of the
    /// certificate.
    package struct Presented: Sendable {
        /// The peer's own certificate, in DER.
        package var certificate: [UInt8]
        /// The certificates behind it: those of the roots of its account but the first, newest first.
        package var links: [[UInt8]]

        package init(_ certificate: [UInt8], links: [[UInt8]] = []) {
            self.certificate = certificate
            self.links = links
        }
    }

    /// A peer that is trusted.
    package struct Verdict: Sendable {
        package var peer: PeerIdentity
        /// The chain of the peer's account if it has root keys that are not known yet, for ``extend(roots:)``.
        package var learned: RootChain?
    }

    // MARK: Decisions

    /// Establishes who presented a certificate, having proved by TLS that it holds the certificate's key.
    ///
    /// - Parameters:
    ///   - presented: At most 4 KiB of certificate and 15 links of 512 bytes are read.
    ///   - accepted: The standings that will do. The certificate of an anonymous system must keep every rule but that
    ///     of the signature, which cannot be verified: the key of its account is not known.
    /// - Throws: why it is not trusted. The order of the checks is that of `Docs/wire-protocol.md`, section 2.
    package func judge(
        _ presented: Presented,
        now: Date,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws(TrustError) -> Verdict {
        let system = try SystemCertificate(presented.certificate)
        let standing = self.claimedStanding(system.name.account, now: now, accepting: accepted)
        guard accepted.contains(standing.kind) else { throw .notOurAccount }
        guard system.hasKnownSignatureAlgorithm else { throw .badSignature }
        var verdict = Verdict(
            peer: PeerIdentity(standing, systemID: system.name.system, expiry: system.validity.to)
        )
        if let account = self.account(of: standing) {
            let roots = try account.roots.extended(by: presented.links)
            guard let root = roots.signer(system.isSigned) else { throw .badSignature }
            verdict.peer.root = root
            if roots.count > account.roots.count { verdict.learned = roots }
            if let retirement = roots.retirement(of: root) { verdict.peer.end(by: retirement) }
        }
        if case .linked(_, let grants) = standing, let end = grants.end { verdict.peer.end(by: end) }
        try system.checkUsage()
        try system.checkValidity(at: now)
        // The certificate itself is valid now, and so are the grants: what is over is the time of its root.
        guard now < verdict.peer.expiry else { throw .retiredRoot }
        if self.isRevoked(verdict.peer) { throw .revoked }
        return verdict
    }

    /// The same for a certificate without links.
    ///
    /// - Parameter der: The peer's own certificate.
    package func authorise(
        peerCertificate der: [UInt8],
        now: Date,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws(TrustError) -> PeerIdentity {
        try self.judge(Presented(der), now: now, accepting: accepted).peer
    }

    /// Why a peer that was authorised before, by this store or an older one, is not trusted any more; `nil` if it is.
    package func objection(to peer: PeerIdentity, now: Date) -> TrustError? {
        switch peer.standing {
        case .sameAccount(self.own.id), .anonymous:
            break
        case .sameAccount:
            return .notOurAccount
        case .linked(let account, let grants):
            // With other grants it is another peer: it has to connect anew.
            guard let linked = self.linked[account], linked.grants == grants, linked.isInForce(at: now) else {
                return .notOurAccount
            }
        }
        if let root = peer.root, let account = self.account(of: peer.standing), account.isRetired(root, at: now) {
            return .retiredRoot
        }
        return self.isRevoked(peer) ? .revoked : nil
    }

    /// When the trust in a peer that was authorised before ends by itself, as far as it depends on the account's root
    /// keys; `nil` if it does not.
    package func retirement(of peer: PeerIdentity) -> Date? {
        guard let root = peer.root, let account = self.account(of: peer.standing) else { return nil }
        return account.roots.retirement(of: root)
    }

    /// The standing that a system of this account has if its certificate keeps the rules. A system that names an
    /// account which is trusted must be of it, even where anonymous ones are accepted.
    private func claimedStanding(
        _ account: AccountID,
        now: Date,
        accepting accepted: Set<Standing.Kind>
    ) -> Standing {
        if account == self.own.id { return .sameAccount(account) }
        if accepted.contains(.linked), let linked = self.linked[account], linked.isInForce(at: now) {
            return .linked(account, linked.grants)
        }
        return .anonymous
    }

    /// What is known of the account that certified a peer; `nil` where that is not proved.
    private func account(of standing: Standing) -> TrustedAccount? {
        switch standing {
        case .sameAccount: self.own
        case .linked(let account, _): self.linked[account]?.account
        case .anonymous: nil
        }
    }

    /// A system that this account revoked is refused whatever account it names.
    private func isRevoked(_ peer: PeerIdentity) -> Bool {
        self.own.hasRevoked(peer.systemID) || self.account(of: peer.standing)?.hasRevoked(peer.systemID) ?? false
    }

    // MARK: Changes

    /// Adds root keys that follow on the known ones of a trusted account.
    ///
    /// - Returns: Whether there were any.
    /// - Throws: ``TrustError/Code/notOurAccount`` for an account that is not trusted; as
    ///   ``TrustedAccount/extend(roots:)``.
    @discardableResult
    package mutating func extend(roots: RootChain) throws(TrustError) -> Bool {
        if roots.accountID == self.own.id { return try self.own.extend(roots: roots) }
        guard var linked = self.linked[roots.accountID] else { throw .notOurAccount }
        let isExtended = try linked.account.extend(roots: roots)
        self.linked[roots.accountID] = linked
        return isExtended
    }

    /// Replaces what is known of this system's own account.
    package mutating func update(own account: TrustedAccount) { self.own = account }

    /// Links an account, or changes what is granted to it. The own account cannot be linked.
    package mutating func link(_ account: LinkedAccount) {
        guard account.account.id != self.own.id else { return }
        self.linked[account.account.id] = account
    }

    /// Withdraws a link.
    package mutating func unlink(_ account: AccountID) { self.linked[account] = nil }
}

extension TrustError {
    static var badSignature: TrustError {
        TrustError(
            .badSignature,
            """
            The certificate names this account, but the account's key did not sign it. Somebody pretends to \
            belong to the account, or the certificate was changed on its way. Trying again will not help.
            """
        )
    }

    fileprivate static var retiredRoot: TrustError {
        TrustError(
            .retiredRoot,
            """
            The certificate was signed by a root key that the account has replaced. The other system has to renew its \
            certificate with the machine that holds the account, or join again.
            """,
            toPeer: """
                Your certificate was signed by a root key that the account has replaced. Renew it with the machine \
                that holds the account, or join the account again on your machine.
                """
        )
    }

    fileprivate static var revoked: TrustError {
        TrustError(
            .revoked,
            "This system was revoked from the account. Trying again will not help; invite it again if that was wrong.",
            toPeer: "Your system was revoked from the account. Trying again will not help; ask for an invitation if "
                + "that was wrong."
        )
    }
}
