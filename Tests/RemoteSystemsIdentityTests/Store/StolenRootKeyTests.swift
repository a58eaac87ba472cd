// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// A thief has the account's root key and signs what he likes. Replacing the key ends all of it. What the thief invents
/// about links is in `InventedLinksTests.swift`.
@Suite struct StolenRootKeyTests {
    let (ours, theirs): (TemporaryDirectory, TemporaryDirectory)
    let (us, them): (SystemIdentity, SystemIdentity)
    /// The key that the thief has.
    let stolen: AccountAuthority
    static let later = noon.addingTimeInterval(60)

    init() throws {
        self.ours = try TemporaryDirectory()
        self.theirs = try TemporaryDirectory()
        self.us = try self.ours.store.identity(now: noon)
        self.them = try self.theirs.store.identity(now: noon)
        self.stolen = try self.ours.store.authority()
    }

    var store: AccountStore { self.ours.store }

    func link(granting grants: Grants) throws {
        let own = try self.store.linkOffer(name: "Ada", granting: grants, now: noon)
        let other = try self.theirs.store.linkOffer(name: "Bo", granting: Grants(), now: noon)
        try self.store.link(own, with: other, now: noon)
    }

    /// The list in force with a link that the thief has made, and with all services granted to the other account.
    private func thiefsList(number: UInt64) throws -> LinkList {
        let thief = try AccountAuthority(creatingAt: noon)
        let everything = Grants(services: ["test.files"])
        let own = LinkOffer(roots: self.us.roots, revocations: nil, name: "x", granted: everything, number: 1)
        let other = LinkOffer(roots: thief.roots, revocations: nil, name: "y", granted: Grants(), number: 1)
        var links = try self.store.links().list?.links ?? []
        for index in links.indices {
            links[index].granted = everything
            links[index].number = number
        }
        links.append(AccountLink(own, with: other, number: number, now: noon))
        return try self.stolen.linkList(of: links, number: number, droppedNumber: 0)
    }

    func member() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        _ = try directory.store.adopt(SystemIdentity.member(of: self.stolen, self.us.discoveryKey), now: noon)
        return directory
    }

    @Test func `links that a thief made, and rights that a thief widened, end with the stolen key`() throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        let forged = try self.thiefsList(number: UInt64(noon.timeIntervalSince1970 * 1000) + 1000)
        _ = try self.store.install(links: forged.bytes, now: noon)
        #expect(try self.store.links().linkedAccounts.count == 2)
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        _ = try machine.store.install(links: forged.bytes, now: noon)
        let rotated = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let list = try #require(try self.store.links().list)
        // Each gets a notice of the new key, so that the other accounts learn of it.
        #expect(list.root == 2 && list.links.count == 2 && list.links.allSatisfy { $0.withdrawal?.root == 2 })
        // Other systems do not use the thief's list once they know the new key, replace it, and take no further one.
        try machine.store.install(roots: rotated.identity.roots)
        #expect(try machine.store.links(now: Self.later).linkedAccounts.isEmpty)
        _ = try machine.store.install(links: list.bytes, now: Self.later)
        #expect(try machine.store.links().linkedAccounts.isEmpty)
        let again = try self.thiefsList(number: LinkList.maxNumber)
        for store in [self.store, machine.store] {
            #expect(
                code { () throws(IdentityError) in try store.install(links: again.bytes, now: Self.later) }
                    == .rejectedCertificate
            )
        }
    }

    @Test func `a stolen key ends what earlier keys signed, too, so that no revoked system returns`() throws {
        let revoked = try SystemIdentity.member(of: self.stolen, self.us.discoveryKey)
        _ = try self.store.revoke(revoked.systemID, now: noon)
        _ = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        #expect(try self.store.revocations()?.systems == [revoked.systemID])
        let now = Self.later.addingTimeInterval(60)
        let identity = try self.store.rotateRootKey(isStolen: true, now: now).identity
        #expect(try self.store.revocations()?.systems.isEmpty == true)
        #expect(identity.roots.retirement(of: 1) == now && identity.roots.retirement(of: 2) == now)
        let error = #expect(throws: TrustError.self) {
            try identity.trustStore().authenticate(peerCertificate: revoked.certificate, now: now)
        }
        #expect(error?.code == .retiredRoot)
        // A system that reads the chain comes to the same result.
        #expect(try RootChain(identity.roots.bytes).retirement(of: 1) == now)
    }

    @Test func `an ordinary replacement keeps a withdrawal that another machine made, and signs its notice`() throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        let present = try #require(try self.store.links().list)
        // The other machine's withdrawal, which this one has learned beside its own list.
        let notice = try self.stolen.withdrawal(of: self.them.accountID, number: present.number + 1)
        var learned = LearnedLink(roots: self.them.roots, of: self.us.accountID)
        learned.ownWithdrawal = notice
        _ = try self.store.learn(learned, now: noon)
        #expect(try self.store.links(now: noon).linkedAccounts.isEmpty)
        _ = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        let list = try #require(try self.store.links(now: Self.later).list)
        #expect(list[self.them.accountID]?.withdrawal?.root == 2)
        #expect(try self.store.links(now: Self.later).linkedAccounts.isEmpty)
    }

    @Test func `a withdrawal that is learned after an ordinary replacement is signed at once, and lasts`() throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        let notice = try self.stolen.withdrawal(
            of: self.them.accountID,
            number: try #require(try self.store.links().list).number + 1
        )
        _ = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        var learned = LearnedLink(roots: self.them.roots, of: self.us.accountID)
        learned.ownWithdrawal = notice
        _ = try self.store.learn(learned, now: Self.later)
        let end = Self.later.addingTimeInterval(100 * day)
        #expect(try self.store.links(now: end).list?[self.them.accountID]?.withdrawal?.root == 2)
        #expect(try self.store.links(now: end).linkedAccounts.isEmpty)
    }

    @Test func `links that arrive after an ordinary replacement are signed by the new key, and last`() throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        let list = try #require(try self.store.links().list)
        try remove(self.store.directory + "/account/links.pem")
        _ = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        #expect(try self.store.links(now: Self.later).list == nil)
        _ = try self.store.install(links: list.bytes, now: Self.later)
        let end = Self.later.addingTimeInterval(100 * day)
        #expect(try self.store.links(now: end).list?.root == 2)
        #expect(try self.store.links(now: end).linkedAccounts.count == 1)
    }

    @Test func `an ordinary replacement does not make an old withdrawal later than a new link`() throws {
        try self.link(granting: Grants())
        let withdrawn = try #require(
            try self.store.unlink(self.them.accountID, now: noon.addingTimeInterval(1))[self.them.accountID]
        )
        _ = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        let renewed = try #require(try self.store.links(now: Self.later).list?[self.them.accountID])
        #expect(renewed.withdrawal?.root == 2 && renewed.number == withdrawn.number)
        #expect(renewed.withdrawal?.number == withdrawn.number)
    }

    @Test func `a list that a thief has filled does not keep the stolen key from being replaced`() throws {
        let offers = try (0..<LinkList.maxLinks).map { _ in
            let roots = try AccountAuthority(creatingAt: noon).roots
            let names = Set((0..<64).map { "\($0)" + String(repeating: "x", count: 150) })
            return LinkOffer(
                roots: roots,
                revocations: nil,
                name: "x",
                granted: Grants(services: names),
                number: 1
            )
        }
        let own = LinkOffer(roots: self.us.roots, revocations: nil, name: "x", granted: Grants(), number: 1)
        var links = offers.map { AccountLink(own, with: $0, number: 5, now: noon) }
        // As many as fit.
        var list: LinkList?
        while list == nil {
            list = try? self.stolen.linkList(of: links, number: 5, droppedNumber: 0)
            if list == nil { links.removeLast() }
        }
        _ = try self.store.install(links: #require(list).bytes, now: noon)
        let rotated = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(rotated.identity.root == 2)
        #expect(try self.store.links(now: Self.later).linkedAccounts.isEmpty)
        #expect(try self.store.identity(now: Self.later).root == 2)
    }

    @Test func `an ordinary replacement on a machine without links signs no empty list`() throws {
        _ = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        #expect(try self.store.links(now: Self.later).list == nil)
    }

    @Test func `only links that the person names stay, and an unknown one is an error before anything changes`() throws
    {
        let granted = Grants(services: ["test.volume"])
        try self.link(granting: granted)
        let before = try self.ours.snapshot()
        #expect(
            code { () throws(IdentityError) in
                try self.store.rotateRootKey(isStolen: true, keepingLinks: [self.us.accountID], now: Self.later)
            } == .unknownLink
        )
        #expect(try self.ours.snapshot() == before)
        _ = try self.store.rotateRootKey(isStolen: true, keepingLinks: [self.them.accountID], now: Self.later)
        #expect(try self.store.links().linkedAccounts.map(\.grants) == [granted])
        #expect(try self.store.unlink(self.them.accountID, now: Self.later).linkedAccounts.isEmpty)
    }

    @Test(arguments: ["links.pem", "learned-links.pem"])
    func `a damaged file of links does not keep a stolen key from being replaced, unless a link is to stay`(
        name: String
    ) throws {
        try self.link(granting: Grants())
        let file = self.store.directory + "/account/" + name
        try write("-----BEGIN REMOTE", to: file)
        let before = try self.ours.snapshot()
        for (isStolen, kept) in [(false, []), (true, [self.them.accountID])] as [(Bool, Set<AccountID>)] {
            let error = #expect(throws: IdentityError.self) {
                try self.store.rotateRootKey(isStolen: isStolen, keepingLinks: kept, now: Self.later)
            }
            #expect(error?.code == .damaged && error?.message.contains("move it away") == true)
            #expect(error?.message.contains("new identity") == false)
        }
        #expect(try self.ours.snapshot() == before)
        #expect(try self.store.rotateRootKey(isStolen: true, now: Self.later).identity.root == 2)
        // The other account gets its notice all the same, and the account can be used.
        let list = try #require(try self.store.links(now: Self.later).list)
        #expect(list[self.them.accountID]?.withdrawal?.root == 2)
    }

    @Test(arguments: [["learned-links.pem"], ["links.pem", "learned-links.pem"]])
    func `a damaged file of what was learned without a usable list does not make the account unusable, either`(
        damaged: [String]
    ) throws {
        let directory = self.store.directory + "/account/"
        for name in damaged { try write("-----BEGIN REMOTE", to: directory + name) }
        #expect(code { () throws(IdentityError) in try self.store.links() } == .damaged)
        #expect(try self.store.rotateRootKey(isStolen: true, now: Self.later).identity.root == 2)
        #expect(try self.store.links(now: Self.later).linkedAccounts.isEmpty)
    }

    @Test func `members get a list of the new key even if this machine never had one`() throws {
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        _ = try machine.store.install(links: self.thiefsList(number: 5).bytes, now: noon)
        let rotated = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        try machine.store.install(roots: rotated.identity.roots)
        let list = try #require(try self.store.links().list)
        #expect(try machine.store.install(links: list.bytes, now: Self.later).linkedAccounts.isEmpty)
    }

    @Test
    func `the greatest number of a list of links neither keeps links from ending nor the key from being replaced`()
        throws
    {
        try self.link(granting: Grants(services: ["test.volume"]))
        #expect(
            code { () throws(IdentityError) in
                try self.store.install(links: self.thiefsListBytes(number: LinkList.maxNumber + 1), now: noon)
            } == .rejectedCertificate
        )
        _ = try self.store.install(links: self.thiefsListBytes(number: LinkList.maxNumber), now: noon)
        let error = #expect(throws: IdentityError.self) { try self.store.unlink(self.them.accountID, now: noon) }
        #expect(error?.code == .invalidLink && error?.message.contains("--stolen") == true)
        let rotated = try self.store.rotateRootKey(
            isStolen: true,
            keepingLinks: [self.them.accountID],
            now: Self.later
        )
        #expect(rotated.identity.root == 2 && rotated.identity.isAuthority)
        #expect(try self.store.identity(now: Self.later).root == 2)
        #expect(try self.store.unlink(self.them.accountID, now: Self.later).linkedAccounts.isEmpty)
    }

    private func thiefsListBytes(number: UInt64) throws(IdentityError) -> [UInt8] {
        do {
            return try self.thiefsList(number: number).bytes
        } catch {
            throw (error as? IdentityError) ?? IdentityError(.inputOutput, "\(error)")
        }
    }

    @Test func `an ordinary replacement succeeds after the greatest number, too, and keeps the links`() throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        _ = try self.store.install(links: self.thiefsListBytes(number: LinkList.maxNumber), now: noon)
        let rotated = try self.store.rotateRootKey(isStolen: false, now: Self.later)
        #expect(rotated.identity.root == 2)
        #expect(try self.store.links().linkedAccounts.count == 2)
        #expect(try self.store.unlink(self.them.accountID, now: Self.later).linkedAccounts.count == 1)
    }

    @Test func `a thief can neither revoke the owner's machine nor fill the list for good`() throws {
        let own = self.us.systemID
        var systems = Set(
            (0..<RevocationList.maxSystems - 1).map { index in
                SystemID(bytes: (0..<32).map { UInt8(truncatingIfNeeded: index >> (8 * ($0 % 2))) ^ UInt8($0) }[...])
            }.compactMap(\.self)
        )
        systems.insert(own)
        let list = try RevocationList(
            number: UInt64(noon.timeIntervalSince1970 * 1000) + 1000,
            systems,
            of: self.us.accountID,
            signing: self.stolen.rootKey
        )
        try self.store.install(revocations: list.bytes, now: noon)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let new = try #require(try self.store.revocations())
        #expect(new.root == 2 && new.allSystems.isEmpty)
        let formerly = try self.store.formerlyRevokedSystems()
        #expect(formerly.count == RevocationList.maxSystems - 1 && !formerly.contains(own))
        #expect(
            try self.store.revoke(SystemID.any(), now: Self.later).systems.count == 1
        )
    }

    @Test func `systems that were revoked before a theft stay recorded until this machine admits them again`() throws {
        let systems = (0..<3).map { _ in SystemID.any() }.sorted()
        // The one that joined here comes first, before any that a thief can have invented.
        let (first, second, joined) = (systems[0], systems[1], systems[2])
        try self.store.recordJoined(joined)
        for system in systems { _ = try self.store.revoke(system, now: noon) }
        _ = try self.store.rotateRootKey(isStolen: false, now: noon)
        #expect(try self.store.formerlyRevokedSystems().isEmpty)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.revocations()?.allSystems == [])
        #expect(try self.store.formerlyRevokedSystems() == [joined, first, second])
        try self.store.recordJoined(joined)
        #expect(try self.store.formerlyRevokedSystems() == [first, second])
        // A later theft adds to them.
        _ = try self.store.revoke(joined, now: Self.later)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.formerlyRevokedSystems() == [joined, first, second])
    }

    @Test func `a stolen key can be replaced although the record of formerly revoked systems is damaged`() throws {
        let path = self.store.directory + "/account/formerly-revoked"
        try write("nonsense\n", to: path)
        let system = SystemID.any()
        _ = try self.store.revoke(system, now: noon)
        #expect(try self.store.formerlyRevokedSystems().isEmpty)
        #expect(try self.store.damagedRecords() == [path])
        try self.store.recordJoined(system)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.formerlyRevokedSystems() == [system])
    }

    @Test func `a lost or older record of formerly revoked systems is reported, and a shorter one after admission not`()
        throws
    {
        let path = self.store.directory + "/account/formerly-revoked"
        let systems = (0..<3).map { _ in SystemID.any() }.sorted()
        for system in systems { _ = try self.store.revoke(system, now: noon) }
        #expect(try self.store.lostFormerlyRevoked() == nil)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        let all = try String(contentsOfFile: path, encoding: .utf8)
        #expect(try self.store.lostFormerlyRevoked() == nil)
        try self.store.recordJoined(systems[0])
        #expect(try self.store.lostFormerlyRevoked() == nil)
        try write("\(systems[1])\n", to: path)
        #expect(try self.store.lostFormerlyRevoked() == path)
        try write(all, to: path)
        #expect(try self.store.lostFormerlyRevoked() == nil)
        try remove(path)
        #expect(try self.store.lostFormerlyRevoked() == path)
        // The account can be used, and a further theft does not hide the loss, even if as many systems were revoked.
        let others = (0..<3).map { _ in SystemID.any() }.sorted()
        for system in others { _ = try self.store.revoke(system, now: Self.later) }
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.formerlyRevokedSystems() == others)
        #expect(try self.store.lostFormerlyRevoked() == path)
    }

    @Test func `a machine with the root key never signs its own revocation`() throws {
        let (own, other) = (self.us.systemID, SystemID.any())
        let present = try self.store.revoke(other, now: noon)
        let list = try RevocationList(
            number: present.number + 1,
            [own],
            of: self.us.accountID,
            signing: self.stolen.rootKey
        )
        try self.store.install(revocations: list.bytes, now: noon)
        let third = SystemID.any()
        let signed = try self.store.revoke(third, now: Self.later)
        #expect(Set(signed.systems) == [other, third])
    }
}
