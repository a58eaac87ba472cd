// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// The systems that names meant (issue 10, section 1, item 5).
@Suite struct NamedSystemsTests {
    typealias Name = NamedSystems.Name

    private static func system(_ number: UInt8) throws -> SystemID {
        try #require(SystemID(bytes: [UInt8](repeating: number, count: 32)))
    }

    @Test func `a name keeps its meaning unless it is replaced`() throws {
        let (one, two) = (try Self.system(1), try Self.system(2))
        var names = NamedSystems()
        let result1 = names.remember(Name(text: "atlas"), one, replaces: false, now: 1)
        #expect(result1 == .changed)
        let result2 = names.remember(Name(text: "atlas"), one, replaces: false, now: 2)
        #expect(result2 == .unchanged)
        let result3 = names.remember(Name(text: "atlas"), two, replaces: false, now: 3)
        #expect(result3 == .meansOther(one))
        #expect(names.meanings[Name(text: "atlas")]?.system == one)
        let result4 = names.remember(Name(text: "atlas"), two, replaces: true, now: 4)
        #expect(result4 == .changed)
        #expect(names.meanings[Name(text: "atlas")]?.system == two)
        // A system of another account has a name of its own.
        let result5 = names.remember(Name(text: "atlas", isNearby: true), one, replaces: false, now: 5)
        #expect(result5 == .changed)
        #expect(names.meanings[Name(text: "atlas")]?.system == two)
    }

    @Test func `the name that was not used for the longest time is dropped`() throws {
        let system = try Self.system(1)
        var names = NamedSystems()
        let day = NamedSystems.refreshAge
        for number in 0..<NamedSystems.maxNames {
            _ = names.remember(Name(text: "\(number)"), system, replaces: false, now: number)
        }
        let result6 = names.remember(Name(text: "0"), system, replaces: false, now: 2 * day)
        #expect(result6 == .changed)
        _ = names.remember(Name(text: "new"), system, replaces: false, now: 2 * day)
        #expect(names.meanings.count == NamedSystems.maxNames)
        #expect(names.meanings[Name(text: "0")] != nil && names.meanings[Name(text: "1")] == nil)
    }

    @Test func `the largest file can be read again`() throws {
        var names = NamedSystems()
        for number in 0..<NamedSystems.maxNames {
            let text = String((String(repeating: "\"", count: 250) + "\(number)").prefix(256))
            _ = names.remember(Name(text: text), try Self.system(1), replaces: false, now: 1_900_000_000)
        }
        let file = try names.file()
        #expect(file.count < 1 << 20)
        #expect(try NamedSystems(file: file) == names)
    }

    @Test func `a damaged file is refused as a whole`() throws {
        let id = "\(try Self.system(1))"
        let entry = #"{"name":"a","system":"\#(id)","used":1}"#
        let whole = #"{"version":1,"names":[\#(entry)]}"#
        #expect(try NamedSystems(file: Array(whole.utf8)).meanings.count == 1)
        let damaged = [
            "", "{}", String(whole.dropLast()), #"{"version":1}"#, #"{"version":1,"names":[\#(entry),\#(entry)]}"#,
            #"{"version":1,"names":[{"name":"a","system":"short","used":1}]}"#,
            #"{"version":1,"names":[{"name":"","system":"\#(id)","used":1}]}"#,
            #"{"version":1,"names":[{"name":"a","system":"\#(id)","used":-1}]}"#,
        ]
        for text in damaged {
            let error = #expect(throws: VersionedFile.Failure.self) { try NamedSystems(file: Array(text.utf8)) }
            #expect(error == .damaged, "\(text)")
        }
        let error = #expect(throws: VersionedFile.Failure.self) {
            try NamedSystems(file: Array(#"{"version":2}"#.utf8))
        }
        #expect(error == .newerVersion)
    }

    @Test func `the account keeps names in a file of its own, which only the user can read`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "names-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration(applicationID: "test", network: .loopback, stateDirectory: directory)
        )
        _ = try account.identity()
        let (one, two) = (try Self.system(1), try Self.system(2))
        #expect(try account.system(named: "atlas") == nil)
        #expect(try account.remember(one, named: "atlas") == one)
        #expect(try account.system(named: "atlas") == one)
        #expect(try account.system(named: "atlas", isNearby: true) == nil)
        #expect(try account.remember(two, named: "atlas") == one)
        #expect(try account.system(named: "atlas") == one)
        #expect(try account.remember(two, named: "atlas", replaces: true) == two)
        let path = directory + "/account/named-systems.json"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try Data("damaged".utf8).write(to: URL(filePath: path))
        for attempt in 0..<2 {
            let error = #expect(throws: RemoteSystemError.self) {
                if attempt == 0 { _ = try account.system(named: "atlas") }
                if attempt == 1 { _ = try account.remember(one, named: "atlas", replaces: true) }
            }
            #expect((error?.cause as? IdentityError)?.code == .damaged)
            #expect(error?.message.contains(path) == true)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "damaged")
    }
}
