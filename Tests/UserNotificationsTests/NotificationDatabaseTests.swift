// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Testing
import UserNotificationsStore

@testable import UserNotifications

@Suite struct NotificationDatabaseTests {
    private static func with(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory.path)
    }

    private static func open(_ directory: String) throws -> NotificationDatabase {
        try NotificationDatabase(directory: directory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func record(_ key: String, _ kind: NotificationRecord.Kind = .pending, date: Double = 1.5)
        -> NotificationRecord
    {
        NotificationRecord(kind, key: key, date: Date(timeIntervalSince1970: date), body: [1, 2, 3])
    }

    private static func files(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory)
    }

    @Test("What was committed is there when the store is opened again, in the order of the dates")
    func reopened() async throws {
        try await Self.with { directory in
            let first = try Self.open(directory)
            try await first.commit([.put(Self.record("late", date: 9)), .put(Self.record("a/b'\"c é", .received))])
            try await first.commit([.put(Self.record("gone", .response)), .put(Self.record("early", date: 0.25))])
            try await first.commit([.remove(.response, key: "gone"), .remove(.response, key: "unknown")])
            try await first.commit([.put(Self.record("late", date: 8))])
            let second = try Self.open(directory)
            let records = [Self.record("early", date: 0.25), Self.record("a/b'\"c é", .received)]
            #expect(try await second.load() == records + [Self.record("late", date: 8)])
        }
    }

    @Test func `a store that stays unavailable is not waited for`() async throws {
        try await Self.with { directory in
            let error = await #expect(throws: NotificationError.self) {
                try await NotificationDatabase.open(
                    in: "\(directory)/missing",
                    within: .seconds(3600),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                )
            }
            #expect(error?.code == .storeFailed)
        }
    }

    @Test func `a store that another program has locked is waited for`() async throws {
        try await Self.with { directory in
            _ = try Self.open(directory)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            let hold = """
                import sqlite3, sys
                store = sqlite3.connect(sys.argv[1], isolation_level=None)
                store.execute("PRAGMA locking_mode = EXCLUSIVE")
                store.execute("BEGIN EXCLUSIVE")
                store.execute("COMMIT")
                print("locked", flush=True)
                sys.stdin.read()
                """
            process.arguments = ["python3", "-c", hold, "\(directory)/\(NotificationDatabase.fileName)"]
            let (input, output) = (Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            _ = try output.fileHandleForReading.read(upToCount: 7)
            #expect(throws: NotificationError.self) { try Self.open(directory) }
            async let opened = NotificationDatabase.open(
                in: directory,
                within: .seconds(3600),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            // Longer than one attempt waits for the lock.
            try await Task.sleep(for: .seconds(3))
            try input.fileHandleForWriting.close()
            let records = try await opened.load()
            #expect(records.isEmpty)
            process.waitUntilExit()
        }
    }

    @Test("Only the user reads the store")
    func permissions() async throws {
        try await Self.with { directory in
            let store = try Self.open(directory)
            try await store.commit([.put(Self.record("a"))])
            for file in try Self.files(directory) {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(file)")
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
            }
        }
    }

    @Test("A damaged store is renamed, and an empty one takes its place", arguments: ["text", "page", "later"])
    func damaged(how: String) async throws {
        try await Self.with { directory in
            let path = "\(directory)/\(NotificationDatabase.fileName)"
            do {
                let store = try Self.open(directory)
                let changes = (0..<200).map { NotificationStoreChange.put(Self.record("key \($0)")) }
                try await store.commit(changes)
            }
            // The store closes its file when its last task has ended, and would write to the damaged one.
            for _ in 0..<1000 where FileManager.default.fileExists(atPath: "\(path)-wal") {
                try await Task.sleep(for: .milliseconds(10))
            }
            switch how {
            case "text": try Data("no database, but a text".utf8).write(to: URL(fileURLWithPath: path))
            case "later": try Self.sqlite(path, "INSERT INTO grdb_migrations VALUES ('99')")
            default:
                try Self.sqlite(path, "PRAGMA wal_checkpoint(TRUNCATE)")
                let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
                try handle.seek(toOffset: 4096)
                try handle.write(contentsOf: Data(repeating: 0xAA, count: 3 * 4096))
                try handle.close()
            }
            let store = try Self.open(directory)
            // Also what the user had denied is lost.
            let permissions = try await store.load()
            let (permission, subject) = try #require(permissions.first).permission()
            #expect(permissions.count == 1 && permission == .silent && subject == NotificationPermissions.Subject())
            try await store.commit([.put(Self.record("new"))])
            let unreadable = try Self.files(directory).filter { $0.hasPrefix("notifications.sqlite.unreadable-") }
            #expect(unreadable.contains { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }, "\(unreadable)")
            #expect(Set(try await Self.open(directory).load()) == Set([Self.record("new")] + permissions))
        }
    }

    @Test("The history is read in pages, the newest first, and is no part of what a daemon loads")
    func history() async throws {
        try await Self.with { directory in
            let store = try Self.open(directory)
            let start = Date(timeIntervalSince1970: 1_800_000_000)
            // Two of one date.
            let records = (0..<10).map {
                NotificationRecord(.history, key: "\($0)", date: start + Double($0 / 2), body: [1])
            }
            try await store.commit(records.map { .put($0) } + [.put(Self.record("other"))])
            #expect(try await store.load() == [Self.record("other")])
            var read: [NotificationRecord] = []
            while true {
                let page = try await store.history(after: read.last?.key, limit: 3)
                guard !page.isEmpty else { break }
                read += page
            }
            #expect(read == records.reversed())
            #expect(try await store.history(after: "unknown", limit: 3).isEmpty)
            try await store.commit([.prune(.history, before: start + 1, keeping: 5)])
            #expect(try await store.history(after: nil, limit: 100).map(\.key) == ["9", "8", "7", "6", "5"])
            #expect(try await store.load() == [Self.record("other")])
        }
    }

    @Test func `the history is limited for all together, and a source that fills it displaces only its own`()
        async throws
    {
        try await Self.with { directory in
            let store = try Self.open(directory)
            func put(_ source: String, _ count: Int, from date: Double) async throws {
                let records = (0..<count).map { number in
                    NotificationRecord(
                        .history,
                        key: "\(source) \(number)",
                        date: Date(timeIntervalSince1970: date + Double(number)),
                        body: [1],
                        source: source
                    )
                }
                try await store.commit(records.map { .put($0) })
            }
            // The flood is newer than all others.
            try await put("a", 3, from: 100)
            try await put("b", 1, from: 200)
            try await put("flood", 500, from: 1000)
            try await store.commit([.prune(.history, before: .distantPast, keeping: 10)])
            let flood = (494..<500).reversed().map { "flood \($0)" }
            let left = try await store.history(after: nil, limit: 100)
            #expect(left.map(\.key) == flood + ["b 0", "a 2", "a 1", "a 0"])
            #expect(Set(left.map(\.source)) == ["a", "b", "flood"])
            // A new source has its share, too.
            try await put("c", 2, from: 50)
            try await store.commit([.prune(.history, before: .distantPast, keeping: 10)])
            let keys = try await Self.open(directory).history(after: nil, limit: 100).map(\.key)
            #expect(keys.count == 10 && keys.filter { $0.hasPrefix("flood") }.count == 4)
        }
    }

    @Test("A store of an earlier version keeps its records")
    func migrated() async throws {
        try await Self.with { directory in
            let path = "\(directory)/\(NotificationDatabase.fileName)"
            do {
                let store = try Self.open(directory)
                try await store.commit([.put(Self.record("a")), .put(Self.record("b", .history))])
            }
            try Self.sqlite(path, "ALTER TABLE record DROP COLUMN source")
            try Self.sqlite(path, "DELETE FROM grdb_migrations WHERE identifier = '2'")
            let store = try Self.open(directory)
            #expect(try await store.load() == [Self.record("a")])
            #expect(try await store.history(after: nil, limit: 9) == [Self.record("b", .history)])
        }
    }

    private static func sqlite(_ path: String, _ statement: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c",
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()",
            path, statement,
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test("A directory that is not there or a link in place of the file is an error, and nothing is renamed")
    func cannotOpen() async throws {
        try await Self.with { directory in
            let error = #expect(throws: NotificationError.self) { try Self.open("\(directory)/none") }
            #expect(error?.code == .storeFailed)
            let link = "\(directory)/\(NotificationDatabase.fileName)"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/null")
            #expect(throws: NotificationError.self) { try Self.open(directory) }
            #expect(try Self.files(directory) == [NotificationDatabase.fileName])
        }
    }
}
