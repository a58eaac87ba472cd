// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import RemoteSystemsIdentity

/// X-37: accounts can be removed as well as added.
@Suite struct AccountStoreLeavingTests {
    let temporary: TemporaryDirectory
    let store: AccountStore

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
    }

    /// Makes this system a member of an account whose root key is on another system.
    private func join() throws -> SystemIdentity {
        let identity = try SystemIdentity.member(of: AccountAuthority(creatingAt: noon))
        _ = try self.store.adopt(identity, evenIfShared: true, now: noon)
        return identity
    }

    /// Files with keys or certificates below the state directory.
    private var secrets: [String] {
        get throws { try self.temporary.contents().filter { $0.hasSuffix(".pem") } }
    }

    @Test func `leaving deletes every key and certificate, and the next start creates a new identity (X-37)`() throws {
        let joined = try self.join()
        let departure = try self.store.leave(evenWithRootKey: false)
        #expect(departure.account == joined.accountID)
        #expect(departure.system == joined.systemID)
        #expect(!departure.heldRootKey)
        #expect(departure.setAside.isEmpty)
        #expect(try self.secrets.isEmpty)
        #expect(try self.temporary.contents() == ["state", "state/left-systems", "state/lock"])
        #expect(try !self.store.holdsAccount())
        #expect(try self.store.storedIdentity(now: noon) == nil)

        let fresh = try self.store.identity(now: noon)
        #expect(fresh.accountID != joined.accountID)
        #expect(fresh.systemID != joined.systemID)
        #expect(fresh.isAuthority)
        #expect(try self.store.hasLeft(joined.systemID))
        #expect(try !self.store.hasLeft(fresh.systemID))
        #expect(try self.store.revocations() == nil)
    }

    @Test func `without confirmation the root key is not deleted and nothing changes (X-37)`() throws {
        let founded = try self.store.identity(now: noon)
        for joined in 0..<3 {
            let before = try self.temporary.snapshot()
            let error = #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
            #expect(error?.code == .rootKeyWouldBeLost)
            #expect(error?.message.contains("--force") == true)
            #expect(error?.message.contains(joined == 0 ? "No other system" : "\(joined) other system") == true)
            #expect(try self.temporary.snapshot() == before)
            try self.store.recordJoined(SystemID.any())
        }
        // A revoked system has nothing more to lose.
        _ = try self.store.revoke(try #require(try self.store.joinedSystems().first), now: noon)
        let error = #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
        #expect(error?.message.contains("2 other systems") == true)
        let departure = try self.store.leave(evenWithRootKey: true)
        #expect(departure.system == founded.systemID)
        #expect(departure.heldRootKey)
        #expect(try self.secrets.isEmpty)
        #expect(try self.store.identity(now: noon).accountID != founded.accountID)
    }

    @Test(arguments: [0, 1])
    func `with a damaged record of systems, the number of those that joined is not known`(readable: Int) throws {
        _ = try self.store.identity(now: noon)
        let systems = (0..<readable).map { _ in SystemID.any() }
        let record = self.store.directory + "/account/joined-systems"
        try write((systems.map { "\($0)" } + ["nonsense"]).joined(separator: "\n"), to: record)
        let error = #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
        #expect(error?.code == .rootKeyWouldBeLost && error?.message.contains("number is not known") == true)
        #expect(error?.message.contains("other system") == false, "\(error?.message ?? "")")
        // Another record says nothing about them.
        try write(systems.map { "\($0)\n" }.joined(), to: record)
        try write("nonsense", to: self.store.directory + "/account/formerly-revoked")
        let known = #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
        #expect(known?.message.contains(readable == 0 ? "No other system" : "1 other system") == true)
    }

    @Test func `a system whose root key was replaced on another machine leaves like any other (X-37)`() throws {
        _ = try self.store.identity(now: noon)
        let newest = try self.store.authority().successor(retiring: noon, now: noon)
        try self.store.install(roots: newest.roots)
        #expect(try !self.store.identity(now: noon).isAuthority)
        #expect(try !self.store.leave(evenWithRootKey: false).heldRootKey)
        #expect(try self.secrets.isEmpty)
    }

    @Test func `keys are deleted even if the departure cannot be recorded, and a repeated call completes it`() throws {
        let joined = try self.join()
        // In the place of the file, as a full disk would, a directory keeps it from being written.
        let path = self.store.directory + "/left-systems"
        try makeDirectory(path)
        let error = #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
        #expect(error?.message.contains("left-systems") == true)
        #expect(try self.secrets.isEmpty)
        #expect(try !self.store.holdsAccount())
        // Running programs learn of it all the same.
        try FileManager.default.removeItem(atPath: path)
        #expect(try self.store.hasLeft(joined.systemID))
        try makeDirectory(path)
        #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
        try FileManager.default.removeItem(atPath: path)
        #expect(code { () throws(IdentityError) in try self.store.leave(evenWithRootKey: false) } == .fileMissing)
        #expect(try self.store.hasLeft(joined.systemID))
        #expect(try self.temporary.contents() == ["state", "state/left-systems", "state/lock"])
    }

    @Test func `without an account there is nothing to leave, and none is created (X-37)`() throws {
        #expect(code { () throws(IdentityError) in try self.store.leave(evenWithRootKey: true) } == .fileMissing)
        #expect(try self.temporary.contents().isEmpty)
        _ = try self.store.identity(now: noon)
        _ = try self.store.leave(evenWithRootKey: true)
        #expect(code { () throws(IdentityError) in try self.store.leave(evenWithRootKey: true) } == .fileMissing)
        #expect(try !self.store.holdsAccount())
    }

    @Test func `accounts that were set aside are kept and named (X-37)`() throws {
        let personal = try self.store.identity(now: noon)
        _ = try self.join()
        let departure = try self.store.leave(evenWithRootKey: false)
        let aside = try #require(departure.setAside.first)
        #expect(departure.setAside.count == 1)
        try move(aside, to: self.store.directory + "/account")
        #expect(try self.store.identity(now: noon).systemID == personal.systemID)
    }

    // MARK: Crashes

    /// What may be left of a directory if the process died while it deleted it.
    static let remains: [[String]] = [
        ["account.json", "discovery-key.pem", "root-certificate.pem", "system-certificate.pem", "system-key.pem"],
        ["account.json", "discovery-key.pem", "root-certificate.pem", "system-certificate.pem"],
        ["account.json", "root-certificate.pem", "system-certificate.pem"], ["system-certificate.pem"], [],
    ]

    @Test(arguments: remains, [false, true])
    func `the remains of an account after a crash are deleted before a new one is created (X-37)`(
        files: [String],
        isRecorded: Bool
    ) throws {
        let joined = try self.join()
        let state = self.store.directory
        try move("\(state)/account", to: "\(state)/.left-\(joined.systemID)")
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(state)/.left-\(joined.systemID)")
        where !files.contains(name) {
            try FileManager.default.removeItem(atPath: "\(state)/.left-\(joined.systemID)/\(name)")
        }
        if isRecorded {
            #expect(
                FileManager.default.createFile(
                    atPath: "\(state)/left-systems",
                    contents: Data("\(joined.systemID)\n".utf8)
                )
            )
            _ = unsafe chmod("\(state)/left-systems", 0o600)
        }
        let fresh = try self.store.identity(now: noon)
        #expect(fresh.systemID != joined.systemID)
        #expect(try self.store.hasLeft(joined.systemID))
        #expect(try !self.temporary.contents().contains { $0.contains(".left-") })
        #expect(try self.secrets.allSatisfy { $0.hasPrefix("state/account/") })
    }

    @Test func `a file that cannot be deleted is named, and the account is left all the same (X-37)`() throws {
        let joined = try self.join()
        // A directory, which our code never creates here: removing it takes a different call.
        try FileManager.default.createDirectory(
            atPath: self.store.directory + "/account/directory",
            withIntermediateDirectories: false
        )
        let error = #expect(throws: IdentityError.self) { try self.store.leave(evenWithRootKey: false) }
        #expect(error?.message.contains("/directory") == true)
        #expect(try self.secrets.isEmpty)
        #expect(try self.store.hasLeft(joined.systemID))
        #expect(try !self.store.holdsAccount())
        // The remaining file does not prevent a new account either.
        #expect(try self.store.identity(now: noon).accountID != joined.accountID)
    }

    @Test(arguments: ["state", "state/", "state/.", "./state", "link", "link/"])
    func `a process that used the account creates no other one, whatever path it uses`(path: String) throws {
        let joined = try self.join()
        try FileManager.default.createSymbolicLink(
            atPath: self.temporary.path + "/link",
            withDestinationPath: self.store.directory
        )
        try self.store.noteUse(as: joined.systemID)
        _ = try self.store.leave(evenWithRootKey: false)
        let store = AccountStore(directory: "\(self.temporary.path)/\(path)")
        let error = #expect(throws: IdentityError.self) { try store.identity(now: noon) }
        #expect(error?.code == .accountLeft)
        #expect(try !self.store.holdsAccount())
        // It may create one in another directory.
        #expect(try AccountStore(directory: self.temporary.path + "/other").identity(now: noon).isAuthority)
    }

    @Test func `a process that used the account by a link creates no other one by its path`() throws {
        let joined = try self.join()
        let link = self.temporary.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: self.store.directory)
        try AccountStore(directory: link).noteUse(as: joined.systemID)
        _ = try self.store.leave(evenWithRootKey: false)
        let error = #expect(throws: IdentityError.self) { try self.store.identity(now: noon) }
        #expect(error?.code == .accountLeft)
    }

    @Test func `of many systems that were left only the newest are remembered`() throws {
        var systems: [SystemID] = []
        for _ in 0..<3 {
            systems.append(try self.join().systemID)
            _ = try self.store.leave(evenWithRootKey: false)
        }
        let ids = (0..<254).map { _ in SystemID.any() }
        let lines = ([systems[0], systems[1]] + ids).map { "\($0)\n" }.joined()
        try Data(lines.utf8).write(to: URL(filePath: self.store.directory + "/left-systems"))
        _ = unsafe chmod(self.store.directory + "/left-systems", 0o600)
        let last = try self.join().systemID
        _ = try self.store.leave(evenWithRootKey: false)
        #expect(try !self.store.hasLeft(systems[0]))
        for system in [systems[1], last] + ids.suffix(3) { #expect(try self.store.hasLeft(system)) }
    }
}
