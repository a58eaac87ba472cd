// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import RemoteSystemsIdentity

@Suite struct AccountStoreTests {
    let temporary: TemporaryDirectory
    let store: AccountStore

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
    }

    private func file(_ name: String) -> String { self.store.directory + "/account/" + name }

    // MARK: First use

    @Test func `first use creates a personal account that later uses find again`() throws {
        let first = try self.store.identity(now: noon)
        let second = try AccountStore(directory: self.store.directory).identity(now: noon)
        #expect(first.isAuthority)
        #expect(first.systemID == second.systemID)
        #expect(first.accountID == second.accountID)
        #expect(first.certificate == second.certificate)
        #expect(first.privateKeyPEM == second.privateKeyPEM)
        #expect(first.discoveryKey == second.discoveryKey)
        #expect(first.certificateValidity == noon.addingTimeInterval(-day)..<noon.addingTimeInterval(90 * day))
    }

    @Test func `the identity passes its own account's trust rules`() throws {
        let identity = try self.store.identity(now: noon)
        let peer = try identity.trustStore().authenticate(peerCertificate: identity.certificate, now: noon)
        #expect(peer.systemID == identity.systemID)
    }

    @Test func `two directories hold two accounts`() throws {
        let other = try TemporaryDirectory()
        #expect(try self.store.identity(now: noon).accountID != other.store.identity(now: noon).accountID)
    }

    @Test func `directories and files are accessible to their owner only`() throws {
        _ = try self.store.identity(now: noon)
        #expect(mode(self.store.directory) == 0o700)
        #expect(mode(self.store.directory + "/account") == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: self.store.directory + "/account")
        #expect(
            names.sorted() == [
                "account.json", "discovery-key.pem", "root-certificate.pem", "root-key.pem", "system-certificate.pem",
                "system-key.pem",
            ]
        )
        for name in names {
            #expect(mode(self.file(name)) == 0o600, "\(name)")
        }
    }

    @Test func `no partial files are left behind`() throws {
        _ = try self.store.identity(now: noon)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.store.directory).sorted() == ["account", "lock"]
        )
    }

    @Test func `a wrong clock creates no account`() throws {
        #expect(
            code { () throws(IdentityError) in try self.store.identity(now: Date(timeIntervalSince1970: 0)) }
                == .wrongClock
        )
        #expect(try !self.temporary.contents().contains("state/account"))
    }

    @Test func `no description of an identity shows a key`() throws {
        let identity = try self.store.identity(now: noon)
        var text = "\(identity) \(String(reflecting: identity))"
        dump(identity, to: &text)
        #expect(!text.contains("PRIVATE KEY"))
        #expect(!text.contains("discoveryKey"))
        #expect(!text.contains("systemKey"))
        #expect(text.contains(identity.systemID.short))
    }

    // MARK: The state directory

    @Test(arguments: [
        (["REMOTE_SYSTEMS_STATE": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"], "/a"),
        (["REMOTE_SYSTEMS_STATE": "", "XDG_STATE_HOME": "/b", "HOME": "/c"], "/b/remote-systems"),
        // XDG Base Directory Specification: relative paths are ignored.
        (["XDG_STATE_HOME": "b", "HOME": "/c"], "/c/.local/state/remote-systems"),
        (["HOME": "/c"], "/c/.local/state/remote-systems"),
    ])
    func `the directory follows the environment`(environment: [String: String], expected: String) throws {
        #expect(try AccountStore(environment: environment).directory == expected)
    }

    @Test(arguments: [[:], ["HOME": ""], ["HOME": "relative"], ["XDG_STATE_HOME": ""]])
    func `without a home directory the error names the variables to set`(environment: [String: String]) {
        let error = #expect(throws: IdentityError.self) { try AccountStore(environment: environment) }
        #expect(error?.code == .noStateDirectory)
        #expect(error?.message.contains("REMOTE_SYSTEMS_STATE") == true)
    }

    // MARK: Damaged files are refused, named and left unchanged

    @Test(arguments: [
        "account.json", "root-certificate.pem", "root-key.pem", "system-key.pem", "system-certificate.pem",
        "discovery-key.pem",
    ])
    func `a missing, empty, truncated or foreign file is an error that names it and changes nothing`(name: String)
        throws
    {
        _ = try self.store.identity(now: noon)
        let path = self.file(name)
        let whole = try String(contentsOfFile: path, encoding: .utf8)
        let other = try TemporaryDirectory()
        _ = try other.store.identity(now: noon)
        let foreign = try String(contentsOfFile: other.store.directory + "/account/" + name, encoding: .utf8)

        for text in ["", String(whole.prefix(whole.count / 2)), "\0\u{1}garbage", foreign] {
            try write(text, to: path)
            let before = try self.temporary.snapshot()
            let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
            #expect(error?.code == .damaged)
            #expect(error?.message.contains("Nothing was overwritten") == true)
            #expect(error?.path?.hasPrefix(self.store.directory + "/account/") == true)
            #expect(try self.temporary.snapshot() == before)
        }
        // An account works without its root key. The next test covers that.
        guard name != "root-key.pem" else { return }
        try remove(path)
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.code == .damaged)
        #expect(error?.path == path)
        #expect(error?.message.contains("is missing") == true)
    }

    @Test func `an empty account directory is an error and is not filled again`() throws {
        _ = try self.store.identity(now: noon)
        for name in try FileManager.default.contentsOfDirectory(atPath: self.store.directory + "/account") {
            try remove(self.file(name))
        }
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .damaged)
    }

    @Test func `a system whose root key is missing continues as a member, and knows that it had the key`() throws {
        let identity = try self.store.identity(now: noon)
        #expect(try !self.store.lacksRootKey())
        try remove(self.file("root-key.pem"))
        let member = try self.store.identity(now: noon)
        #expect(member.systemID == identity.systemID)
        #expect(!member.isAuthority)
        #expect(try self.store.lacksRootKey())
    }

    @Test func `an account of an earlier version is read, and its root key is missed if other systems joined`() throws {
        _ = try self.store.identity(now: noon)
        let path = self.file("account.json")
        let manifest = try String(contentsOfFile: path, encoding: .utf8)
        let lines = manifest.split(separator: "\n").filter { !$0.contains("rootKey") && !$0.contains("discoveryTag") }
        try write(lines.joined(separator: "\n"), to: path)
        #expect(try self.store.identity(now: noon).isAuthority)
        try remove(self.file("root-key.pem"))
        #expect(try !self.store.lacksRootKey())
        try write("", to: self.file("joined-systems"))
        #expect(try self.store.lacksRootKey())
    }

    @Test func `the advice about a damaged root key keeps the identity`() throws {
        _ = try self.store.identity(now: noon)
        try write("\u{1}garbage", to: self.file("root-key.pem"))
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.message.contains("move \(self.file("root-key.pem")) away") == true)
        #expect(error?.message.contains("recovery file") == true)
    }

    @Test func `a newer format is an error that asks for an update`() throws {
        _ = try self.store.identity(now: noon)
        try write(#"{"format": 2, "something": "new"}"#, to: self.file("account.json"))
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.code == .unsupportedFormat)
        #expect(error?.message.contains("update this software") == true)
    }

    @Test(arguments: ["account.json", "system-key.pem", "root-key.pem"])
    func `a file readable by others is refused with the command that fixes it`(name: String) throws {
        _ = try self.store.identity(now: noon)
        try setMode(0o640, of: self.file(name))
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.code == .permissions)
        #expect(error?.message.contains("chmod 600 '\(self.file(name))'") == true)
    }

    @Test(arguments: ["", "/account"])
    func `a directory accessible to others is refused with the command that fixes it`(name: String) throws {
        _ = try self.store.identity(now: noon)
        try setMode(0o755, of: self.store.directory + name)
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.code == .permissions)
        #expect(error?.message.contains("chmod 700 '\(self.store.directory + name)'") == true)
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to give a file to another user"))
    func `a file of another user is refused`() throws {
        _ = try self.store.identity(now: noon)
        try giveAway(self.file("system-key.pem"), to: 54321)
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.code == .wrongOwner)
        #expect(error?.message.contains("54321") == true)
    }

    @Test func `a key is not read through a symbolic link`() throws {
        _ = try self.store.identity(now: noon)
        let moved = self.temporary.path + "/moved.pem"
        try move(self.file("system-key.pem"), to: moved)
        try link(moved, at: self.file("system-key.pem"))
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .notAPlainFile)
    }

    @Test func `the account is not opened through a symbolic link`() throws {
        _ = try self.store.identity(now: noon)
        let moved = self.temporary.path + "/moved"
        try move(self.store.directory + "/account", to: moved)
        try link(moved, at: self.store.directory + "/account")
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .notAPlainFile)
    }

    @Test func `a named pipe or a directory in place of a key does not hang`() throws {
        _ = try self.store.identity(now: noon)
        let path = self.file("system-key.pem")
        try remove(path)
        try makePipe(path)
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .notAPlainFile)
        try remove(path)
        try makeDirectory(path)
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .notAPlainFile)
    }

    @Test func `an endless file is not read to its end`() throws {
        _ = try self.store.identity(now: noon)
        try stretch(self.file("system-key.pem"), to: 1 << 40)
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .damaged)
    }

    @Test func `a file in place of the directory is refused`() throws {
        try write("", to: self.store.directory)
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .notAPlainFile)
    }

    @Test func `an error is described by its message`() throws {
        _ = try self.store.identity(now: noon)
        try remove(self.file("system-key.pem"))
        let error = try #require(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error.description == error.message)
        #expect(error.message.contains(self.file("system-key.pem")))
        #expect(error.debugDescription.contains(self.file("system-key.pem")))
    }

    // MARK: After a crash

    @Test func `the partial files of a crashed process are removed`() throws {
        try makeDirectory(self.store.directory)
        try makeDirectory(self.store.directory + "/.new-abc")
        try write("half", to: self.store.directory + "/.new-abc/root-key.pem")
        _ = try self.store.identity(now: noon)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.store.directory).sorted() == ["account", "lock"]
        )
    }

    @Test func `a replacement that crashed before its last step is completed`() throws {
        let identity = try self.store.identity(now: noon)
        try move(self.store.directory + "/account", to: self.store.directory + "/incoming")
        #expect(try self.store.identity(now: noon).systemID == identity.systemID)
    }

    @Test func `a replacement that crashed before it moved the old account away is undone`() throws {
        let identity = try self.store.identity(now: noon)
        let other = try TemporaryDirectory()
        _ = try other.store.identity(now: noon)
        try move(other.store.directory + "/account", to: self.store.directory + "/incoming")
        #expect(try self.store.renewIfDue(now: noon).systemID == identity.systemID)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.store.directory).sorted() == ["account", "lock"]
        )
    }

    // MARK: Joined systems

    @Test func `joined systems are remembered once and in order`() throws {
        _ = try self.store.identity(now: noon)
        let systems = (0..<3).map { _ in SystemID.any() }
        for system in systems + systems { try self.store.recordJoined(system) }
        #expect(try self.store.joinedSystems() == systems)
    }

    @Test func `a damaged line of the list of joined systems is reported, kept and not used`() throws {
        _ = try self.store.identity(now: noon)
        let systems = (0..<2).map { _ in SystemID.any() }
        try self.store.recordJoined(systems[0])
        #expect(try self.store.damagedRecords().isEmpty)
        try write("\(systems[0])\nnonsense", to: self.file("joined-systems"))
        #expect(try self.store.joinedSystems() == [systems[0]])
        try self.store.recordJoined(systems[1])
        #expect(try self.store.joinedSystems() == systems)
        #expect(try self.store.damagedRecords() == [self.file("joined-systems")])
    }

    @Test func `an account whose list of joined systems is damaged counts as shared`() throws {
        _ = try self.store.identity(now: noon)
        let elsewhere = try TemporaryDirectory()
        let other = try elsewhere.store.identity(now: noon)
        _ = try self.store.checkAdoption(of: other.accountID, evenIfShared: false, now: noon)
        try write("nonsense\n", to: self.file("joined-systems"))
        #expect(
            code { () throws(IdentityError) in
                try self.store.checkAdoption(of: other.accountID, evenIfShared: false, now: noon)
            } == .accountInUse
        )
        let purpose = try self.store.pairingPurpose(evenIfShared: false, now: noon)
        #expect(purpose == .ownAccount(admits: true, joins: false))
    }

    // MARK: Readers beside a change

    @Test func `what did not match while another process changed the files is read again without changes`() throws {
        _ = try self.store.identity(now: noon)
        var calls = 0
        let found = try self.store.reading { (_, _) throws(IdentityError) -> Bool in
            calls += 1
            if calls == 1 { throw IdentityError(.damaged, "a part of a change") }
            // No other process can change the files during the second reading.
            let state = try SecretDirectory.make(path: self.store.directory)
            return code { () throws(IdentityError) in
                try state.withLock(waiting: .zero) { () throws(IdentityError) in }
            } == .busy
        }
        #expect(found == true && calls == 2)
        calls = 0
        #expect(
            code { () throws(IdentityError) in
                try self.store.reading { (_, _) throws(IdentityError) -> Bool in
                    calls += 1
                    throw IdentityError(.damaged, "for good")
                }
            } == .damaged
        )
        #expect(calls == 2)
    }

    @Test func `files that a process left which died while it wrote are deleted by the next change`() throws {
        _ = try self.store.identity(now: noon)
        try write("a part of a key", to: self.file(".new-abcd"))
        _ = try self.store.renewIfDue(now: noon)
        #expect(try !self.temporary.contents().contains { $0.contains(".new-") })
    }
}
