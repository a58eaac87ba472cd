// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// What a system learns of linked accounts, and of withdrawals by another machine with the root key.
extension AccountStoreLinksTests {
    @Test func `a linked account's newer revocations and root keys are kept, and older ones ignored`() throws {
        try self.link()
        let system = SystemID.any()
        let list = try self.theirs.store.revoke(system, now: noon)
        #expect(try self.ours.store.learn(roots: self.them.roots, revocations: [list.bytes]))
        #expect(try !self.ours.store.learn(roots: self.them.roots, revocations: [list.bytes]))
        let next = try self.theirs.store.authority().successor(retiring: noon.addingTimeInterval(day), now: noon)
        #expect(try self.ours.store.learn(roots: next.roots))
        let link = try #require(try self.ours.store.links()[self.them.accountID])
        #expect(link.revocations == list && link.roots.count == 2)
        let stranger = try AccountAuthority(creatingAt: noon)
        let unknown = LearnedLink(roots: stranger.roots, of: self.us.accountID)
        #expect(code { () throws(IdentityError) in try self.ours.store.learn(unknown, now: noon) } == .unknownLink)
        let forged = try stranger.revocationList(of: [system], after: nil, now: noon)
        #expect(throws: TrustError.self) {
            try self.ours.store.learn(roots: self.them.roots, revocations: [forged.bytes])
        }
    }

    @Test func `competing revocation lists of a linked account are both in force`() throws {
        try self.link()
        let (here, there) = (SystemID.any(), SystemID.any())
        let authority = try self.theirs.store.authority()
        let first = try authority.revocationList(of: [here], after: nil, now: noon)
        // Another machine with their root key, which does not know the first list.
        let second = try authority.revocationList(of: [there], after: nil, now: noon.addingTimeInterval(60))
        for order in [[first, second], [second, first]] {
            for list in order { _ = try self.ours.store.learn(roots: self.them.roots, revocations: [list.bytes]) }
            let known = try #require(try self.ours.store.links()[self.them.accountID]?.revocations)
            #expect(known.contains(here) && known.contains(there) && known.allBytes.count == 2)
        }
    }

    @Test func `a linked account's list that only has a greater number is ignored`() throws {
        try self.link()
        let (here, there) = (SystemID.any(), SystemID.any())
        let authority = try self.theirs.store.authority()
        let first = try authority.revocationList(of: [here], after: nil, now: noon)
        let renumbered = try authority.revocationList(of: [here], after: first, now: noon)
        let competing = try authority.revocationList(of: [there], after: renumbered, now: noon)
        let lacking = try authority.revocationList(of: [here], after: competing, now: noon)
        let replacing = try authority.revocationList(of: [here, there], after: lacking, now: noon)
        let next = try authority.successor(retiring: noon.addingTimeInterval(day), now: noon)
        let ofNextKey = try next.revocationList(of: [here], after: replacing, now: noon)
        let steps: [(list: RevocationList, isNew: Bool, known: [RevocationList])] = [
            (first, true, [first]), (renumbered, false, [first]), (competing, true, [competing, first]),
            // It names no system that the two do not name.
            (lacking, false, [competing, first]),
            // One list for two.
            (replacing, true, [replacing]), (first, false, [replacing]),
            (ofNextKey, true, [ofNextKey]), (replacing, false, [ofNextKey]),
        ]
        for (list, isNew, known) in steps {
            let roots = list.root == 2 ? next.roots : self.them.roots
            let hasLearned = try self.ours.store.learn(roots: roots, revocations: [list.bytes])
            let link = try #require(try self.ours.store.links()[self.them.accountID])
            #expect(hasLearned == isNew)
            #expect(link.revocations?.allBytes == known.map(\.bytes))
        }
    }

    @Test func `what one system learned of a linked account, the others of its account learn from it`() throws {
        try self.link()
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let member = machine.store
        _ = try member.install(links: try #require(self.ours.store.links().list).bytes, now: noon)
        let revoked = SystemID.any()
        let list = try self.theirs.store.revoke(revoked, now: noon)
        _ = try self.ours.store.learn(roots: self.them.roots, revocations: [list.bytes])
        let learned = try #require(try self.ours.store.links().learned.first)
        // Only what their root key signed counts, wherever it comes from.
        var changed = learned
        changed[changed.count - 40] ^= 1
        #expect(throws: TrustError.self) { try LearnedLink(encoded: changed, of: self.us.roots) }
        #expect(try member.learn(LearnedLink(encoded: learned, of: self.us.roots), now: noon))
        #expect(try !member.learn(LearnedLink(encoded: learned, of: self.us.roots), now: noon))
        #expect(try member.links()[self.them.accountID]?.revocations?.contains(revoked) == true)
        #expect(try member.links().learned == self.ours.store.links().learned)
    }

    @Test func `a link that one machine with the root key has withdrawn stays so when another one does not know`()
        throws
    {
        try self.link()
        let account = self.them.accountID
        let other = try self.recovered()
        let machine = try self.member()
        defer { withExtendedLifetime((other, machine)) {} }
        let member = machine.store
        _ = try other.store.install(links: try #require(self.ours.store.links().list).bytes, now: noon)
        let withdrawn = try #require(try self.ours.store.unlink(account, now: noon.addingTimeInterval(1)).list)
        // The other one changes another link a moment later.
        let own = try other.store.linkOffer(name: "x", granting: Grants(), now: noon.addingTimeInterval(2))
        try other.store.link(own, with: Self.offer(), now: noon.addingTimeInterval(2))
        let unaware = try #require(try other.store.links().list)
        #expect(unaware[account]?.withdrawal == nil && unaware.isNewer(than: withdrawn))
        _ = try member.install(links: withdrawn.bytes, now: noon.addingTimeInterval(3))
        let links = try member.install(links: unaware.bytes, now: noon.addingTimeInterval(3))
        #expect(links.list == unaware && links[account]?.state == .withdrawn && links[account]?.linkedAccount == nil)
        #expect(links[account]?.granted == Grants())
        // The other machine learns it from the member, and signs it with its next change.
        let learned = try #require(links.learned.first)
        _ = try other.store.learn(LearnedLink(encoded: learned, of: self.us.roots), now: noon)
        #expect(try other.store.links()[account]?.state == .withdrawn)
        let next = try other.store.linkOffer(name: "y", granting: Grants(), now: noon.addingTimeInterval(4))
        try other.store.link(next, with: Self.offer(), now: noon.addingTimeInterval(4))
        #expect(try other.store.links().list?[account]?.state == .withdrawn)
        // A link that is made again is in force everywhere.
        let again = try self.link(at: noon.addingTimeInterval(60)).ours
        let list = try #require(try self.ours.store.links().list)
        #expect(again.state == .active)
        #expect(try member.install(links: list.bytes, now: noon.addingTimeInterval(60))[account]?.state == .active)
    }

    @Test func `a withdrawn link that the list has dropped does not come back from an older list`() throws {
        try self.link()
        let old = try #require(try self.ours.store.links().list)
        try self.ours.store.unlink(self.them.accountID, now: noon.addingTimeInterval(1))
        for index in 0..<LinkList.maxWithdrawn {
            let now = noon.addingTimeInterval(Double(2 + index))
            let offer = try Self.offer()
            let own = try self.ours.store.linkOffer(name: "x", granting: Grants(), now: now)
            try self.ours.store.link(own, with: offer, now: now)
            try self.ours.store.unlink(offer.account, now: now)
        }
        let list = try #require(try self.ours.store.links().list)
        #expect(list[self.them.accountID] == nil && list.droppedNumber > 0)
        #expect(try LinkList(list.bytes, of: self.us.roots) == list)
        #expect(try #require(old[self.them.accountID]).number <= list.droppedNumber)
        let after = try self.ours.store.install(links: old.bytes, now: noon.addingTimeInterval(60))
        #expect(after.list == list && after[self.them.accountID] == nil)
        // A link that is made again counts.
        #expect(try self.link(at: noon.addingTimeInterval(120)).ours.state == .active)
        #expect(try self.ours.store.links().list?.droppedNumber ?? 0 >= list.droppedNumber)
    }

    @Test func `a withdrawal that was accepted stays when the other account retires the key that signed it`() throws {
        try self.link()
        let notice = try #require(
            try self.theirs.store.unlink(self.us.accountID, now: noon)[self.us.accountID]?.withdrawal
        )
        _ = try self.ours.store.learn(roots: self.them.roots, withdrawal: notice.bytes)
        let rotated = try self.theirs.store.rotateRootKey(isStolen: false, now: noon)
        let later = noon.addingTimeInterval(100 * day)
        _ = try self.ours.store.learn(LearnedLink(roots: rotated.identity.roots, of: self.us.accountID), now: later)
        #expect(try self.ours.store.links(now: later)[self.them.accountID]?.state == .withdrawnByOther)
        // Their new key has signed the notice again, for systems that did not get it before.
        let again = try #require(try self.theirs.store.links(now: noon).list?[self.us.accountID]?.withdrawal)
        #expect(again.root == 2)
    }

    @Test func `what a process of an earlier account learned is not stored in the present one`() throws {
        try self.link()
        let earlier = try AccountAuthority(creatingAt: noon).accountID
        let learned = LearnedLink(roots: self.them.roots, of: earlier)
        #expect(code { () throws(IdentityError) in try self.ours.store.learn(learned, now: noon) } == .unknownLink)
    }

    @Test func `a notice of a retired root key, or with a number that leaves no next one, ends no link`() throws {
        try self.link()
        let stolen = try self.theirs.store.authority()
        let rotated = try self.theirs.store.rotateRootKey(
            isStolen: true,
            keepingLinks: [self.us.accountID],
            now: noon.addingTimeInterval(10)
        )
        let roots = rotated.identity.roots
        let notice = try stolen.withdrawal(of: self.us.accountID, number: LinkList.maxNumber)
        let now = noon.addingTimeInterval(11)
        _ = try self.ours.store.learn(
            LearnedLink(roots: roots, withdrawal: notice.bytes, of: self.us.accountID),
            now: now
        )
        #expect(try self.ours.store.links()[self.them.accountID]?.state == .active)
        let endless = try stolen.withdrawal(of: self.us.accountID, number: LinkList.maxNumber + 1)
        #expect(throws: TrustError.self) {
            try LearnedLink(roots: self.them.roots, withdrawal: endless.bytes, of: self.us.accountID)
        }
        // That of the new key does.
        let proper = try #require(
            try self.theirs.store.unlink(self.us.accountID, now: now)[self.us.accountID]?.withdrawal
        )
        _ = try self.ours.store.learn(
            LearnedLink(roots: roots, withdrawal: proper.bytes, of: self.us.accountID),
            now: now
        )
        #expect(try self.ours.store.links()[self.them.accountID]?.state == .withdrawnByOther)
    }

}

extension AccountStore {
    /// Learns what a system of a linked account presented.
    func learn(
        roots: RootChain,
        revocations: [[UInt8]] = [],
        withdrawal: [UInt8]? = nil
    ) throws -> Bool {
        let own = try self.identity(now: noon).accountID
        let learned = try LearnedLink(roots: roots, revocations: revocations, withdrawal: withdrawal, of: own)
        return try self.learn(learned, now: noon)
    }
}
