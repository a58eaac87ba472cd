// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// What this system learned of a linked account since the link was made, each part signed by that account.
package struct LearnedLink: Sendable, Hashable {
    var roots: RootChain
    var revocations: RevocationList?
    /// The notice by which the linked account withdrew the link.
    var withdrawal: LinkWithdrawal?
    /// The notice by which this account withdrew the link, from a list of links that a newer one replaced without
    /// taking it over: two machines with the account's root key changed links without knowing of each other.
    var ownWithdrawal: LinkWithdrawal?
    /// The account that the withdrawals are for and by, which was this system's when they were verified.
    let own: AccountID

    package var account: AccountID { self.roots.accountID }

    init(roots: RootChain, revocations: RevocationList? = nil, of own: AccountID) {
        self.roots = roots
        self.revocations = revocations
        self.own = own
    }

    /// Creates what was learned from a system of the linked account.
    ///
    /// - Parameters:
    ///   - lists: Revocation lists of the linked account, which were verified with `roots`.
    ///   - own: This system's account.
    package init(roots: RootChain, verified lists: [RevocationList], of own: AccountID) {
        self.init(roots: roots, revocations: nil as RevocationList?, of: own)
        for list in lists { self.add(list) }
    }

    /// Verifies what a system of the linked account presented.
    ///
    /// - Parameter own: This system's account, which the withdrawal is for.
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    package init(
        roots: RootChain,
        revocations: [[UInt8]] = [],
        withdrawal: [UInt8]? = nil,
        of own: AccountID
    ) throws(TrustError) {
        self.init(roots: roots, revocations: nil as RevocationList?, of: own)
        for list in revocations { try self.add(revocations: list) }
        if let withdrawal { self.withdrawal = try LinkWithdrawal(withdrawal, by: roots, of: own) }
    }

    /// Adds newer root keys, revocations and newer withdrawals. Revocations are only added, so that a list of another
    /// machine with the linked account's root key readmits no system. A list that only has a greater number is ignored:
    /// the linked account could otherwise have each system store and publish any number of lists.
    ///
    /// - Throws: As ``RootChain/extended(by:)-(RootChain)``. Nothing is changed then.
    mutating func merge(_ other: LearnedLink) throws(TrustError) {
        self.roots = try self.roots.extended(by: other.roots)
        if let list = other.revocations, self.revocations?.gains(from: list) ?? true { self.add(list) }
        self.withdrawal = Self.newer(self.withdrawal, other.withdrawal)
        self.ownWithdrawal = Self.newer(self.ownWithdrawal, other.ownWithdrawal)
    }

    private static func newer(_ one: LinkWithdrawal?, _ other: LinkWithdrawal?) -> LinkWithdrawal? {
        guard let one, let other else { return one ?? other }
        return other.position > one.position ? other : one
    }

    /// Drops what a root key signed that the linked account has retired. A thief of that key may have signed it.
    ///
    /// Only for what arrives: what was accepted before the retirement stays.
    ///
    /// - Parameter roots: All known root keys of the linked account.
    mutating func dropRetired(by roots: RootChain, at now: Date) {
        if let list = self.revocations, roots.isRetired(list.root, at: now) { self.revocations = nil }
        if let notice = self.withdrawal, roots.isRetired(notice.root, at: now) { self.withdrawal = nil }
    }

    // MARK: Coding

    private enum Key {
        static let roots = "roots"
        static let revocations = "revocations"
        static let olderRevocations = "older-revocations"
        static let withdrawal = "withdrawal"
        static let ownWithdrawal = "own-withdrawal"
    }

    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 1024, bytes: 1 << 20)

    /// The parts as bytes, for other systems of this account; `nil` if they are too long.
    var encoded: [UInt8]? { try? self.value.encoded(limits: Self.limits) }

    /// Reads and verifies ``encoded``.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    package init(encoded bytes: [UInt8], of own: RootChain) throws(TrustError) {
        try self.init(try? ValueSet(encoded: bytes, limits: Self.limits), of: own)
    }

    var value: ValueSet {
        var set: ValueSet = [Key.roots: .data(Data(self.roots.bytes))]
        if let revocations {
            set[Key.revocations] = .data(Data(revocations.bytes))
            if !revocations.older.isEmpty {
                set[Key.olderRevocations] = .array(revocations.older.map { .data(Data($0.bytes)) })
            }
        }
        if let withdrawal { set[Key.withdrawal] = .data(Data(withdrawal.bytes)) }
        if let ownWithdrawal { set[Key.ownWithdrawal] = .data(Data(ownWithdrawal.bytes)) }
        return set
    }

    /// Reads and verifies what was learned of a linked account.
    ///
    /// - Parameter own: The root keys of this system's account, which the withdrawals are for and by.
    init(_ value: ValueSet?, of own: RootChain) throws(TrustError) {
        guard let value, let roots = value[Key.roots]?.data else { throw .malformedLinks("has an invalid entry") }
        let chain = try RootChain(Array(roots))
        self.init(roots: chain, revocations: nil as RevocationList?, of: own.accountID)
        guard let older = value[Key.olderRevocations].map({ $0.array }) ?? [], older.count <= RevocationList.maxOlder
        else { throw .malformedLinks("has an invalid entry") }
        for list in (value[Key.revocations].map { [$0] } ?? []) + older {
            try self.add(revocations: Array(list.data ?? Data()))
        }
        // A notice that cannot be verified counts as none. It must not make the others unusable.
        if let notice = value[Key.withdrawal]?.data {
            self.withdrawal = try? LinkWithdrawal(Array(notice), by: chain, of: own.accountID)
        }
        if let notice = value[Key.ownWithdrawal]?.data {
            self.ownWithdrawal = try? LinkWithdrawal(Array(notice), by: own, of: chain.accountID)
        }
    }

    /// The linked account that encoded bytes are about, without verifying anything; `nil` if they name none.
    package static func account(ofEncoded bytes: [UInt8]) -> AccountID? {
        let value = try? ValueSet(encoded: bytes, limits: Self.limits)
        return value?[Key.roots]?.data.flatMap { RootChain.account(ofUnverified: Array($0)) }
    }

    /// Adds a revocation list after verifying it.
    private mutating func add(revocations bytes: [UInt8]) throws(TrustError) {
        self.add(try RevocationList(bytes, of: self.roots))
    }

    private mutating func add(_ list: RevocationList) {
        self.revocations = self.revocations?.merging(list) ?? list
    }
}

/// What this system learned of all linked accounts, as stored.
struct LearnedLinks: Sendable {
    var links: [AccountID: LearnedLink] = [:]

    /// Enough for as many links as are kept, with as much as can be learned of each.
    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 4096, bytes: 32 << 20)

    init() {}

    /// Reads the file's contents. Each part is verified, because a modified revocation list must not readmit a system.
    init(_ bytes: [UInt8], of own: RootChain) throws(TrustError) {
        guard let map = try? ValueSet(encoded: bytes, limits: Self.limits) else {
            throw .malformedLinks("cannot be read")
        }
        for (_, value) in map {
            let link = try LearnedLink(value.dictionary, of: own)
            self.links[link.roots.accountID] = link
        }
    }

    /// Adds what was learned of a linked account, without what a root key signed that the account has retired.
    ///
    /// - Parameters:
    ///   - isNewLink: Whether the link was made just now. Withdrawals of an earlier link do not concern it.
    ///   - own: This system's account.
    /// - Returns: Whether anything was new.
    /// - Throws: As ``RootChain/extended(by:)-(RootChain)``. Nothing is changed then.
    mutating func add(
        _ new: LearnedLink,
        of link: AccountLink,
        isNewLink: Bool,
        by own: AccountID,
        now: Date
    ) throws(TrustError) -> Bool {
        let before = self.links[link.account]
        var (updated, new) = (before ?? LearnedLink(roots: link.roots, of: own), new)
        if isNewLink { (updated.withdrawal, updated.ownWithdrawal) = (nil, nil) }
        updated.roots = try link.roots.extended(by: updated.roots)
        new.dropRetired(by: try updated.roots.extended(by: new.roots), at: now)
        try updated.merge(new)
        guard updated != before else { return false }
        self.links[link.account] = updated
        return true
    }

    /// Keeps the notices of links that `present` has withdrawn and `newer` still has in force, until a machine with the
    /// root key signs one list of both.
    ///
    /// - Parameters:
    ///   - own: The account of both lists.
    ///   - held: The links that this system held, to decide what is dropped for the notices.
    /// - Returns: Whether anything was kept.
    mutating func keepWithdrawals(
        of present: LinkList,
        lackingIn newer: LinkList,
        by own: AccountID,
        holding held: HeldLinks
    ) -> Bool {
        var isChanged = false
        for link in newer.links where link.withdrawal == nil {
            guard let notice = present[link.account]?.withdrawal, notice.number > link.number else { continue }
            self.links[link.account, default: LearnedLink(roots: link.roots, of: own)].ownWithdrawal = notice
            isChanged = true
        }
        if isChanged { self.keep({ newer[$0].map { $0.withdrawal == nil } ?? false }, held) }
        return isChanged
    }

    /// Drops what was learned of accounts, except of those with a link in force, and of those whose link this system
    /// held: the list that lacks the link may be a thief's, or another machine's that does not know it. At most
    /// ``HeldLinks/maxCount`` stay, in the order of `held`.
    mutating func keep(_ isInForce: (AccountID) -> Bool, _ held: HeldLinks) {
        var kept = self.links.filter { isInForce($0.key) }
        for entry in held.entries where kept.count < HeldLinks.maxCount {
            kept[entry.account] = self.links[entry.account]
        }
        self.links = kept
    }

    func bytes() throws(IdentityError) -> [UInt8] {
        var map = ValueSet()
        for (account, link) in self.links { map["\(account)"] = .dictionary(link.value) }
        do {
            return try map.encoded(limits: Self.limits)
        } catch {
            throw .invalidLink("What is known of linked accounts is too large to be stored.")
        }
    }
}

extension AccountLink {
    /// Adds what was learned of the linked account. Root keys that conflict with the known ones are ignored, and so are
    /// withdrawals of an earlier link.
    ///
    /// - Parameter own: The root keys of this system's account.
    mutating func add(_ learned: LearnedLink, of own: RootChain, now: Date) {
        guard let roots = try? self.roots.extended(by: learned.roots) else { return }
        self.roots = roots
        if let list = learned.revocations { self.revocations = self.revocations?.merging(list) ?? list }
        if let notice = learned.withdrawal, notice.number > self.otherNumber { self.withdrawalByOther = notice }
        self.withdraw(byLearned: learned.ownWithdrawal, of: own, now: now)
    }

    /// Ends the link if this account's notice is later than its entry. A notice of a retired root key does not count: a
    /// thief of the key may have signed it.
    mutating func withdraw(byLearned notice: LinkWithdrawal?, of own: RootChain, now: Date) {
        guard let notice, notice.number > self.number, !own.isRetired(notice.root, at: now) else { return }
        self.withdraw(by: notice)
    }

    /// Ends the link by a notice of this account.
    mutating func withdraw(by notice: LinkWithdrawal) {
        self.withdrawal = notice
        self.granted = Grants()
        self.number = notice.number
    }
}
