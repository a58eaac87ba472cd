// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GRDB
internal import Glibc
package import Logging
package import UserNotifications

/// Keeps notifications in an SQLite database in the state directory.
package final class NotificationDatabase: NotificationStore {
    package static let fileName = "notifications.sqlite"

    private let queue: DatabaseQueue

    /// Opens the database, and creates it if there is none.
    ///
    /// A database that is damaged, or that a later version has written, is renamed and replaced by an empty one: the
    /// daemon must start.
    ///
    /// - Throws: ``NotificationError`` with `storeFailed` if the database can be neither opened nor replaced.
    package init(directory: String, logger: Logger) throws(NotificationError) {
        do { self.queue = try Self.openOrReplace(directory, logger) } catch { throw Self.failure(error) }
    }

    private init(_ queue: DatabaseQueue) { self.queue = queue }

    /// Opens the database as ``init(directory:logger:)`` does, and retries while another program has locked it or the
    /// disk is full.
    ///
    /// - Parameter limit: the time for which it retries.
    /// - Throws: ``NotificationError`` with `storeFailed`.
    package static func open(
        in directory: String,
        within limit: Duration,
        logger: Logger
    ) async throws(NotificationError) -> NotificationDatabase {
        let end = ContinuousClock.now + limit
        while true {
            do {
                return NotificationDatabase(try Self.openOrReplace(directory, logger))
            } catch {
                // Neither the end of a lock nor new space on the disk is reported, so the attempt is repeated.
                guard Self.mayPass(error), ContinuousClock.now < end,
                    (try? await Task.sleep(for: .milliseconds(500))) != nil
                else { throw Self.failure(error) }
            }
        }
    }

    private static func openOrReplace(_ directory: String, _ logger: Logger) throws -> DatabaseQueue {
        let path = "\(directory)/\(Self.fileName)"
        do {
            return try Self.open(path, in: directory)
        } catch {
            guard Self.isUnreadable(error) else { throw error }
            let set = try Self.setAside(path)
            logger.error(
                "The store of notifications is unreadable. It was renamed, and an empty one was created",
                metadata: ["file": "\(set)", "reason": "\(error)"]
            )
            return try Self.open(path, in: directory)
        }
    }

    private static func open(_ path: String, in directory: String) throws -> DatabaseQueue {
        // Before SQLite creates it, so that no other user can read it at any time.
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: Self.reason(errno)) }
        _ = fchmod(descriptor, 0o600)
        close(descriptor)
        var configuration = Configuration()
        configuration.label = "notifications"
        configuration.busyMode = .timeout(2)
        configuration.prepareDatabase { database in
            // What was acknowledged survives a loss of power.
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { database in
            guard try String.fetchOne(database, sql: "PRAGMA quick_check(1)") == "ok" else {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the integrity check failed")
            }
        }
        let migrations = Self.migrations(replacesAnother: !Self.unreadable(in: directory).isEmpty)
        try migrations.migrate(queue)
        guard try queue.read({ try !migrations.hasBeenSuperseded($0) }) else {
            throw DatabaseError(resultCode: .SQLITE_NOTADB, message: "a later version has written it")
        }
        return queue
    }

    /// - Parameter isReplacement: whether another database was unreadable. What the user had denied is then not known.
    private static func migrations(replacesAnother isReplacement: Bool) -> DatabaseMigrator {
        var migrations = DatabaseMigrator()
        migrations.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE record (
                        kind TEXT NOT NULL, key TEXT NOT NULL, date REAL NOT NULL, body BLOB NOT NULL,
                        PRIMARY KEY (kind, key)
                    ) WITHOUT ROWID;
                    CREATE INDEX record_date ON record (kind, date);
                    """
            )
            guard isReplacement else { return }
            let record = try NotificationRecord.silentForAll(at: .now)
            try database.execute(
                sql: "INSERT INTO record (kind, key, date, body) VALUES (?, ?, ?, ?)",
                arguments: [record.kind.rawValue, record.key, record.date.timeIntervalSince1970, Data(record.body)]
            )
        }
        migrations.registerMigration("2") { database in
            try database.execute(sql: "ALTER TABLE record ADD COLUMN source TEXT NOT NULL DEFAULT ''")
        }
        return migrations
    }

    /// Whether another file in its place would help.
    private static func isUnreadable(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(error.resultCode)
    }

    /// Whether the same attempt may succeed in a moment.
    private static func mayPass(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        // A full disk has no space for the file that the connections to the database share.
        return [.SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL].contains(error.resultCode)
            || error.extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }

    /// Renames an unreadable database.
    ///
    /// - Returns: the new name.
    private static func setAside(_ path: String) throws(NotificationError) -> String {
        let seconds = Int64(Date.now.timeIntervalSince1970)
        let target = "\(path).unreadable-\(seconds)"
        guard unsafe rename(path, target) == 0 else {
            throw NotificationError(.storeFailed, "\(path) is unreadable and cannot be renamed: \(Self.reason(errno)).")
        }
        // They belong to the renamed file, and would be applied to the new one.
        for suffix in ["-wal", "-shm"] { _ = unsafe rename(path + suffix, target + suffix) }
        return target
    }

    /// The paths of databases in a directory that were unreadable and were renamed, the oldest first.
    package static func unreadable(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { name in
            name.hasPrefix("\(Self.fileName).unreadable-") && !name.hasSuffix("-wal") && !name.hasSuffix("-shm")
        }.sorted().map { "\(directory)/\($0)" }
    }

    private static func reason(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }

    private static func failure(_ error: any Error) -> NotificationError {
        if let error = error as? NotificationError { return error }
        let error = error as? DatabaseError
        let message =
            switch error?.resultCode {
            case .SQLITE_FULL?: "The disk is full. Free space and retry."
            case .SQLITE_READONLY?: "The store of notifications is read-only. Check the permissions of its directory."
            case .SQLITE_BUSY?, .SQLITE_LOCKED?: "Another program uses the store of notifications. End it and retry."
            default: "The store of notifications cannot be used: \(error?.message ?? "unknown error")."
            }
        return NotificationError(.storeFailed, message)
    }

    package func load() async throws(NotificationError) -> [NotificationRecord] {
        do {
            return try await self.queue.read { database in
                try Row.fetchAll(
                    database,
                    sql: "SELECT * FROM record WHERE kind != ? ORDER BY date, key",
                    arguments: [NotificationRecord.Kind.history.rawValue]
                ).compactMap(Self.record)
            }
        } catch {
            throw Self.failure(error)
        }
    }

    package func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord] {
        let kind = NotificationRecord.Kind.history.rawValue
        let after = key.map { _ in "AND (date, key) < (SELECT date, key FROM record WHERE kind = ? AND key = ?)" }
        let arguments: StatementArguments = key.map { [kind, kind, $0, limit] } ?? [kind, limit]
        do {
            return try await self.queue.read { database in
                try Row.fetchAll(
                    database,
                    sql: "SELECT * FROM record WHERE kind = ? \(after ?? "") "
                        + "ORDER BY date DESC, key DESC LIMIT ?",
                    arguments: arguments
                ).compactMap(Self.record)
            }
        } catch {
            throw Self.failure(error)
        }
    }

    private static func record(_ row: Row) -> NotificationRecord? {
        // A later version may have stored other kinds.
        guard let kind = NotificationRecord.Kind(rawValue: row["kind"]) else { return nil }
        return NotificationRecord(
            kind,
            key: row["key"],
            date: Date(timeIntervalSince1970: row["date"]),
            body: [UInt8](row["body"] as Data),
            source: row["source"]
        )
    }

    package func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) {
        // Also when the task is cancelled, as when the program that asked for the change has gone.
        let result = await withCheckedContinuation { continuation in
            self.queue.asyncWrite {
                try Self.apply(changes, to: $0)
            } completion: { _, result in
                continuation.resume(returning: result.mapError { Self.failure($0) })
            }
        }
        try result.get()
    }

    private static func apply(_ changes: [NotificationStoreChange], to database: Database) throws {
        for change in changes {
            switch change {
            case .put(let record):
                try database.execute(
                    sql: "INSERT OR REPLACE INTO record (kind, key, date, body, source) VALUES (?, ?, ?, ?, ?)",
                    arguments: [
                        record.kind.rawValue, record.key, record.date.timeIntervalSince1970, Data(record.body),
                        record.source,
                    ]
                )
            case .remove(let kind, let key):
                try database.execute(
                    sql: "DELETE FROM record WHERE kind = ? AND key = ?",
                    arguments: [kind.rawValue, key]
                )
            case .prune(let kind, let date, let count):
                try database.execute(
                    sql: "DELETE FROM record WHERE kind = ? AND date < ?",
                    arguments: [kind.rawValue, date.timeIntervalSince1970]
                )
                try database.execute(
                    sql: """
                        DELETE FROM record WHERE kind = ? AND key IN (
                            SELECT key FROM record WHERE kind = ? ORDER BY
                                ROW_NUMBER() OVER (PARTITION BY source ORDER BY date DESC, key DESC),
                                date DESC, key DESC
                            LIMIT -1 OFFSET ?
                        )
                        """,
                    arguments: [kind.rawValue, kind.rawValue, count]
                )
            }
        }
    }
}
