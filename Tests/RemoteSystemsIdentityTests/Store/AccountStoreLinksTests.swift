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
    func link(at now: Date = noon) throws -> (ours: AccountLink, theirs: AccountLink) {
        let own = try self.ours.store.linkOffer(name: "Ada's machines", granting: self.granted, now: now)
        let other = try self.theirs.store.linkOffer(name: "Bo", granting: Grants(), now: now)
        return (
            try self.ours.store.link(own, with: LinkOffer(encoded: other.encoded()), now: now),
            try self.theirs.store.link(other, with: LinkOffer(encoded: own.encoded()), now: now)
        )
    }

    /// Another machine of our account, with or without its root key.
    func member() throws -> TemporaryDirectory {
        let joined = try SystemIdentity.member(of: self.ours.store.authority(), self.us.discoveryKey)
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

    static func offer(name: String = "other") throws -> LinkOffer {
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
    func recovered() throws -> TemporaryDirectory {
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

    @Test func `the error of a damaged file of links names who can send it again`() throws {
        try self.link()
        let path = self.ours.store.directory + "/account/links.pem"
        _ = FileManager.default.createFile(
            atPath: path,
            contents: Data("damaged".utf8),
            attributes: [.posixPermissions: 0o600]
        )
        func message() -> String? {
            let error = #expect(throws: IdentityError.self) { try self.ours.store.links() }
            return error?.message
        }
        let alone = message()
        #expect(alone?.contains("link the accounts again") == true)
        try self.ours.store.recordJoined(SystemID.any())
        let shared = message()
        #expect(shared?.contains("other systems then send it again") == true)
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
}
