// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// What this system learned of a linked account since the link was made, each part signed by that account.
struct LearnedLink: Sendable, Hashable {
    var roots: RootChain
    var revocations: RevocationList?
    var withdrawal: LinkWithdrawal?

    init(roots: RootChain, revocations: RevocationList? = nil, withdrawal: LinkWithdrawal? = nil) {
        self.roots = roots
        self.revocations = revocations
        self.withdrawal = withdrawal
    }

    /// Adds newer root keys, a newer revocation list and a newer withdrawal.
    ///
    /// - Throws: As ``RootChain/extended(by:)-(RootChain)``. Nothing is changed then.
    mutating func merge(_ other: LearnedLink) throws(TrustError) {
        self.roots = try self.roots.extended(by: other.roots)
        if let list = other.revocations, self.revocations.map({ list.isNewer(than: $0) }) ?? true {
            self.revocations = list
        }
        if let notice = other.withdrawal, self.withdrawal.map({ notice.number > $0.number }) ?? true {
            self.withdrawal = notice
        }
    }

    // MARK: Coding

    private enum Key {
        static let roots = "roots"
        static let revocations = "revocations"
        static let withdrawal = "withdrawal"
    }

    var value: ValueSet {
        var set: ValueSet = [Key.roots: .data(Data(self.roots.bytes))]
        if let revocations { set[Key.revocations] = .data(Data(revocations.bytes)) }
        if let withdrawal { set[Key.withdrawal] = .data(Data(withdrawal.bytes)) }
        return set
    }

    /// Reads and verifies what was learned of a linked account.
    ///
    /// - Parameter own: This system's account, for which the withdrawal must be.
    init(_ value: ValueSet?, of own: AccountID) throws(TrustError) {
        guard let value, let roots = value[Key.roots]?.data else { throw .malformedLinks("has an invalid entry") }
        let chain = try RootChain(Array(roots))
        self.roots = chain
        if let list = value[Key.revocations] {
            self.revocations = try RevocationList(Array(list.data ?? Data()), of: chain)
        }
        if let notice = value[Key.withdrawal] {
            self.withdrawal = try LinkWithdrawal(Array(notice.data ?? Data()), by: chain, of: own)
        }
    }
}

/// What this system learned of all linked accounts, as stored.
struct LearnedLinks: Sendable {
    var links: [AccountID: LearnedLink] = [:]

    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 1024, bytes: 8 << 20)

    init() {}

    /// Reads the file's contents. Each part is verified, because a modified revocation list must not readmit a system.
    init(_ bytes: [UInt8], of own: AccountID) throws(TrustError) {
        guard let map = try? ValueSet(encoded: bytes, limits: Self.limits) else {
            throw .malformedLinks("cannot be read")
        }
        for (_, value) in map {
            let link = try LearnedLink(value.dictionary, of: own)
            self.links[link.roots.accountID] = link
        }
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
    /// Adds what was learned of the linked account. Root keys that conflict with the known ones are ignored, and so is
    /// the withdrawal of an earlier link.
    mutating func add(_ learned: LearnedLink) {
        guard let roots = try? self.roots.extended(by: learned.roots) else { return }
        self.roots = roots
        if let list = learned.revocations, self.revocations.map({ list.isNewer(than: $0) }) ?? true {
            self.revocations = list
        }
        if let notice = learned.withdrawal, notice.number > self.otherNumber { self.withdrawalByOther = notice }
    }
}
