// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import RemoteSystemsIdentity

/// The file of known endpoints belongs to the account.
@Suite struct AccountStoreKnownEndpointsTests {
    let temporary: TemporaryDirectory
    let store: AccountStore
    let system: SystemID

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
        self.system = try self.store.identity(now: noon).systemID
    }

    private var path: String { "\(self.store.directory)/account/known-endpoints.json" }

    @Test func `it is stored with the account, for this user only, and each update gets the present contents`() throws {
        #expect(try self.store.contents(of: .knownEndpoints) == nil)
        try self.store.update(.knownEndpoints, of: self.system) { $0 == nil ? [1] : [] }
        #expect(try self.store.contents(of: .knownEndpoints) == [1])
        try self.store.update(.knownEndpoints, of: self.system) { ($0 ?? []) + [2] }
        #expect(try self.store.contents(of: .knownEndpoints) == [1, 2])
        try self.store.update(.knownEndpoints, of: self.system) { _ in nil }
        #expect(try self.store.contents(of: .knownEndpoints) == [1, 2])
        let status = try #require(FileStatus(path: self.path))
        #expect(status.permissions == 0o600)
        // It is no change of the account that other processes have to load.
        let version = self.store.version()
        try self.store.update(.knownEndpoints, of: self.system) { _ in [3] }
        #expect(self.store.version() == version)
    }

    @Test func `leaving deletes it, and a process that uses the old account does not write it again`() throws {
        try self.store.update(.knownEndpoints, of: self.system) { _ in [1] }
        _ = try self.store.leave(evenWithRootKey: true)
        try self.store.update(.knownEndpoints, of: self.system) { _ in [2] }
        #expect(try self.temporary.contents() == ["state", "state/left-systems", "state/lock"])
        _ = try self.store.identity(now: noon)
        try self.store.update(.knownEndpoints, of: self.system) { _ in [3] }
        #expect(try self.store.contents(of: .knownEndpoints) == nil)
    }

    @Test func `a file that others can read is refused, and replaced at the next update`() throws {
        try self.store.update(.knownEndpoints, of: self.system) { _ in [1] }
        #expect(unsafe chmod(self.path, 0o644) == 0)
        #expect(throws: IdentityError.self) { try self.store.contents(of: .knownEndpoints) }
        try self.store.update(.knownEndpoints, of: self.system) { $0 == nil ? [2] : nil }
        #expect(try self.store.contents(of: .knownEndpoints) == [2])
    }

    @Test func `without a state directory, nothing is created`() throws {
        let nowhere = AccountStore(directory: "\(self.store.directory)/nowhere")
        try nowhere.update(.knownEndpoints, of: self.system) { _ in [1] }
        #expect(try nowhere.contents(of: .knownEndpoints) == nil)
        #expect(!FileManager.default.fileExists(atPath: nowhere.directory))
    }
}
