// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

@Suite struct AdoptionTests {
    let temporary: TemporaryDirectory
    let store: AccountStore

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
    }

    /// A system of an account whose root key is on another system.
    private func joined() throws -> SystemIdentity {
        try SystemIdentity.member(of: AccountAuthority(creatingAt: noon))
    }

    @Test func `an empty store takes the joined account`() throws {
        let joined = try self.joined()
        let change = try self.store.adopt(joined, now: noon)
        #expect(change.setAside == nil)
        let loaded = try self.store.identity(now: noon)
        #expect(loaded.systemID == joined.systemID)
        #expect(loaded.accountID == joined.accountID)
        #expect(!loaded.isAuthority)
        #expect(mode(self.store.directory + "/account/system-key.pem") == 0o600)
    }

    @Test func `a personal account is set aside completely and can be restored by hand`() throws {
        let personal = try self.store.identity(now: noon)
        let joined = try self.joined()
        let change = try self.store.adopt(joined, now: noon)
        let aside = try #require(change.setAside)
        #expect(aside.hasPrefix(self.store.directory + "/previous-2026-09-21T"))
        #expect(try self.store.identity(now: noon).systemID == joined.systemID)

        try move(self.store.directory + "/account", to: self.store.directory + "/joined")
        try move(aside, to: self.store.directory + "/account")
        let back = try self.store.identity(now: noon)
        #expect(back.systemID == personal.systemID)
        #expect(back.isAuthority)
    }

    @Test func `a shared account is left only on explicit request`() throws {
        _ = try self.store.identity(now: noon)
        try self.store.recordJoined(SystemID.any())
        let before = try self.temporary.snapshot()
        let joined = try self.joined()
        let error = #expect(throws: IdentityError.self) { try self.store.adopt(joined, now: noon) }
        #expect(error?.code == .accountInUse)
        #expect(try self.temporary.snapshot() == before)
        #expect(try self.store.adopt(joined, evenIfShared: true, now: noon).setAside != nil)
    }

    @Test func `a joined account is left only on explicit request`() throws {
        let first = try self.joined()
        let second = try self.joined()
        _ = try self.store.adopt(first, now: noon)
        #expect(code { () throws(IdentityError) in try self.store.adopt(second, now: noon) } == .accountInUse)
        _ = try self.store.adopt(second, evenIfShared: true, now: noon)
        #expect(try self.store.identity(now: noon).systemID == second.systemID)
    }

    @Test func `a damaged account is not replaced by joining`() throws {
        _ = try self.store.identity(now: noon)
        try remove(self.store.directory + "/account/system-key.pem")
        let joined = try self.joined()
        #expect(code { () throws(IdentityError) in try self.store.adopt(joined, now: noon) } == .damaged)
    }

    @Test func `two accounts that are set aside in the same second do not collide`() throws {
        for _ in 0..<3 {
            _ = try self.store.adopt(self.joined(), evenIfShared: true, now: noon)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: self.store.directory)
        #expect(names.count { $0.hasPrefix("previous-") } == 2)
    }
}
