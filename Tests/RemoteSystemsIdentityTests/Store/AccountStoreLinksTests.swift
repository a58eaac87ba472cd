// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing
import ValueSets

@testable import RemoteSystemsIdentity

/// Links with other accounts: made by two stores, signed, changed, withdrawn, and never replaced by an older list.
@Suite struct AccountStoreLinksTests {
    let (ours, theirs): (TemporaryDirectory, TemporaryDirectory)
    let (us, them): (SystemIdentity, SystemIdentity)
    let granted = Grants(services: ["test.volume"], uriSchemes: ["https"], end: noon.addingTimeInterval(7 * day))

    init() throws {
        self.ours = try TemporaryDirectory()
        self.theirs = try TemporaryDirectory()
        self.us = try self.ours.store.identity(now: noon)
        self.them = try self.theirs.store.identity(now: noon)
    }

    /// Links the two accounts, each with what the other sent.
    @discardableResult
    private func link(at now: Date = noon) throws -> (ours: AccountLink, theirs: AccountLink) {
        let own = try self.ours.store.linkOffer(name: "Ada's machines", granting: self.granted, now: now)
        let other = try self.theirs.store.linkOffer(name: "Bo", granting: Grants(), now: now)
        return (
            try self.ours.store.link(own, with: LinkOffer(encoded: other.encoded()), now: now),
            try self.theirs.store.link(other, with: LinkOffer(encoded: own.encoded()), now: now)
        )
    }

    /// Another machine of our account, with or without its root key.
    private func member() throws -> TemporaryDirectory {
        let key = P256.Signing.PrivateKey()
        let authority = try self.ours.store.authority()
        let joined = try SystemIdentity(
            rootCertificate: authority.rootCertificate,
            certificate: authority.issueCertificate(for: key.publicKey, now: noon),
            systemKey: key,
            discoveryKey: self.us.discoveryKey,
            isAuthority: false
        )
        let directory = try TemporaryDirectory()
        _ = try directory.store.adopt(joined, now: noon)
        return directory
    }

    @Test func `two accounts are linked by what each sends to the other`() throws {
        #expect(try self.ours.store.links().links.isEmpty)
        let (ours, theirs) = try self.link()
        #expect(ours.account == self.them.accountID && theirs.account == self.us.accountID)
        #expect(ours.name == "Bo" && theirs.name == "Ada's machines")
        #expect(ours.granted == self.granted && theirs.received == self.granted)
        #expect(ours.received == Grants() && theirs.granted == Grants())
        #expect(ours.state == .active && ours.created == noon)
        // Only the two accounts share the key, and it is not the discovery key of either.
        #expect(ours.discoveryKey == theirs.discoveryKey)
        #expect(![self.us.discoveryKey, self.them.discoveryKey].contains(ours.discoveryKey))
        #expect(try self.ours.store.links().links == [ours])
        #expect(try self.ours.store.links()[self.them.accountID]?.linkedAccount?.grants == self.granted)
    }

    @Test func `linking again replaces the link and its key`() throws {
        let first = try self.link().ours
        let second = try self.link(at: noon.addingTimeInterval(60)).ours
        #expect(try self.ours.store.links().links == [second])
        #expect(first.discoveryKey != second.discoveryKey && second.number > first.number)
    }

    @Test func `only the machine with the root key links, grants and withdraws`() throws {
        try self.link()
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let member = machine.store
        let list = try #require(try self.ours.store.links().list)
        #expect(try member.install(links: list.bytes, now: noon).links == self.ours.store.links().links)
        let account = self.them.accountID
        #expect(
            code { () throws(IdentityError) in try member.linkOffer(name: "x", granting: Grants(), now: noon) }
                == .notAuthority
        )
        #expect(
            code { () throws(IdentityError) in try member.grant(Grants(), to: account, now: noon) } == .notAuthority
        )
        #expect(code { () throws(IdentityError) in try member.unlink(account, now: noon) } == .notAuthority)
    }

    @Test func `grants change, and an unknown account has none to change`() throws {
        try self.link()
        let grants = Grants(services: ["test.photos"])
        try self.ours.store.grant(grants, to: self.them.accountID, now: noon)
        #expect(try self.ours.store.links()[self.them.accountID]?.granted == grants)
        #expect(
            code { () throws(IdentityError) in try self.ours.store.grant(grants, to: self.us.accountID, now: noon) }
                == .unknownLink
        )
        #expect(
            code { () throws(IdentityError) in try self.ours.store.unlink(self.us.accountID, now: noon) }
                == .unknownLink
        )
        let before = try self.ours.snapshot()
        try self.ours.store.grant(grants, to: self.them.accountID, now: noon)
        #expect(try self.ours.snapshot() == before)
    }

    @Test(arguments: [
        Grants(services: [""]), Grants(services: ["a\u{7}"]), Grants(services: [String(repeating: "a", count: 256)]),
        Grants(services: Set((0...64).map { "s\($0)" })), Grants(uriSchemes: ["1x"]), Grants(uriSchemes: ["ht tp"]),
        Grants(topics: ["\u{202E}"]),
    ])
    func `grants with invalid names, or too many, are refused`(grants: Grants) throws {
        try self.link()
        #expect(
            code { () throws(IdentityError) in try self.ours.store.grant(grants, to: self.them.accountID, now: noon) }
                == .invalidLink
        )
        #expect(
            code { () throws(IdentityError) in try self.ours.store.linkOffer(name: "x", granting: grants, now: noon) }
                == .invalidLink
        )
        #expect(try self.ours.store.links()[self.them.accountID]?.granted == self.granted)
    }

    @Test func `an account cannot be linked with itself`() throws {
        let own = try self.ours.store.linkOffer(name: "x", granting: Grants(), now: noon)
        #expect(
            code { () throws(IdentityError) in try self.ours.store.link(own, with: own, now: noon) } == .invalidLink
        )
    }

    @Test func `a link beyond the maximum number is refused, and nothing is changed`() throws {
        // Another machine may have made links since the offer.
        let own = try self.ours.store.linkOffer(name: "x", granting: Grants(), now: noon)
        for _ in 0..<LinkList.maxLinks {
            let own = try self.ours.store.linkOffer(name: "x", granting: Grants(), now: noon)
            try self.ours.store.link(own, with: Self.offer(), now: noon)
        }
        let other = try Self.offer()
        let before = try self.ours.snapshot()
        #expect(
            code { () throws(IdentityError) in try self.ours.store.linkOffer(name: "x", granting: Grants(), now: noon) }
                == .tooManyLinks
        )
        #expect(
            code { () throws(IdentityError) in try self.ours.store.link(own, with: other, now: noon) }
                == .tooManyLinks
        )
        #expect(try self.ours.snapshot() == before)
    }

    private static func offer(name: String = "other") throws -> LinkOffer {
        let roots = try AccountAuthority(creatingAt: noon).roots
        return LinkOffer(roots: roots, revocations: nil, name: name, granted: Grants(), number: 1)
    }

    @Test func `a name is stored without control characters, on one line, and cut`() throws {
        let names = [
            ("  Ada\u{1B}[31m\n Lovelace\u{202E} ", "Ada [31m Lovelace"), (String(repeating: "é", count: 999), nil),
            ("a" + String(repeating: "\u{301}", count: 5000), nil),
        ]
        for (name, expected) in names {
            let stored = try Self.offer(name: name).name
            #expect(!stored.hasControlCharacters && stored.utf8.count <= AccountLink.maxNameBytes && !stored.isEmpty)
            if let expected { #expect(stored == expected) }
        }
        let offer = try Self.offer(name: "\u{7}\n")
        #expect(offer.name == "account \(offer.account.short)")
    }

    // MARK: Withdrawal

    @Test func `a withdrawn link is not in force, and stays in the list`() throws {
        try self.link()
        let links = try self.ours.store.unlink(self.them.accountID, now: noon)
        let link = try #require(links[self.them.accountID])
        #expect(link.state == .withdrawn && link.granted == Grants() && link.linkedAccount == nil)
        #expect(
            code { () throws(IdentityError) in try self.ours.store.unlink(self.them.accountID, now: noon) }
                == .unknownLink
        )
        #expect(
            code { () throws(IdentityError) in try self.ours.store.grant(Grants(), to: self.them.accountID, now: noon) }
                == .unknownLink
        )
        #expect(try self.link(at: noon.addingTimeInterval(60)).ours.state == .active)
    }

    @Test func `the other account learns of the withdrawal from a notice, which only the root key can sign`() throws {
        try self.link()
        let notice = try #require(
            try self.ours.store.unlink(self.them.accountID, now: noon.addingTimeInterval(1))[self.them.accountID]?
                .withdrawal
        )
        let forged = try AccountAuthority(creatingAt: noon).withdrawal(of: self.them.accountID, number: notice.number)
        #expect(throws: TrustError.self) {
            try self.theirs.store.learn(roots: self.us.roots, withdrawal: forged.bytes)
        }
        #expect(try self.theirs.store.links()[self.us.accountID]?.state == .active)
        #expect(try self.theirs.store.learn(roots: self.us.roots, withdrawal: notice.bytes))
        #expect(try self.theirs.store.links()[self.us.accountID]?.state == .withdrawnByOther)
        #expect(try self.theirs.store.links().linkedAccounts.isEmpty)
        // The notice is for the earlier link: it does not end a later one.
        #expect(try self.link(at: noon.addingTimeInterval(60)).theirs.state == .active)
        _ = try self.theirs.store.learn(roots: self.us.roots, withdrawal: notice.bytes)
        #expect(try self.theirs.store.links()[self.us.accountID]?.state == .active)
    }

    @Test func `a notice for one account does not end the link of another`() throws {
        try self.link()
        let authority = try self.ours.store.authority()
        let elsewhere = try AccountAuthority(creatingAt: noon).accountID
        let notice = try authority.withdrawal(of: elsewhere, number: LinkList.maxNumber)
        #expect(throws: TrustError.self) {
            try self.theirs.store.learn(roots: self.us.roots, withdrawal: notice.bytes)
        }
    }

    // MARK: Lists of other systems

    @Test func `an older list never replaces a newer one`() throws {
        try self.link()
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let member = machine.store
        let old = try #require(try self.ours.store.links().list)
        let new = try #require(try self.ours.store.unlink(self.them.accountID, now: noon).list)
        _ = try member.install(links: new.bytes, now: noon)
        #expect(try member.install(links: old.bytes, now: noon).links.map(\.state) == [.withdrawn])
        #expect(try self.ours.store.install(links: old.bytes, now: noon).links.map(\.state) == [.withdrawn])
    }

    @Test func `two machines with the root key that change different links converge`() throws {
        try self.link()
        let other = try self.recovered()
        let account = self.them.accountID
        _ = try other.store.install(links: try #require(self.ours.store.links().list).bytes, now: noon)
        // One withdraws the link; the other, which does not know, makes another link a moment later.
        let ours = try #require(try self.ours.store.unlink(account, now: noon.addingTimeInterval(1)).list)
        let own = try other.store.linkOffer(name: "x", granting: Grants(), now: noon.addingTimeInterval(2))
        let third = try Self.offer()
        try other.store.link(own, with: third, now: noon.addingTimeInterval(2))
        let theirs = try #require(try other.store.links().list)
        let merged = try #require(
            try self.ours.store.install(links: theirs.bytes, now: noon.addingTimeInterval(3)).list
        )
        #expect(merged[account]?.state == .withdrawn && merged[third.account]?.state == .active)
        #expect(merged.isNewer(than: ours) && merged.isNewer(than: theirs))
        #expect(try other.store.install(links: merged.bytes, now: noon.addingTimeInterval(4)).list == merged)
        #expect(try other.store.install(links: ours.bytes, now: noon.addingTimeInterval(4)).list == merged)
    }

    /// Another machine of our account, with its root key.
    private func recovered() throws -> TemporaryDirectory {
        let file = self.ours.path + "/recovery"
        try self.ours.store.exportRecovery(
            to: file,
            passphrase: Array("12345678".utf8),
            factors: RecoveryFile.WorkFactors(logN: 10, r: 1, p: 1)
        )
        let directory = try TemporaryDirectory()
        _ = try directory.store.importRecovery(from: file, passphrase: Array("12345678".utf8), now: noon)
        return directory
    }

    @Test func `a list that another key signed, or that was changed, is refused`() throws {
        try self.link()
        let list = try #require(try self.ours.store.links().list)
        let stranger = try AccountAuthority(creatingAt: noon).linkList(
            of: list.links,
            number: list.number + 1,
            droppedNumber: 0
        )
        var changed = list.bytes
        changed[20] ^= 1
        for bytes in [stranger.bytes, changed, [], Array(list.bytes.prefix(70)), list.bytes + [0]] {
            #expect(
                code { () throws(IdentityError) in try self.ours.store.install(links: bytes, now: noon) }
                    == .rejectedCertificate
            )
        }
        #expect(try self.ours.store.links().list == list)
    }

    @Test func `the new root key signs the list again when it replaces the old one`() throws {
        try self.link()
        let list = try #require(try self.ours.store.links().list)
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let member = machine.store
        let rotated = try self.ours.store.rotateRootKey(isStolen: false, now: noon)
        try member.install(roots: rotated.identity.roots)
        let renewed = try #require(try self.ours.store.links().list)
        #expect(renewed.root == 2 && renewed.links == list.links && renewed.isNewer(than: list))
        // A list of the old key is refused elsewhere once the key is invalid.
        let later = rotated.retirement.addingTimeInterval(60)
        #expect(
            code { () throws(IdentityError) in try member.install(links: list.bytes, now: later) }
                == .rejectedCertificate
        )
        #expect(try member.install(links: renewed.bytes, now: later).list == renewed)
    }

    // MARK: Files

    @Test func `the files are only this user's, and a damaged one is an error that changes nothing`() throws {
        try self.link()
        let path = self.ours.store.directory + "/account/links.pem"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        for contents in ["", "-----BEGIN X-----\nAAAA\n-----END X-----\n"] {
            _ = FileManager.default.createFile(
                atPath: path,
                contents: Data(contents.utf8),
                attributes: [.posixPermissions: 0o600]
            )
            let before = try self.ours.snapshot()
            #expect(code { () throws(IdentityError) in try self.ours.store.links() } == .damaged)
            #expect(
                code { () throws(IdentityError) in try self.ours.store.unlink(self.them.accountID, now: noon) }
                    == .damaged
            )
            #expect(try self.ours.snapshot() == before)
        }
    }

    @Test func `recovering the account on the same machine keeps its links`() throws {
        try self.link()
        let file = self.ours.path + "/recovery"
        try self.ours.store.exportRecovery(
            to: file,
            passphrase: Array("12345678".utf8),
            factors: RecoveryFile.WorkFactors(logN: 10, r: 1, p: 1)
        )
        _ = try self.ours.store.importRecovery(from: file, passphrase: Array("12345678".utf8), now: noon)
        #expect(try self.ours.store.links().links.map(\.account) == [self.them.accountID])
    }

    @Test func `a linked account's newer revocations and root keys are kept, and older ones ignored`() throws {
        try self.link()
        let system = SystemID(of: P256.Signing.PrivateKey().publicKey)
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
        let (here, there) = (Self.anySystem(), Self.anySystem())
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

    @Test func `what one system learned of a linked account, the others of its account learn from it`() throws {
        try self.link()
        let machine = try self.member()
        defer { withExtendedLifetime(machine) {} }
        let member = machine.store
        _ = try member.install(links: try #require(self.ours.store.links().list).bytes, now: noon)
        let revoked = Self.anySystem()
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

    private static func anySystem() -> SystemID { SystemID(of: P256.Signing.PrivateKey().publicKey) }
}

extension AccountStore {
    /// Learns what a system of a linked account presented.
    fileprivate func learn(
        roots: RootChain,
        revocations: [[UInt8]] = [],
        withdrawal: [UInt8]? = nil
    ) throws -> Bool {
        let own = try self.identity(now: noon).accountID
        let learned = try LearnedLink(roots: roots, revocations: revocations, withdrawal: withdrawal, of: own)
        return try self.learn(learned, now: noon)
    }
}
