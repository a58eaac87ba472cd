// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The owner and the permissions of a configuration file or its directory.
///
/// Such a file names programs that run as the user of this process. Only that user and root may therefore be able to
/// change it.
struct FileProtection: Hashable {
    var owner: uid_t
    var mode: mode_t

    init(owner: uid_t, mode: mode_t) {
        self.owner = owner
        self.mode = mode
    }

    /// Reads the protection of an open file or directory; `nil`, with `errno` set, on failure.
    init?(descriptor: CInt) {
        var (owner, mode) = (uid_t(0), mode_t(0))
        guard unsafe remote_systems_owner(descriptor, &owner, &mode) == 0 else { return nil }
        self.init(owner: owner, mode: mode)
    }

    /// Reads the protection of a directory; `nil`, with `errno` set, on failure.
    init?(directory path: String) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        self.init(descriptor: descriptor)
    }

    /// The reason why the file cannot be trusted, and the remedy; `nil` if it can.
    ///
    /// - Parameters:
    ///   - path: the path of the file or directory.
    ///   - noun: "file" or "directory".
    ///   - user: the user that may own the file, beside root. Defaults to the user of this process.
    func objection(to path: String, _ noun: String = "file", user: uid_t = geteuid()) -> String? {
        let consequence = "It names programs that run as the user of this process, so it is not used."
        guard self.owner == user || self.owner == 0 else {
            return
                "The \(noun) \(path) belongs to another user (\(self.owner)). \(consequence) Only user \(user) or root "
                + "may own it (chown)."
        }
        let writers = [(S_IWGRP, "its group", "g-w"), (S_IWOTH, "every user", "o-w")].filter { self.mode & $0.0 != 0 }
        guard let last = writers.last else { return nil }
        return
            "The \(noun) \(path) can be changed by \(last.1). \(consequence) Remove that permission: chmod "
            + "\(writers.map(\.2).joined(separator: ",")) \(path)"
    }

    /// The reason why a file cannot be trusted because of the directory that contains it, or the directory that its
    /// symbolic link leads to; `nil` if it can.
    static func objection(toDirectoriesOf path: String, user: uid_t = geteuid()) -> String? {
        var directories = [Self.directory(of: path)]
        if let real = Self.realPath(path) {
            let target = Self.directory(of: real)
            if Self.realPath(directories[0]) != target { directories.append(target) }
        }
        for directory in directories {
            guard let protection = FileProtection(directory: directory) else { continue }
            if let objection = protection.objection(to: directory, "directory", user: user) { return objection }
        }
        return nil
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The path without symbolic links; `nil` if the file does not exist.
    static func realPath(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
