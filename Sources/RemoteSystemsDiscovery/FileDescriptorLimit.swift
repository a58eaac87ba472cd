// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// `pollfd` comes from one module or the other, depending on the order of the build.
import CRemoteSystemsAvahi
import Glibc

/// The file-descriptor limit of this process. Some libraries end the process if they get no descriptor, so capacity is
/// checked before calling them.
package enum FileDescriptorLimit {
    /// The maximum number of open descriptors: the soft limit of RLIMIT_NOFILE, or 1024 if it cannot be read.
    package static var limit: Int {
        var limits = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return 1024 }
        return Int(clamping: limits.rlim_cur)
    }

    /// Whether the process can open this many more descriptors now. The check needs no descriptor.
    package static func hasCapacity(for count: Int) -> Bool {
        let limit = Self.limit
        var free = 0
        var next = 0
        // The kernel assigns the lowest free number first, so the free numbers come soon and the loop ends early.
        while free < count, next < limit {
            var window = (next..<min(next + 256, limit)).map { pollfd(fd: Int32($0), events: 0, revents: 0) }
            guard unsafe poll(&window, nfds_t(window.count), 0) >= 0 else { return true }
            free += window.count { Int32($0.revents) & POLLNVAL != 0 }
            next += window.count
        }
        return free >= count
    }
}
