// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// Links that a thief of the root key invents, of which none takes the place of a link that existed.
extension StolenRootKeyTests {
    /// The number of a list that the thief signs.
    private static let thiefsNumber = UInt64(noon.timeIntervalSince1970 * 1000) + 1000

    /// A link that never existed, with an account of the thief.
    private func inventedLink(
        with roots: RootChain? = nil,
        receiving received: Grants = Grants(),
        number: UInt64 = Self.thiefsNumber,
        isWithdrawn: Bool = true
    ) throws -> AccountLink {
        let roots = try roots ?? AccountAuthority(creatingAt: noon).roots
        let own = LinkOffer(roots: self.us.roots, revocations: nil, name: "x", granted: Grants(), number: 1)
        let other = LinkOffer(roots: roots, revocations: nil, name: "y", granted: received, number: 1)
        var link = AccountLink(own, with: other, number: number, now: noon)
        if isWithdrawn {
            link.withdraw(by: try self.stolen.withdrawal(of: roots.accountID, number: number))
        }
        return link
    }

    /// Rights whose names take up the given number of bytes in a list, or at most 40 less.
    private func rights(ofBytes bytes: Int) -> Grants {
        let (full, rest) = (bytes - 20).quotientAndRemainder(dividingBy: 257)
        var names = (0..<full).map { "\($0)" + String(repeating: "x", count: 255 - "\($0)".count) }
        if rest > 40 { names.append(String(repeating: "y", count: rest - 2)) }
        return Grants(services: Set(names.prefix(64)), topics: Set(names.dropFirst(64)))
    }

    @Test func `links that a thief invents take no place from the notice of a link that this system remembers`() throws
    {
        try self.link(granting: Grants(services: ["test.volume"]))
        var real = try #require(try self.store.links().list?[self.them.accountID])
        real.withdraw(by: try self.stolen.withdrawal(of: self.them.accountID, number: Self.thiefsNumber))
        var links = [real]
        for _ in 1..<LinkList.maxWithdrawn { links.append(try self.inventedLink()) }
        for _ in 0..<LinkList.maxLinks { links.append(try self.inventedLink(isWithdrawn: false)) }
        let forged = try self.stolen.linkList(of: links, number: Self.thiefsNumber, droppedNumber: 0)
        _ = try self.store.install(links: forged.bytes, now: noon)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let list = try #require(try self.store.links().list)
        #expect(list.links.count == LinkList.maxWithdrawn && list.links.allSatisfy { $0.withdrawal?.root == 2 })
        #expect(list[self.them.accountID] != nil)
    }

    @Test func `long entries that a thief invents take no space from the notice of a link that existed`() throws {
        try self.link(granting: Grants())
        var links = [try #require(try self.store.links().list?[self.them.accountID])]
        for _ in 0..<7 { links.append(try self.inventedLink(receiving: self.rights(ofBytes: 32_500))) }
        let roots = try AccountAuthority(creatingAt: noon).roots
        let base = try self.stolen.linkList(
            of: links + [self.inventedLink(with: roots)],
            number: Self.thiefsNumber,
            droppedNumber: 0
        )
        // The further notice, of 85 bytes with its key, does not fit.
        let rights = self.rights(ofBytes: LinkList.maxBytes - base.bytes.count)
        let forged = try self.stolen.linkList(
            of: links + [self.inventedLink(with: roots, receiving: rights)],
            number: Self.thiefsNumber,
            droppedNumber: 0
        )
        #expect(forged.bytes.count > LinkList.maxBytes - 85)
        _ = try self.store.install(links: forged.bytes, now: noon)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let list = try #require(try self.store.links().list)
        #expect(list.links.count == 8 && list[self.them.accountID]?.withdrawal?.root == 2)
    }

    @Test(arguments: [true, false])
    func `a link that the thief's lists omit gets its notice, before the links that two lists invent`(
        isMadeHere: Bool
    ) throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        // As on another machine with the root key, which got the link in a list.
        if !isMadeHere { try remove(self.store.directory + "/account/held-links.pem") }
        for number in [Self.thiefsNumber, Self.thiefsNumber + 1] {
            let links = try (0..<LinkList.maxLinks).map { _ in
                try self.inventedLink(number: number, isWithdrawn: false)
            }
            // Because of the dropped number, merging the lists drops the entries of the one before.
            let list = try self.stolen.linkList(of: links, number: number, droppedNumber: number - 1)
            let stored = try self.store.install(links: list.bytes, now: noon)
            #expect(stored.list == list && stored[self.them.accountID] == nil)
        }
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let list = try #require(try self.store.links().list)
        let notice = try #require(list[self.them.accountID]?.withdrawal)
        #expect(notice.root == 2 && list.links.count == LinkList.maxWithdrawn)
        // The other account accepts it.
        try self.theirs.store.link(
            self.theirs.store.linkOffer(name: "Bo", granting: Grants(), now: noon),
            with: LinkOffer(roots: self.us.roots, revocations: nil, name: "Ada", granted: Grants(), number: 1),
            now: noon
        )
        let roots = try self.store.identity(now: Self.later).roots
        _ = try self.theirs.store.learn(
            LearnedLink(roots: roots, withdrawal: notice.bytes, of: self.them.accountID),
            now: Self.later
        )
        #expect(try self.theirs.store.links(now: Self.later)[self.us.accountID]?.state == .withdrawnByOther)
    }

    @Test func `links of a thief that this system has learned of come after a link that it held`() throws {
        try self.link(granting: Grants())
        var real = try #require(try self.store.links().list?[self.them.accountID])
        real.withdraw(by: try self.stolen.withdrawal(of: self.them.accountID, number: Self.thiefsNumber))
        let invented = try (0..<LinkList.maxLinks).map { _ in try self.inventedLink(isWithdrawn: false) }
        let forged = try self.stolen.linkList(of: [real] + invented, number: Self.thiefsNumber, droppedNumber: 0)
        _ = try self.store.install(links: forged.bytes, now: noon)
        for link in invented {
            #expect(try self.store.learn(LearnedLink(roots: link.roots, of: self.us.accountID), now: noon))
        }
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.links().list?[self.them.accountID]?.withdrawal?.root == 2)
    }

    @Test func `withdrawals that a thief invents are few, and displace nothing that was learned of a held link`() throws
    {
        try self.link(granting: Grants())
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let present = try #require(try self.store.links().list)
        _ = try machine.store.install(links: present.bytes, now: noon)
        let lost = SystemID.any()
        let revocations = try self.theirs.store.revoke(lost, now: noon).bytes
        _ = try machine.store.learn(
            LearnedLink(roots: self.them.roots, revocations: [revocations], of: self.us.accountID),
            now: noon
        )
        var learned = LearnedLinks()
        var number = Self.thiefsNumber
        for _ in 0..<3 {
            number += 3
            // Withdrawn in one list, and in the next one in force with an earlier change.
            let roots = try (0..<LinkList.maxLinks).map { _ in try AccountAuthority(creatingAt: noon).roots }
            let withdrawn = try self.stolen.linkList(
                of: roots.map { try self.inventedLink(with: $0, number: number) },
                number: number,
                droppedNumber: 0
            )
            let inForce = try self.stolen.linkList(
                of: roots.map { try self.inventedLink(with: $0, number: number - 1, isWithdrawn: false) },
                number: number + 1,
                droppedNumber: 0
            )
            let isKept = learned.keepWithdrawals(
                of: withdrawn,
                lackingIn: inForce,
                by: self.us.accountID,
                holding: HeldLinks()
            )
            #expect(isKept)
            #expect(learned.links.count == LinkList.maxLinks)
            for list in [withdrawn, inForce] { _ = try machine.store.install(links: list.bytes, now: noon) }
        }
        // The owner's next list has the link again.
        let again = try self.stolen.linkList(of: present.links, number: number + 2, droppedNumber: 0)
        let links = try machine.store.install(links: again.bytes, now: noon)
        #expect(links[self.them.accountID]?.revocations?.contains(lost) == true)
    }

    @Test func `held links are bounded, and lists displace none of them`() throws {
        func list(_ number: UInt64) throws -> LinkList {
            let links = try (0..<LinkList.maxLinks).map { _ in
                try self.inventedLink(number: number, isWithdrawn: false)
            }
            return try self.stolen.linkList(of: links, number: number, droppedNumber: 0)
        }
        var held = HeldLinks()
        let lists = try [list(1), list(2), list(3)]
        for list in lists { held.add(inForceIn: list) }
        #expect(held.entries.map(\.account) == (lists[0].links + lists[1].links).map(\.account))
        // A link that the owner makes displaces the newest of a list.
        let (one, other) = (try self.inventedLink(isWithdrawn: false), try self.inventedLink(isWithdrawn: false))
        for link in [one, other, one] { held.add(madeHere: link, signedBy: 2) }
        let accounts = [one.account, other.account] + (lists[0].links + lists[1].links).dropLast(2).map(\.account)
        #expect(held.entries.map(\.account) == accounts)
        #expect(try HeldLinks(held.bytes()) == held && held.root == 2)
        held.remove(one.account)
        #expect(held.index(of: one.account) == nil && held.index(of: other.account) == 0)
    }

    @Test func `a damaged record of held links keeps no stolen key from being replaced`() throws {
        try self.link(granting: Grants())
        let path = self.store.directory + "/account/held-links.pem"
        #expect(FileManager.default.fileExists(atPath: path))
        let isWritten = FileManager.default.createFile(
            atPath: path,
            contents: Data("damaged".utf8),
            attributes: [.posixPermissions: 0o600]
        )
        #expect(isWritten)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.links().list?[self.them.accountID]?.withdrawal?.root == 2)
    }
}
