// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// What there is to know of a file before it is trusted. A symbolic link is told of itself, not of what it leads to.
package struct FileStatus: Sendable {
    private let mode: mode_t
    private let owner: uid_t

    /// `nil`, with `errno` set, when it cannot be known.
    package init?(path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// `nil`, with `errno` set, when it cannot be known.
    package init?(descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        self.mode = status.st_mode
        self.owner = status.st_uid
    }

    package var isDirectory: Bool { self.mode & S_IFMT == S_IFDIR }
    package var isRegularFile: Bool { self.mode & S_IFMT == S_IFREG }
    /// Whether it belongs to the user that this process acts for.
    package var isOwn: Bool { self.owner == geteuid() }
    /// Whether nobody but its owner may do anything with it.
    package var isPrivate: Bool { self.permissions & 0o077 == 0 }
    /// The bits that `chmod` sets.
    package var permissions: mode_t { self.mode & 0o7777 }
}
