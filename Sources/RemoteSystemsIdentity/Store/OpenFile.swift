// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open file, closed when the value is destroyed. Reads are bounded; a write reaches the disk or is undone.
struct OpenFile: ~Copyable {
    let path: String
    let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(self.descriptor)
    }

    /// Opens a file for reading; `nil` if it does not exist.
    ///
    /// - Parameters:
    ///   - directory: The open directory that `name` is relative to.
    ///   - path: The whole path, for errors.
    init?(
        reading name: String,
        in directory: Int32 = AT_FDCWD,
        path: String,
        flags: Int32 = 0
    ) throws(IdentityError) {
        // Non-blocking: opening a named pipe must not hang.
        let descriptor = unsafe openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)
        guard descriptor >= 0 else {
            let cause = SystemCallError("open")
            if cause.number == ENOENT { return nil }
            throw .failed(cause, to: "be read", path: path)
        }
        self.init(path: path, descriptor: descriptor)
    }

    /// Creates a file that only its owner can read, with `bytes` in it. Fails if it exists; on failure no file remains.
    static func create(
        _ name: String,
        in directory: Int32 = AT_FDCWD,
        path: String,
        _ bytes: [UInt8]
    ) throws(IdentityError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe openat(directory, name, flags, 0o600)
        guard descriptor >= 0 else {
            throw .failed(SystemCallError("open"), to: "be made", path: path)
        }
        let file = OpenFile(path: path, descriptor: descriptor)
        // Restores owner permissions that an unusual umask removed. File systems without modes refuse, which is
        // harmless.
        _ = fchmod(descriptor, 0o600)
        do throws(IdentityError) {
            try file.write(bytes)
            guard fsync(descriptor) == 0 else {
                throw .failed(SystemCallError("fsync"), to: "be written", path: path)
            }
            // Callers with an open directory sync it themselves.
            if directory == AT_FDCWD { try Self.syncDirectory(of: path) }
        } catch {
            _ = unsafe unlinkat(directory, name, 0)
            throw error
        }
    }

    /// Checks that ``create(_:in:path:_:)`` can make a file, by making an empty one. No file remains.
    static func checkCreation(of path: String) throws(IdentityError) {
        try Self.create(path, path: path, [])
        _ = unsafe unlinkat(AT_FDCWD, path, 0)
    }

    /// Syncs the directory of a file, so that the file's name survives a power failure.
    private static func syncDirectory(of path: String) throws(IdentityError) {
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A directory that may be written but not read cannot be synced.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw .failed(SystemCallError("fsync"), to: "be written", path: parent)
        }
    }

    /// The file's type, owner and permissions.
    func status() throws(IdentityError) -> stat {
        var status = stat()
        guard unsafe fstat(self.descriptor, &status) == 0 else {
            throw .failed(SystemCallError("fstat"), to: "be examined", path: self.path)
        }
        return status
    }

    /// Reads the whole file.
    ///
    /// - Throws: ``IdentityError/Code/damaged`` if the file has more than `limit` bytes.
    func read(limit: Int) throws(IdentityError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe systemRead(self.descriptor, $0) }
            if count == 0 { return bytes }
            guard count > 0 else {
                let cause = SystemCallError("read")
                if cause.number == EINTR { continue }
                throw .failed(cause, to: "be read", path: self.path)
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw IdentityError(
                    .damaged,
                    "\(self.path) is too large to be a file of this software. Nothing was changed: restore it from a "
                        + "backup, or move it away.",
                    path: self.path
                )
            }
        }
    }

    private func write(_ bytes: [UInt8]) throws(IdentityError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { unsafe systemWrite(self.descriptor, $0) }
            guard count >= 0 else {
                let cause = SystemCallError("write")
                if cause.number == EINTR { continue }
                throw .failed(cause, to: "be written", path: self.path)
            }
            written += count
        }
    }
}

// Outside the type, where `read` is the system call and not `OpenFile.read`.

private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    unsafe read(file, buffer.baseAddress, buffer.count)
}

private func systemWrite(_ file: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    unsafe write(file, buffer.baseAddress, buffer.count)
}
