// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// A thief has the account's root key and signs what he likes. Replacing the key ends all of it.
@Suite struct StolenRootKeyTests {
    private let (ours, theirs): (TemporaryDirectory, TemporaryDirectory)
    private let (us, them): (SystemIdentity, SystemIdentity)
    /// The key that the thief has.
    private let stolen: AccountAuthority
    private static let later = noon.addingTimeInterval(60)

    init() throws {
        self.ours = try TemporaryDirectory()
        self.theirs = try TemporaryDirectory()
        self.us = try self.ours.store.identity(now: noon)
        self.them = try self.theirs.store.identity(now: noon)
        self.stolen = try self.ours.store.authority()
    }

    private var store: AccountStore { self.ours.store }

    private func link(granting grants: Grants) throws {
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

    private func member() throws -> TemporaryDirectory {
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
        let lost = SystemID(of: P256.Signing.PrivateKey().publicKey)
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
            try self.store.revoke(SystemID(of: P256.Signing.PrivateKey().publicKey), now: Self.later).systems.count == 1
        )
    }

    @Test func `systems that were revoked before a theft stay recorded until this machine admits them again`() throws {
        let systems = (0..<3).map { _ in SystemID(of: P256.Signing.PrivateKey().publicKey) }.sorted()
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

    @Test func `a damaged record of formerly revoked systems keeps no stolen key from being replaced`() throws {
        let path = self.store.directory + "/account/formerly-revoked"
        try write("nonsense\n", to: path)
        let system = SystemID(of: P256.Signing.PrivateKey().publicKey)
        _ = try self.store.revoke(system, now: noon)
        #expect(code { () throws(IdentityError) in try self.store.formerlyRevokedSystems() } == .damaged)
        try self.store.recordJoined(system)
        _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        #expect(try self.store.formerlyRevokedSystems() == [system])
    }

    @Test func `a machine with the root key never signs its own revocation`() throws {
        let (own, other) = (self.us.systemID, SystemID(of: P256.Signing.PrivateKey().publicKey))
        let present = try self.store.revoke(other, now: noon)
        let list = try RevocationList(
            number: present.number + 1,
            [own],
            of: self.us.accountID,
            signing: self.stolen.rootKey
        )
        try self.store.install(revocations: list.bytes, now: noon)
        let third = SystemID(of: P256.Signing.PrivateKey().publicKey)
        let signed = try self.store.revoke(third, now: Self.later)
        #expect(Set(signed.systems) == [other, third])
    }
}
