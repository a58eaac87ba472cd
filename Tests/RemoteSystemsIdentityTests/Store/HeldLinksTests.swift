// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// The record of the links that a system held: what thieves of root keys can do to it, and for how long.
@Suite struct HeldLinksTests {
    private let (ours, theirs): (TemporaryDirectory, TemporaryDirectory)
    private let us: SystemIdentity
    private let them: AccountID
    /// The key that the thief has.
    private let stolen: AccountAuthority
    private static let later = noon.addingTimeInterval(60)

    init() throws {
        self.ours = try TemporaryDirectory()
        self.theirs = try TemporaryDirectory()
        self.us = try self.ours.store.identity(now: noon)
        self.them = try self.theirs.store.identity(now: noon).accountID
        self.stolen = try self.ours.store.authority()
    }

    private var store: AccountStore { self.ours.store }

    private func link(at now: Date = noon) throws {
        let own = try self.store.linkOffer(name: "Ada", granting: Grants(), now: now)
        let other = try self.theirs.store.linkOffer(name: "Bo", granting: Grants(), now: now)
        try self.store.link(own, with: other, now: now)
    }

    private func member() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        _ = try directory.store.adopt(SystemIdentity.member(of: self.stolen, self.us.discoveryKey), now: noon)
        return directory
    }

    /// Accounts that a thief invents, or that were linked once.
    private static func accounts(_ count: Int) throws -> [RootChain] {
        try (0..<count).map { _ in try AccountAuthority(creatingAt: noon).roots }
    }

    /// The number of a list that is newer than those made at a time.
    private static func number(after date: Date) -> UInt64 { UInt64(date.timeIntervalSince1970 * 1000) + 1000 }

    /// A list with these links in force, which drops all others.
    private func list(
        of accounts: [RootChain],
        number: UInt64 = Self.number(after: noon),
        signedBy authority: AccountAuthority? = nil
    ) throws -> LinkList {
        let own = LinkOffer(roots: self.us.roots, revocations: nil, name: "x", granted: Grants(), number: 1)
        let links = accounts.map { roots -> AccountLink in
            let other = LinkOffer(roots: roots, revocations: nil, name: "y", granted: Grants(), number: 1)
            return AccountLink(own, with: other, number: number, now: noon)
        }
        return try (authority ?? self.stolen).linkList(of: links, number: number, droppedNumber: number - 1)
    }

    /// The accounts of a system's record, as they count beside its list.
    private func held(by store: AccountStore) throws -> [AccountID] {
        guard let directory = try SecretDirectory.open(path: store.directory + "/account") else { return [] }
        let identity = try StoredAccount(reading: directory).identity
        let list = try StoredAccount.linkList(of: identity, in: directory)
        return try StoredAccount.heldLinks(of: identity, beside: list, in: directory).entries.map(\.account)
    }

    // MARK: After a theft

    @Test func `what a thief made a member hold counts no longer once it has a list of the new key`() throws {
        try self.link()
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let present = try #require(try self.store.links().list)
        _ = try machine.store.install(links: present.bytes, now: noon)
        let (invented, number) = (try Self.accounts(LinkList.maxLinks), Self.number(after: noon))
        for list in try [self.list(of: invented), self.list(of: invented, number: number + 1)] {
            _ = try machine.store.install(links: list.bytes, now: noon)
        }
        let held = try self.held(by: machine.store)
        #expect(held.first == self.them && Set(held) == Set([self.them] + invented.map(\.accountID)))
        let rotated = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        try machine.store.install(roots: rotated.identity.roots)
        #expect(try self.held(by: machine.store) == held)
        let list = try #require(try self.store.links().list)
        _ = try machine.store.install(links: list.bytes, now: Self.later)
        #expect(try self.held(by: machine.store).isEmpty)
        #expect(try self.held(by: self.store).isEmpty)
        // What is made afterwards counts.
        try self.link(at: Self.later)
        #expect(try self.held(by: self.store) == [self.them])
    }

    @Test func `a link that the owner kept after a theft is first after the next one`() throws {
        try self.link()
        _ = try self.store.rotateRootKey(isStolen: true, keepingLinks: [self.them], now: Self.later)
        let second = try self.store.authority()
        let invented = try Self.accounts(LinkList.maxLinks)
        let number = Self.number(after: Self.later)
        for number in [number, number + 1] {
            let list = try self.list(of: invented, number: number, signedBy: second)
            _ = try self.store.install(links: list.bytes, now: Self.later)
        }
        let held = try self.held(by: self.store)
        #expect(held.first == self.them && held.count == 1 + LinkList.maxLinks)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later.addingTimeInterval(60))
        let list = try #require(try self.store.links().list)
        #expect(list.root == 3 && list[self.them]?.withdrawal?.root == 3)
    }

    @Test func `a machine that gets the new key signs no link of a list that a thief made`() throws {
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        _ = try machine.store.install(links: self.list(of: Self.accounts(1)).bytes, now: noon)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let file = self.ours.path + "/recovery"
        try self.store.exportRecovery(
            to: file,
            passphrase: Array("12345678".utf8),
            factors: RecoveryFile.WorkFactors(logN: 10, r: 1, p: 1)
        )
        _ = try machine.store.importRecovery(from: file, passphrase: Array("12345678".utf8), now: Self.later)
        let list = try #require(try self.store.links().list)
        let links = try machine.store.install(links: list.bytes, now: Self.later)
        #expect(links.list == list && links.linkedAccounts.isEmpty)
    }

    // MARK: The order of notices

    @Test func `a link that a thief omits gets its notice, also if two lists invent the same links`() throws {
        try self.link()
        let (invented, number) = (try Self.accounts(LinkList.maxLinks), Self.number(after: noon))
        for list in try [self.list(of: invented), self.list(of: invented, number: number + 1)] {
            _ = try self.store.install(links: list.bytes, now: noon)
        }
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let list = try #require(try self.store.links().list)
        #expect(list.links.count == LinkList.maxWithdrawn && list[self.them]?.withdrawal?.root == 2)
    }

    @Test(arguments: [5, LinkList.maxLinks])
    func `links that ended long ago leave places for the notices of links in force`(count: Int) throws {
        let ended = try self.list(of: Self.accounts(LinkList.maxLinks))
        let present = try self.list(of: Self.accounts(count), number: Self.number(after: noon) + 1)
        var held = HeldLinks()
        for list in [ended, present] { held.add(inForceIn: list) }
        let next = try self.stolen.successor(retiring: Self.later, now: Self.later)
        let list = try #require(
            try next.renewedLinks(
                present,
                learned: LearnedLinks(),
                held: held,
                isStolen: true,
                now: Self.later
            )
        )
        let notices = Set(list.links.map(\.account))
        #expect(list.links.count == LinkList.maxWithdrawn)
        // Half of them, or all if they are fewer.
        let half = min(count, LinkList.maxWithdrawn / 2)
        #expect(present.links.filter { notices.contains($0.account) }.count == half)
        #expect(ended.links.filter { notices.contains($0.account) }.count == LinkList.maxWithdrawn - half)
    }

    // MARK: The file

    @Test func `a record that others can read is an error, and keeps no stolen key from being replaced`() throws {
        try self.link()
        let forged = try self.list(of: Self.accounts(1))
        let path = self.store.directory + "/account/held-links.pem"
        try setMode(0o644, of: path)
        let before = try self.ours.snapshot()
        #expect(
            code { () throws(IdentityError) in try self.store.unlink(self.them, now: Self.later) } == .permissions
        )
        #expect(
            code { () throws(IdentityError) in try self.store.install(links: forged.bytes, now: noon) } == .permissions
        )
        #expect(try self.ours.snapshot() == before && mode(path) == 0o644)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.links().list?[self.them]?.withdrawal?.root == 2)
    }

    @Test func `a link that the owner withdraws here is in the record until then`() throws {
        try self.link()
        #expect(try self.held(by: self.store) == [self.them])
        try self.store.unlink(self.them, now: Self.later)
        #expect(try self.held(by: self.store).isEmpty)
    }
}
