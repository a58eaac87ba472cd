// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open directory that only its owner may enter, and the plain files in it that only their owner may read.
///
/// All names are resolved relative to the open directory. If another process replaces the account and renames the
/// directory, the files of two accounts cannot mix. Symbolic links inside it are not followed.
struct SecretDirectory: ~Copyable {
    let path: String
    private let descriptor: Int32

    /// The maximum size of a file, in bytes: 48 MiB, enough for what linked accounts can publish. A larger file is
    /// damaged.
    private static let largestFile = 48 << 20

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(self.descriptor)
    }

    func path(of name: String) -> String { self.path + "/" + name }

    /// Names a directory independently of the path by which it was opened.
    struct Identifier: Hashable, Sendable {
        fileprivate let device: UInt64
        fileprivate let inode: UInt64
    }

    func identifier() throws(IdentityError) -> Identifier {
        var status = stat()
        guard unsafe fstat(self.descriptor, &status) == 0 else {
            throw .failed(SystemCallError("fstat"), to: "be examined", path: self.path)
        }
        return Identifier(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    // MARK: Opening

    /// Opens the directory at `path`; `nil` if it does not exist.
    static func open(path: String) throws(IdentityError) -> SecretDirectory? {
        try Self.open(path: path, at: AT_FDCWD, name: path, flags: 0)
    }

    /// Opens the directory at `path`. Creates it and its parents, for this user alone, if they do not exist.
    static func make(path: String) throws(IdentityError) -> SecretDirectory {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            prefix += component
            if unsafe mkdir(prefix, 0o700) != 0, errno != EEXIST {
                let cause = SystemCallError("mkdir")
                // A failure for a parent that exists but is not writable (EROFS, EACCES) is ignored: only the last
                // directory matters.
                var status = stat()
                guard unsafe stat(prefix, &status) == 0 else {
                    throw .failed(cause, to: "be made", path: prefix)
                }
            }
            prefix += "/"
        }
        guard let directory = try Self.open(path: path) else {
            throw IdentityError(
                .inputOutput,
                "\(path) was removed while it was being set up. Try again.",
                path: path
            )
        }
        return directory
    }

    /// Opens the directory `name` in this one; `nil` if it does not exist.
    func subdirectory(_ name: String) throws(IdentityError) -> SecretDirectory? {
        try Self.open(path: self.path(of: name), at: self.descriptor, name: name, flags: O_NOFOLLOW)
    }

    private static func open(
        path: String,
        at parent: Int32,
        name: String,
        flags: Int32
    ) throws(IdentityError) -> SecretDirectory? {
        let descriptor = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)
        guard descriptor >= 0 else {
            let cause = SystemCallError("open")
            if cause.number == ENOENT { return nil }
            throw .failed(cause, to: "be opened", path: path)
        }
        let directory = SecretDirectory(path: path, descriptor: descriptor)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw .failed(SystemCallError("fstat"), to: "be examined", path: path)
        }
        try Self.check(status, path: path, kind: S_IFDIR)
        return directory
    }

    /// Refuses an item that has another type or owner, or that other users may access.
    private static func check(_ status: stat, path: String, kind: mode_t) throws(IdentityError) {
        guard status.st_mode & S_IFMT == kind else {
            throw IdentityError(
                .notAPlainFile,
                "\(path) is not \(kind == S_IFDIR ? "a directory" : "a plain file"). Move it away and try again.",
                path: path
            )
        }
        guard status.st_uid == geteuid() else {
            throw IdentityError(
                .wrongOwner,
                """
                \(path) belongs to user \(status.st_uid), but this process runs as user \(geteuid()). Run it as the \
                owner, or set REMOTE_SYSTEMS_STATE to a directory of this user's own.
                """,
                path: path
            )
        }
        guard status.st_mode & 0o077 == 0 else {
            // A directory may have been named by mistake. Restricting one that other users need would be bad advice.
            let advice =
                kind == S_IFDIR
                ? "If it is for nothing else: chmod 700 '\(path)'. Else set REMOTE_SYSTEMS_STATE to another directory."
                : "To restrict it: chmod 600 '\(path)'"
            throw IdentityError(
                .permissions,
                "\(path) is open to other users of this machine, who may have read the keys in it. \(advice)",
                path: path
            )
        }
    }

    // MARK: Files

    /// Reads the file `name`; `nil` if it does not exist.
    func read(_ name: String) throws(IdentityError) -> [UInt8]? {
        guard let file = try self.file(name) else { return nil }
        return try file.read(limit: Self.largestFile)
    }

    /// Whether the file `name` exists. Makes the same checks as ``read(_:)`` without reading it.
    func contains(_ name: String) throws(IdentityError) -> Bool {
        let file = try self.file(name)
        return file != nil
    }

    private func file(_ name: String) throws(IdentityError) -> OpenFile? {
        let path = self.path(of: name)
        guard let file = try OpenFile(reading: name, in: self.descriptor, path: path, flags: O_NOFOLLOW) else {
            return nil
        }
        try Self.check(file.status(), path: path, kind: S_IFREG)
        return file
    }

    /// Creates the file `name`, which must not exist, and syncs it to disk.
    ///
    /// - Parameter target: The name that the file gets next, for errors; `nil` if it keeps `name`.
    func create(_ name: String, for target: String? = nil, _ bytes: [UInt8]) throws(IdentityError) {
        let path = self.path(of: target ?? name)
        guard bytes.count <= Self.largestFile else {
            throw IdentityError(
                .inputOutput,
                "\(path) would have \(bytes.count) bytes, which is too much. It was not written.",
                path: path
            )
        }
        try OpenFile.create(name, in: self.descriptor, path: path, bytes)
    }

    /// Replaces the file `name` as a whole: a concurrent reader gets either the old bytes or the new ones.
    func replace(_ name: String, _ bytes: [UInt8]) throws(IdentityError) {
        let temporary = Self.temporaryPrefix + Self.uniqueSuffix()
        try self.create(temporary, for: name, bytes)
        do throws(IdentityError) {
            try self.rename(temporary, to: name)
        } catch {
            _ = unsafe unlinkat(self.descriptor, temporary, 0)
            throw error
        }
    }

    // MARK: Names

    /// Renames a file or directory and syncs the new name to disk.
    func rename(_ name: String, to newName: String) throws(IdentityError) {
        guard unsafe renameat(self.descriptor, name, self.descriptor, newName) == 0 else {
            throw .failed(SystemCallError("rename"), to: "be renamed", path: self.path(of: name))
        }
        try self.sync()
    }

    /// Creates the directory `name` with these files in it, or nothing.
    ///
    /// - Parameter target: The name that the directory gets next, for errors.
    func makeSubdirectory(
        _ name: String,
        for target: String,
        files: [(name: String, bytes: [UInt8])]
    ) throws(IdentityError) {
        let path = self.path(of: target)
        guard unsafe mkdirat(self.descriptor, name, 0o700) == 0 else {
            throw .failed(SystemCallError("mkdir"), to: "be made", path: path)
        }
        do throws(IdentityError) {
            guard unsafe fchmodat(self.descriptor, name, 0o700, 0) == 0 else {
                throw .failed(SystemCallError("fchmod"), to: "be made", path: path)
            }
            guard let directory = try Self.open(path: path, at: self.descriptor, name: name, flags: O_NOFOLLOW) else {
                throw IdentityError(
                    .inputOutput,
                    "\(path) was removed while it was being written. Try again.",
                    path: path
                )
            }
            for file in files {
                try directory.create(file.name, file.bytes)
            }
            try directory.sync()
        } catch {
            self.removeSubdirectory(name)
            throw error
        }
    }

    /// Removes the directory `name` and its files on a best-effort basis. Only for directories that no process uses
    /// yet.
    func removeSubdirectory(_ name: String) {
        try? FileManager.default.removeItem(atPath: self.path(of: name))
    }

    /// Checks that files of these sizes, in bytes, can be written. Nothing remains, except after a crash. Call it only
    /// on the store's directory, which removes that, and while holding its lock.
    ///
    /// - Parameter target: what an error names.
    func checkSpace(for target: String, _ sizes: [Int]) throws(IdentityError) {
        let trial = Self.temporaryPrefix + Self.uniqueSuffix()
        try self.makeSubdirectory(
            trial,
            for: target,
            files: sizes.enumerated().map { (name: "\($0.offset)", bytes: [UInt8](repeating: 0, count: $0.element)) }
        )
        self.removeSubdirectory(trial)
    }

    /// Deletes the plain files in this directory: the files in `first`, then the others.
    ///
    /// - Returns: The error for the first file that could not be deleted, after all other files were deleted.
    func deleteFiles(first: [String]) throws(IdentityError) -> IdentityError? {
        var failure: IdentityError?
        for file in first + (try self.names()).filter({ !first.contains($0) }).sorted() {
            if unsafe unlinkat(self.descriptor, file, 0) == 0 || errno == ENOENT { continue }
            let cause = SystemCallError("unlink")
            failure = failure ?? .failed(cause, to: "be deleted", path: self.path(of: file))
        }
        try self.sync()
        return failure
    }

    /// Deletes the directory `name`, which must be empty, if it exists.
    func removeEmptySubdirectory(_ name: String) throws(IdentityError) {
        guard unsafe unlinkat(self.descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw .failed(SystemCallError("rmdir"), to: "be deleted", path: self.path(of: name))
        }
        try self.sync()
    }

    /// Deletes the files that processes left which died while they wrote. Call it only while holding the lock.
    func sweep() throws(IdentityError) {
        for name in try self.names() where name.hasPrefix(Self.temporaryPrefix) {
            _ = unsafe unlinkat(self.descriptor, name, 0)
        }
    }

    /// The prefix of files and directories that are being written.
    static let temporaryPrefix = ".new-"

    /// The names in this directory.
    func names() throws(IdentityError) -> [String] {
        // Another descriptor: reading moves its position, and closing the stream closes it.
        let descriptor = unsafe openat(self.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed(SystemCallError("open"), to: "be read", path: self.path) }
        guard let stream = unsafe fdopendir(descriptor) else {
            let cause = SystemCallError("fdopendir")
            close(descriptor)
            throw .failed(cause, to: "be read", path: self.path)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw .failed(SystemCallError("readdir"), to: "be read", path: self.path) }
                return names
            }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    func sync() throws(IdentityError) {
        guard fsync(self.descriptor) == 0 else {
            throw .failed(SystemCallError("fsync"), to: "be written", path: self.path)
        }
    }

    static func uniqueSuffix() -> String {
        Base32.encode((0..<8).map { _ in UInt8.random(in: .min ... .max) })
    }
}

extension SecretDirectory {
    /// Runs `body` while holding this directory's lock, which excludes other threads and processes.
    ///
    /// - Parameter evenIfReadOnly: whether to run `body` without the lock on a read-only file system, where no process
    ///   can change the files. Only for a `body` that reads.
    /// - Throws: ``IdentityError/Code/busy`` if the lock is not free within `limit`, which defaults to ten seconds.
    func withLock<Result: ~Copyable>(
        waiting limit: Duration = .seconds(10),
        evenIfReadOnly: Bool = false,
        _ body: () throws(IdentityError) -> Result
    ) throws(IdentityError) -> Result {
        let path = self.path(of: "lock")
        let file = unsafe openat(self.descriptor, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            let cause = SystemCallError("open")
            if evenIfReadOnly, cause.number == EROFS { return try body() }
            throw .failed(cause, to: "be opened", path: path)
        }
        // Closing releases the lock, also when the process dies.
        defer { close(file) }
        // A blocking `flock` has no timeout, so poll every 2 ms. The lock is normally held for milliseconds.
        let deadline = ContinuousClock.now + limit
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            let cause = SystemCallError("flock")
            guard cause.number == EWOULDBLOCK || cause.number == EINTR else {
                throw .failed(cause, to: "be locked", path: path)
            }
            guard ContinuousClock.now < deadline else {
                throw IdentityError(
                    .busy,
                    """
                    Another process has kept \(path) locked for \(limit). Try again; if the lock stays, \
                    `fuser '\(path)'` shows which process holds it.
                    """,
                    path: path,
                    cause: cause
                )
            }
            usleep(2_000)
        }
        return try body()
    }
}
