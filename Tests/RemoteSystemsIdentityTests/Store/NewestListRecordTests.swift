// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystemsIdentity

/// The record of the newest revocation list outside the state directory.
@Suite struct NewestListRecordTests {
    private let place: TemporaryDirectory
    private let system = SystemID.any()

    init() throws { self.place = try TemporaryDirectory() }

    private var environment: [String: String] { ["HOME": self.place.path] }
    private var cache: String { self.place.path + "/.cache/remote-systems" }

    /// The record of a system in a directory of an account.
    private func record(
        of system: SystemID? = nil,
        in name: String = "account",
        _ environment: [String: String]? = nil
    ) throws -> NewestListRecord? {
        let account = try SecretDirectory.make(path: "\(self.place.path)/\(name)")
        return NewestListRecord(of: system ?? self.system, in: account, environment: environment ?? self.environment)
    }

    @Test func `the record only rises, also by a newer root key, and an account that replaces another has its own`()
        throws
    {
        let record = try #require(try self.record())
        #expect(record.position == nil)
        let positions = [(1, 7), (1, 5), (2, 1), (1, 9)].map { TrustPosition(root: $0.0, number: $0.1) }
        let recorded = positions.map { position in
            record.raise(to: position)
            return record.position
        }
        #expect(recorded == [positions[0], positions[0], positions[2], positions[2]])
        record.replace(by: positions[1])
        #expect(record.position == positions[1])
        record.replace(by: nil)
        #expect(record.position == nil)
    }

    @Test func `the number of records of a user is bounded, and the newest stay`() throws {
        let position = TrustPosition(root: 1, number: 7)
        try FileManager.default.createDirectory(atPath: self.cache, withIntermediateDirectories: true)
        for number in 0..<NewestListRecord.maxRecords + 8 {
            let path = "\(self.cache)/newest-list-\(number).json"
            try Data().write(to: URL(filePath: path))
            let old = Date(timeIntervalSince1970: Double(number))
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: path)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: self.cache)
        let record = try #require(try self.record())
        record.raise(to: position)
        #expect(record.position == position)
        let names = try FileManager.default.contentsOfDirectory(atPath: self.cache)
        #expect(names.count == NewestListRecord.maxRecords)
        #expect(!names.contains("newest-list-8.json") && names.contains("newest-list-9.json"))
    }

    @Test func `the record of a directory that is used stays, however old its list is`() throws {
        let position = TrustPosition(root: 1, number: 7)
        let record = try #require(try self.record())
        record.raise(to: position)
        let own = try #require(try FileManager.default.contentsOfDirectory(atPath: self.cache).first)
        let old: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSince1970: 1)]
        try FileManager.default.setAttributes(old, ofItemAtPath: "\(self.cache)/\(own)")
        for number in 0..<NewestListRecord.maxRecords {
            let path = "\(self.cache)/newest-list-\(number).json"
            try Data().write(to: URL(filePath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(2 + number))],
                ofItemAtPath: path
            )
        }
        record.raise(to: position)
        let other = try #require(try self.record(of: SystemID.any()))
        other.raise(to: position)
        #expect(record.position == position && other.position == position)
    }

    @Test func `each system and each copy of the directory has a record of its own, for its owner alone`() throws {
        let position = TrustPosition(root: 1, number: 7)
        try #require(try self.record()).raise(to: position)
        #expect(try self.record()?.position == position)
        #expect(try self.record(of: SystemID.any())?.position == nil)
        #expect(try self.record(in: "copy")?.position == nil)
        // A variable of the user comes first.
        let elsewhere = ["XDG_CACHE_HOME": self.place.path + "/.cache", "HOME": "/missing"]
        #expect(try self.record(elsewhere)?.position == position)
        let names = try FileManager.default.contentsOfDirectory(atPath: self.cache)
        #expect(names.count == 1)
        for path in [self.cache] + names.map({ "\(self.cache)/\($0)" }) {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            let permissions = try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
            #expect(permissions & 0o077 == 0)
        }
    }

    @Test(arguments: [[:], ["HOME": ""], ["XDG_CACHE_HOME": "cache"]])
    func `without a directory for it there is no record`(environment: [String: String]) throws {
        #expect(try self.record(environment) == nil)
    }

    @Test func `a cache that others can change, or that cannot be written, is no record and no error`() throws {
        let record = try #require(try self.record())
        record.raise(to: TrustPosition(root: 1, number: 7))
        let result = unsafe chmod(self.cache, 0o777)
        #expect(result == 0)
        #expect(record.position == nil)
        try write("", to: self.place.path + "/file")
        let blocked = try #require(try self.record(["HOME": self.place.path + "/file"]))
        blocked.raise(to: TrustPosition(root: 1, number: 7))
        #expect(blocked.position == nil)
    }
}
