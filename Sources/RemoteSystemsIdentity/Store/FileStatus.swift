// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The type, owner and permissions of a file, to check before it is trusted.
///
/// Two values differ if the file was replaced or changed between the times at which they were read.
package struct FileStatus: Sendable, Hashable {
    private let mode: mode_t
    private let owner: uid_t
    /// The number of the file in its file system.
    package let number: UInt
    private let device: UInt
    private let size: Int
    /// The time of the last change of the contents or the status. No program can set it.
    private let changedSeconds: Int
    private let changedNanoseconds: Int

    /// Reads the status of the file at `path`, or of the symbolic link itself. `nil`, with `errno` set, on failure.
    package init?(path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the status of the file that `path` leads to, through symbolic links. `nil`, with `errno` set, on failure.
    package init?(following path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the status of an open file. `nil`, with `errno` set, on failure.
    package init?(descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        self.mode = status.st_mode
        self.owner = status.st_uid
        self.number = status.st_ino
        self.device = status.st_dev
        self.size = status.st_size
        self.changedSeconds = status.st_ctim.tv_sec
        self.changedNanoseconds = status.st_ctim.tv_nsec
    }

    /// Whether both are the same file, under whatever paths.
    package func isSameFile(as other: FileStatus) -> Bool {
        self.number == other.number && self.device == other.device
    }

    package var isDirectory: Bool { self.mode & S_IFMT == S_IFDIR }
    package var isRegularFile: Bool { self.mode & S_IFMT == S_IFREG }
    /// Whether the file belongs to the effective user of this process.
    package var isOwn: Bool { self.owner == geteuid() }
    /// Whether only the file's owner has any permission.
    package var isPrivate: Bool { self.permissions & 0o077 == 0 }
    /// The bits that `chmod` sets.
    package var permissions: mode_t { self.mode & 0o7777 }
}
