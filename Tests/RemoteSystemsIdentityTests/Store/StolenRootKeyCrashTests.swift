// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// Processes that die between any two changes of files while they replace a stolen root key.
extension StolenRootKeyTests {
    private static let folder = "state/account/"

    /// The account's files and their texts.
    private func files() throws -> [String: String] {
        var files: [String: String] = [:]
        for (path, bytes) in try self.ours.snapshot() where path.hasPrefix(Self.folder) {
            files[String(path.dropFirst(Self.folder.count))] = String(decoding: bytes, as: UTF8.self)
        }
        return files
    }

    /// The files after some steps of the replacement.
    ///
    /// - Parameters:
    ///   - steps: The names that the changed files got, in order.
    ///   - files: The files before.
    ///   - final: The files after all steps.
    private static func files(
        after steps: ArraySlice<String>,
        from files: [String: String],
        to final: [String: String]
    ) -> [String: String] {
        var files = files
        for name in steps {
            switch name {
            case "next-root-key.pem":
                files[name] = final["root-key.pem"]
            case "root-key.pem":
                files["next-root-key.pem"] = nil
                files[name] = final[name]
            case "account.json" where files["revoked-systems.pem"] != final["revoked-systems.pem"]:
                // It first gets the number of formerly revoked systems, and the position of the new list later.
                files[name] = files[name]?.replacing(#""format" : 1,"#, with: #""format" : 1, "formerlyRevoked" : 1,"#)
            default:
                files[name] = final[name]
            }
        }
        return files
    }

    @Test(arguments: [[], ["links.pem"], ["learned-links.pem"], ["links.pem", "learned-links.pem"]])
    func `after a crash at any step, a stolen key stays in force, or the next use completes its replacement`(
        damaged: [String]
    ) throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        let revoked = SystemID.any()
        _ = try self.store.revoke(revoked, now: noon)
        for name in damaged { try write("-----BEGIN REMOTE", to: self.store.directory + "/account/" + name) }
        let before = try self.files()
        let steps = try renames(in: self.store.directory + "/account") {
            _ = try self.store.rotateRootKey(isStolen: true, now: Self.later)
        }
        let learned = damaged.filter { $0 == "learned-links.pem" }
        #expect(
            steps == [
                "next-root-key.pem", "root-certificate.pem", "root-key.pem", "formerly-revoked", "account.json",
                "revoked-systems.pem", "account.json", "former-discovery-keys.pem", "discovery-key.pem",
            ] + learned + ["links.pem", "system-certificate.pem"]
        )
        let after = try self.files()
        #expect(after["account.json"]?.contains(#""formerlyRevoked" : 1"#) == true)
        let now = Self.later.addingTimeInterval(60)
        for count in 0...steps.count {
            let crashed = try TemporaryDirectory()
            defer { withExtendedLifetime(crashed) {} }
            try makeDirectory(crashed.path + "/state")
            try makeDirectory(crashed.path + "/state/account")
            for (name, text) in Self.files(after: steps.prefix(count), from: before, to: after) {
                try write(text, to: crashed.path + "/" + Self.folder + name)
            }
            let store = crashed.store
            let identity = try store.identity(now: now)
            #expect(identity.isAuthority, "\(count) steps")
            // The new key is in force with its certificate. Before, the command can be run again.
            #expect(identity.root == (count < 2 ? 1 : 2), "\(count) steps")
            if count < 2 { _ = try store.rotateRootKey(isStolen: true, now: now) }
            let links = try store.links(now: now)
            #expect(links.linkedAccounts.isEmpty, "\(count) steps")
            #expect(links.list?[self.them.accountID]?.withdrawal?.root == 2, "\(count) steps")
            let list = try #require(try store.revocations())
            #expect(list.root == 2 && list.allSystems.isEmpty, "\(count) steps")
            #expect(try store.formerlyRevokedSystems() == [revoked], "\(count) steps")
            #expect(try store.lostFormerlyRevoked() == nil, "\(count) steps")
            try remove(crashed.path + "/" + Self.folder + "formerly-revoked")
            #expect(try store.lostFormerlyRevoked() != nil, "\(count) steps")
            let names = try crashed.contents()
            #expect(!names.contains { $0.hasSuffix("next-root-key.pem") }, "\(count) steps")
            // The command can be run again after it, too.
            #expect(try store.rotateRootKey(isStolen: true, now: now).identity.root == 3, "\(count) steps")
        }
    }

    @Test func `a link that was kept before a crash loses no revocation with a file that is damaged later`() throws {
        try self.link(granting: Grants(services: ["test.volume"]))
        let certificate = self.store.directory + "/account/system-certificate.pem"
        let old = try String(contentsOfFile: certificate, encoding: .utf8)
        _ = try self.store.rotateRootKey(isStolen: true, keepingLinks: [self.them.accountID], now: Self.later)
        try write(old, to: certificate)
        try write("-----BEGIN REMOTE", to: self.store.directory + "/account/learned-links.pem")
        let before = try self.ours.snapshot()
        #expect(code { () throws(IdentityError) in try self.store.renewIfDue(now: Self.later) } == .damaged)
        #expect(try self.ours.snapshot() == before)
    }
}
