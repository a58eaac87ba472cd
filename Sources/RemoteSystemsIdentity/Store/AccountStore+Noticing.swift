// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension AccountStore {
    /// Identifies the current versions of the files that change during an account's life. Two values are equal if no
    /// process replaced a file in between.
    package struct Version: Hashable, Sendable {
        fileprivate var files: [File?]

        /// Files are only ever replaced as a whole, so each version has its own inode.
        fileprivate struct File: Hashable {
            var device: UInt64
            var number: UInt64
            var seconds: Int
            var nanoseconds: Int
        }
    }

    /// Returns the current version, to compare with an earlier one. Takes a few microseconds, so it can be called every
    /// second.
    package func version() -> Version {
        let files = [
            StoredAccount.File.systemCertificate, StoredAccount.File.revokedSystems, StoredAccount.File.rootCertificate,
            StoredAccount.File.discoveryKey, StoredAccount.File.links, StoredAccount.File.learnedLinks,
            StoredAccount.File.joinedSystems,
        ]
        return Version(
            files: (files.map { "\(Self.accountName)/\($0)" } + [Self.systemNameName]
                + StateFile.followed.map(\.name)).map { path in
                    var status = stat()
                    guard unsafe stat("\(self.directory)/\(path)", &status) == 0 else { return nil }
                    return Version.File(
                        device: UInt64(status.st_dev),
                        number: UInt64(status.st_ino),
                        seconds: status.st_mtim.tv_sec,
                        nanoseconds: status.st_mtim.tv_nsec
                    )
                }
        )
    }
}
