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
                _ = try Self.learn(sent, of: link, in: account, stored.identity, isNewLink: true, now: now) {
                    links[$0].map { $0.withdrawal == nil } ?? false
                }
            }
            if let new { try Self.store(new, in: account) }
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
            if let present, let authority = try StoredAccount.authority(in: account) {
                let (older, newer) = list.isNewer(than: present) ? (present, list) : (list, present)
                let merged = newer.merged(with: older)
                if Set(merged) != Set(newer.links) {
                    let new = try authority.linkList(
                        of: merged,
                        number: authority.nextNumber(after: newer, now: now),
                        droppedNumber: max(older.droppedNumber, newer.droppedNumber)
                    )
                    try Self.store(new, in: account)
                    return try StoredAccount.links(of: stored.identity, in: account, now: now)
                }
            }
            if present.map({ list.isNewer(than: $0) }) ?? true {
                // Before the list that lacks them: a crash between the two files loses no withdrawal.
                if let present { try Self.keepWithdrawals(of: present, lackingIn: list, stored.identity, in: account) }
                try Self.store(list, in: account)
            }
            if let authority = try StoredAccount.authority(in: account) {
                try Self.renewLinks(of: stored.identity, by: authority, in: account, now: now)
            }
            return try StoredAccount.links(of: stored.identity, in: account, now: now)
        }
    }

    /// Keeps the notices of links that `present` has withdrawn and `newer` still has in force, until a machine with the
    /// root key signs one list of both.
    private static func keepWithdrawals(
        of present: LinkList,
        lackingIn newer: LinkList,
        _ identity: SystemIdentity,
        in account: borrowing SecretDirectory
    ) throws(IdentityError) {
        var learned = try StoredAccount.learnedLinks(of: identity, in: account)
        var isChanged = false
        for link in newer.links where link.withdrawal == nil {
            guard let notice = present[link.account]?.withdrawal, notice.number > link.number else { continue }
            let known = LearnedLink(roots: link.roots, of: identity.accountID)
            learned.links[link.account, default: known].ownWithdrawal = notice
            isChanged = true
        }
        guard isChanged else { return }
        try account.replace(StoredAccount.File.learnedLinks, StoredAccount.learnedLinksFile(learned))
    }

    /// Signs the list of links with the account's newest root key, if an older one signed it, and takes over
    /// withdrawals that another machine with the root key made. The new key signs their notices again, since the other
    /// accounts refuse those of a retired key.
    ///
    /// If the older key was stolen, the links in the list end: a thief may have made some, or widened their rights.
    ///
    /// - Parameters:
    ///   - kept: The accounts whose links stay all the same.
    ///   - wasStolen: Whether the key was replaced just now, because it was stolen.
    static func renewLinks(
        of identity: SystemIdentity,
        by authority: AccountAuthority,
        keeping kept: Set<AccountID> = [],
        isStolen wasStolen: Bool = false,
        in account: borrowing SecretDirectory,
        now: Date
    ) throws(IdentityError) {
        let (own, newest) = (TrustedAccount(roots: authority.roots), authority.roots.count)
        guard let list = try StoredAccount.linkList(of: identity, in: account) else {
            // Other systems may have a list that a thief of the replaced key made, although this one has none. Without
            // a theft, an empty list would end the links that they have.
            guard wasStolen else { return }
            let number = try authority.nextNumber(after: nil, now: now)
            return try Self.store(authority.linkList(of: [], number: number, droppedNumber: 0), in: account)
        }
        let learned = try StoredAccount.learnedLinks(of: identity, in: account)
        var links = list.links
        for index in links.indices {
            links[index].withdraw(byLearned: learned.links[links[index].account]?.ownWithdrawal, of: own, now: now)
        }
        guard list.root < newest || links != list.links else { return }
        let isStolen = list.root < newest && authority.roots.isStolen(list.root)
        // Numbers of the replaced key count, unless the key is stolen, or they are so great that the next one would not
        // be reached in ten years.
        let clock = try authority.nextNumber(after: list, now: now)
        let numbers = isStolen ? [] : links.map(\.number).filter { $0 < clock + Self.numbersOfTenYears }
        let number = max(clock, (numbers.max() ?? 0) + 1)
        for index in links.indices {
            let isInForce = links[index].withdrawal == nil
            links[index].number = isStolen ? (isInForce ? number : number - 1) : min(links[index].number, number)
            guard isInForce ? isStolen && !kept.contains(links[index].account) : links[index].withdrawal?.root != newest
            else { continue }
            let notice = try authority.withdrawal(of: links[index].account, number: links[index].number)
            links[index].withdraw(by: notice)
        }
        let droppedNumber = isStolen ? 0 : min(list.droppedNumber, number)
        let new: LinkList
        do throws(IdentityError) {
            new = try authority.linkList(of: links, number: number, droppedNumber: droppedNumber)
        } catch {
            // A thief may have filled the list, so that there is no space for the notices.
            guard isStolen, error.code == .tooManyLinks else { throw error }
            new = try authority.linkList(
                of: links.filter { $0.withdrawal == nil },
                number: number,
                droppedNumber: droppedNumber
            )
        }
        try Self.store(new, in: account)
    }

    /// The numbers that the clock passes in ten years (``AccountAuthority/nextNumber(after:now:)``).
    private static let numbersOfTenYears: UInt64 = 10 * 366 * 24 * 3600 * 1000

    private static func store(_ list: LinkList, in account: borrowing SecretDirectory) throws(IdentityError) {
        try account.replace(StoredAccount.File.links, StoredAccount.linksFile(list))
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
            let isNew = try Self.learn(learned, of: link, in: account, stored.identity, now: now) {
                list?[$0].map { $0.withdrawal == nil } ?? false
            }
            if isNew, let authority = try StoredAccount.authority(in: account) {
                try Self.renewLinks(of: stored.identity, by: authority, in: account, now: now)
            }
            return isNew
        }
    }

    /// - Parameters:
    ///   - isNewLink: whether the link was made just now. Withdrawals of an earlier link do not concern it.
    ///   - isInForce: whether a link is in force. What was learned of others is dropped.
    private static func learn(
        _ new: LearnedLink,
        of link: AccountLink,
        in account: borrowing SecretDirectory,
        _ identity: SystemIdentity,
        isNewLink: Bool = false,
        now: Date,
        keeping isInForce: (AccountID) -> Bool
    ) throws(IdentityError) -> Bool {
        var learned = try StoredAccount.learnedLinks(of: identity, in: account)
        learned.links = learned.links.filter { isInForce($0.key) }
        let before = learned.links[link.account]
        var (updated, new) = (before ?? LearnedLink(roots: link.roots, of: identity.accountID), new)
        if isNewLink { (updated.withdrawal, updated.ownWithdrawal) = (nil, nil) }
        do throws(TrustError) {
            updated.roots = try link.roots.extended(by: updated.roots)
            new.dropRetired(by: try updated.roots.extended(by: new.roots), at: now)
            try updated.merge(new)
        } catch {
            throw IdentityError(.rejectedCertificate, error.message, cause: error)
        }
        guard updated != before else { return false }
        learned.links[link.account] = updated
        try account.replace(StoredAccount.File.learnedLinks, StoredAccount.learnedLinksFile(learned))
        return true
    }
}

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
            of: TrustedAccount(roots: identity.roots),
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
    static func unknownLink(_ account: AccountID) -> IdentityError {
        IdentityError(
            .unknownLink,
            "This account has no link in force with account \(account.short). Nothing was changed."
        )
    }

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
