// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Links with other accounts. They are made and changed on a machine that holds the account's root key, in a list that
/// the key signs. The account's other systems receive the list (`Docs/wire/links.md`).
extension AccountStore {
    /// The links of this system's account, as this system knows them.
    ///
    /// - Throws: ``IdentityError/Code/damaged`` if a file was changed by other means.
    package func links(now: Date = Date()) throws(IdentityError) -> AccountLinks {
        try self.reading { (account, stored) throws(IdentityError) in
            try StoredAccount.links(of: stored.identity, in: account, now: now)
        } ?? .none
    }

    // MARK: Linking

    /// Makes the offer to send to another account, to link it with this account.
    ///
    /// - Parameters:
    ///   - name: The name by which the other person will see this account. Stored without control characters and cut at
    ///     128 bytes.
    ///   - granted: The rights that this account will grant.
    /// - Throws: ``IdentityError/Code/notAuthority``, ``IdentityError/Code/invalidLink``;
    ///   ``IdentityError/Code/tooManyLinks`` if the account has as many links as it can have.
    package func linkOffer(name: String, granting granted: Grants, now: Date) throws(IdentityError) -> LinkOffer {
        try granted.validate()
        return try self.withAccount { (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            let list = try StoredAccount.linkList(of: stored.identity, in: account)
            // Before the other person is asked. A link that the other account has withdrawn may be made again.
            let active = try StoredAccount.links(of: stored.identity, in: account, now: now).links
                .filter { $0.state == .active }
            guard active.count < LinkList.maxLinks else { throw .tooManyLinks }
            return LinkOffer(
                roots: authority.roots,
                revocations: try StoredAccount.revocations(from: stored.identity, in: account),
                name: name,
                granted: granted,
                number: try authority.nextNumber(after: list, now: now)
            )
        }
    }

    /// Links this account with the account that sent `offer`. Replaces an earlier link with that account.
    ///
    /// Both sides must have got the other's offer over the same confirmed connection.
    ///
    /// - Parameter own: The offer that was sent to the other account, from ``linkOffer(name:granting:now:)``.
    /// - Returns: The new link.
    /// - Throws: ``IdentityError/Code/notAuthority``; ``IdentityError/Code/tooManyLinks``;
    ///   ``IdentityError/Code/invalidLink`` if the offer is of this account itself;
    ///   ``IdentityError/Code/conflictingRoots`` if the other account's root keys contradict those of an earlier link.
    @discardableResult
    package func link(_ own: LinkOffer, with offer: LinkOffer, now: Date) throws(IdentityError) -> AccountLink {
        let links = try self.changeLinks(now: now, learning: offer) {
            (links, authority, number) throws(IdentityError) in
            guard own.account == authority.accountID else {
                throw .invalidLink("This system's account was replaced while the link was made. Start again.")
            }
            guard offer.account != own.account else {
                throw .invalidLink("Both systems belong to the same account, so there is nothing to link.")
            }
            var roots = offer.roots
            if let known = links[offer.account]?.roots {
                do throws(TrustError) {
                    roots = try known.extended(by: roots)
                } catch {
                    throw IdentityError(.conflictingRoots, error.message, cause: error)
                }
            }
            links[offer.account] = AccountLink(own, with: offer, roots: roots, number: number, now: now)
        }
        guard let link = links[offer.account] else { throw .unknownLink(offer.account) }
        return link
    }

    /// Changes the rights that this account grants to a linked account.
    ///
    /// - Throws: ``IdentityError/Code/notAuthority``, ``IdentityError/Code/unknownLink``,
    ///   ``IdentityError/Code/invalidLink``.
    @discardableResult
    package func grant(_ granted: Grants, to account: AccountID, now: Date) throws(IdentityError) -> AccountLinks {
        try granted.validate()
        return try self.changeLinks(now: now) { (links, _, number) throws(IdentityError) in
            guard var link = links[account], link.withdrawal == nil else { throw .unknownLink(account) }
            guard link.granted != granted else { return }
            link.granted = granted
            link.number = number
            links[account] = link
        }
    }

    /// Withdraws the link with an account. Its systems lose all rights here.
    ///
    /// - Throws: ``IdentityError/Code/notAuthority``, ``IdentityError/Code/unknownLink``.
    @discardableResult
    package func unlink(_ account: AccountID, now: Date) throws(IdentityError) -> AccountLinks {
        try self.changeLinks(now: now) { (links, authority, number) throws(IdentityError) in
            guard var link = links[account], link.withdrawal == nil else { throw .unknownLink(account) }
            link.withdraw(by: try authority.withdrawal(of: account, number: number))
            links[account] = link
        }
    }

    /// - Parameter offer: what a new link's account has sent. It is stored before the link: without its revocation
    ///   list, a system that was revoked there would be trusted here.
    private func changeLinks(
        now: Date,
        learning offer: LinkOffer? = nil,
        _ change: (inout [AccountID: AccountLink], AccountAuthority, UInt64) throws(IdentityError) -> Void
    ) throws(IdentityError) -> AccountLinks {
        try self.withAccount { (account, stored) throws(IdentityError) in
            guard let authority = try StoredAccount.authority(in: account) else { throw .notAuthority }
            // Nothing of a stolen key may be signed by the new one, also if a process died while it replaced the key.
            try Self.renewLinks(of: stored.identity, by: authority, in: account, now: now)
            let list = try StoredAccount.linkList(of: stored.identity, in: account)
            let before = Dictionary((list?.links ?? []).map { ($0.account, $0) }) { first, _ in first }
            var links = before
            let number = try authority.nextNumber(after: list, now: now)
            try change(&links, authority, number)
            let last = links.values.map(\.number).max() ?? number
            // Checks the number of links before anything is stored.
            let new =
                links == before
                ? nil
                : try authority.linkList(
                    of: Array(links.values),
                    number: max(number, last),
                    droppedNumber: list?.droppedNumber ?? 0
                )
            if let offer, let link = links[offer.account] {
                let own = stored.identity.accountID
                let sent = LearnedLink(roots: offer.roots, revocations: offer.revocations, of: own)
                _ = try Self.learn(
                    sent,
                    of: link,
                    in: account,
                    stored.identity,
                    beside: list,
                    isNewLink: true,
                    now: now
                ) { links[$0].map { $0.withdrawal == nil } ?? false }
            }
            if let new {
                let changed = links.values.filter { $0 != before[$0.account] }
                try Self.hold(of: stored.identity, beside: new, in: account) { held in
                    for link in changed where link.withdrawal == nil { held.add(madeHere: link, signedBy: new.root) }
                }
                try Self.store(new, of: stored.identity, in: account)
                // Not before the list has their notices.
                try Self.hold(of: stored.identity, beside: new, in: account) { held in
                    for link in changed where link.withdrawal != nil { held.remove(link.account) }
                }
            }
            return try StoredAccount.links(of: stored.identity, in: account, now: now)
        }
    }

    // MARK: Lists of other systems

    /// Stores a list of links that another system of the account sent, if it is newer than the stored one.
    ///
    /// The newest list wins. On a machine with the account's root key, the two lists are merged, and of each link the
    /// entry that was changed last is kept: another machine that holds the root key may have changed other links.
    ///
    /// - Throws: ``IdentityError/Code/rejectedCertificate`` if the list is malformed or no valid root key of the
    ///   account signed it. Nothing is changed then.
    package func install(links bytes: [UInt8], now: Date) throws(IdentityError) -> AccountLinks {
        try self.withAccount { (account, stored) throws(IdentityError) in
            let list: LinkList
            do throws(TrustError) {
                list = try stored.identity.trustedAccount().linkList(bytes, now: now)
            } catch {
                throw IdentityError(.rejectedCertificate, error.message, cause: error)
            }
            let present = try StoredAccount.linkList(of: stored.identity, in: account)
            // Of a list of a stolen key, nothing is signed again.
            let isStolen = present.map { stored.identity.roots.isStolen($0.root, before: list.root) } ?? false
            if let present, !isStolen, let authority = try StoredAccount.authority(in: account) {
                let (older, newer) = list.isNewer(than: present) ? (present, list) : (list, present)
                let merged = newer.merged(with: older)
                if Set(merged) != Set(newer.links) {
                    let new = try authority.linkList(
                        of: merged,
                        number: authority.nextNumber(after: newer, now: now),
                        droppedNumber: max(older.droppedNumber, newer.droppedNumber)
                    )
                    try Self.hold(of: stored.identity, beside: new, in: account) { $0.add(inForceIn: present) }
                    try Self.store(new, of: stored.identity, in: account)
                    return try StoredAccount.links(of: stored.identity, in: account, now: now)
                }
            }
            if present.map({ list.isNewer(than: $0) }) ?? true {
                // Before the list that lacks them: a crash between the two files loses no withdrawal.
                if let present {
                    let held = try Self.hold(of: stored.identity, beside: list, in: account) { held in
                        if !isStolen { held.add(inForceIn: present) }
                    }
                    let own = stored.identity.accountID
                    var learned = try StoredAccount.learnedLinks(of: stored.identity, in: account)
                    if learned.keepWithdrawals(of: present, lackingIn: list, by: own, holding: held) {
                        try Self.store(learned, in: account)
                    }
                }
                try Self.store(list, of: stored.identity, in: account)
            }
            if let authority = try StoredAccount.authority(in: account) {
                try Self.renewLinks(of: stored.identity, by: authority, in: account, now: now)
            }
            return try StoredAccount.links(of: stored.identity, in: account, now: now)
        }
    }

    /// Changes the record of the links that this system held. Links are added before the list is stored that makes the
    /// change necessary: after a crash between the two, nothing is missing in the record.
    ///
    /// - Parameter list: The list that is stored before or after the change.
    /// - Returns: The record.
    @discardableResult
    private static func hold(
        of identity: SystemIdentity,
        beside list: LinkList,
        in account: borrowing SecretDirectory,
        _ change: (inout HeldLinks) -> Void
    ) throws(IdentityError) -> HeldLinks {
        let known = try StoredAccount.heldLinks(of: identity, beside: list, in: account)
        var held = known
        change(&held)
        if held != known { try account.replace(StoredAccount.File.heldLinks, StoredAccount.heldLinksFile(held)) }
        return held
    }

    /// Stores the list of links that ``AccountAuthority/renewedLinks(_:learned:held:keeping:isStolen:now:)`` returns.
    ///
    /// - Parameter isRotation: Whether this completes the replacement of the root key. Then a record of held links that
    ///   cannot be read counts as empty: it must not keep a stolen key from being replaced.
    static func renewLinks(
        of identity: SystemIdentity,
        by authority: AccountAuthority,
        keeping kept: Set<AccountID> = [],
        isStolen: Bool = false,
        isRotation: Bool = false,
        in account: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) {
        // All links end then, whatever the files contain.
        let toleratesDamage = isStolen && kept.isEmpty
        let list =
            toleratesDamage
            ? try? StoredAccount.linkList(of: identity, in: account)
            : try StoredAccount.linkList(of: identity, in: account)
        var learned = LearnedLinks()
        if list != nil || toleratesDamage {
            do throws(IdentityError) {
                learned = try StoredAccount.learnedLinks(of: identity, in: account)
            } catch {
                // Before a crash, links may have been kept that its entries are about.
                let hasKept = list.map { list in
                    list.root == authority.roots.count && list.links.contains { $0.withdrawal == nil }
                }
                guard toleratesDamage, hasKept != true else { throw error }
                // No program uses an account with a damaged file, and no link stays that its entries could be about.
                try Self.store(learned, in: account)
            }
        }
        let held: HeldLinks
        do throws(IdentityError) {
            held = try StoredAccount.heldLinks(of: identity, beside: list, in: account)
        } catch {
            guard isRotation else { throw error }
            held = HeldLinks()
        }
        let new = try authority.renewedLinks(
            list,
            learned: learned,
            held: held,
            keeping: kept,
            isStolen: isStolen,
            now: now
        )
        if let new { try Self.store(new, of: identity, in: account) }
    }

    /// Stores a list of links, then records its position outside the state directory.
    private static func store(
        _ list: LinkList,
        of identity: SystemIdentity,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        try account.replace(StoredAccount.File.links, StoredAccount.linksFile(list))
        NewestListRecord(.links, of: identity.systemID, in: account)?.raise(to: list.position)
    }

    private static func store(
        _ learned: LearnedLinks,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        try account.replace(StoredAccount.File.learnedLinks, StoredAccount.learnedLinksFile(learned))
    }

    // MARK: What linked accounts sent

    /// Stores what was learned of a linked account: newer root keys, revocation lists, the withdrawal of the link. What
    /// a root key signed that the account has retired is ignored.
    ///
    /// - Returns: Whether anything was new.
    /// - Throws: ``IdentityError/Code/unknownLink`` for another account; ``IdentityError/Code/rejectedCertificate`` if
    ///   the root keys contradict the known ones. Nothing is changed then.
    @discardableResult
    package func learn(_ learned: LearnedLink, now: Date) throws(IdentityError) -> Bool {
        try self.withAccount { (account, stored) throws(IdentityError) in
            let list = try StoredAccount.linkList(of: stored.identity, in: account)
            // The process that verified the notices may still use an account that this system has left.
            guard learned.own == stored.identity.accountID, let link = list?[learned.account], link.withdrawal == nil
            else { throw .unknownLink(learned.account) }
            let isNew = try Self.learn(learned, of: link, in: account, stored.identity, beside: list, now: now) {
                list?[$0].map { $0.withdrawal == nil } ?? false
            }
            if isNew, let authority = try StoredAccount.authority(in: account) {
                try Self.renewLinks(of: stored.identity, by: authority, in: account, now: now)
            }
            return isNew
        }
    }

    /// - Parameters:
    ///   - list: the list of links that is stored; `nil` if there is none.
    ///   - isNewLink: whether the link was made just now. Withdrawals of an earlier link do not concern it.
    ///   - isInForce: whether a link is in force. What was learned of others is dropped, except of links that this
    ///     system held.
    private static func learn(
        _ new: LearnedLink,
        of link: AccountLink,
        in account: borrowing SecretDirectory,
        _ identity: SystemIdentity,
        beside list: LinkList?,
        isNewLink: Bool = false,
        now: Date,
        keeping isInForce: (AccountID) -> Bool
    ) throws(IdentityError) -> Bool {
        var learned = try StoredAccount.learnedLinks(of: identity, in: account)
        learned.keep(isInForce, try StoredAccount.heldLinks(of: identity, beside: list, in: account))
        do throws(TrustError) {
            guard try learned.add(new, of: link, isNewLink: isNewLink, by: identity.accountID, now: now) else {
                return false
            }
        } catch {
            throw IdentityError(.rejectedCertificate, error.message, cause: error)
        }
        try Self.store(learned, in: account)
        return true
    }
}

extension IdentityError {
    static func unknownLink(_ account: AccountID) -> IdentityError {
        IdentityError(
            .unknownLink,
            "This account has no link in force with account \(account.short). Nothing was changed."
        )
    }
}
