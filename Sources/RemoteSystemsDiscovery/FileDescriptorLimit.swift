// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Whichever of the two a build reads first is where `pollfd` is from.
import CRemoteSystemsAvahi
import Glibc

/// The files and sockets that this process may open. Libraries that are given none end the process, so it is asked before.
package enum FileDescriptorLimit {
    /// How many it may have open at once (RLIMIT_NOFILE).
    package static var limit: Int {
        var limits = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return 1024 }
        return Int(clamping: limits.rlim_cur)
    }

    /// Whether it may open so many more now. Needs no descriptor to find out.
    package static func hasCapacity(for count: Int) -> Bool {
        let limit = Self.limit
        var free = 0
        var next = 0
        // The lowest that is free is given out first, so this ends soon.
        while free < count, next < limit {
            var window = (next..<min(next + 256, limit)).map { pollfd(fd: Int32($0), events: 0, revents: 0) }
            guard unsafe poll(&window, nfds_t(window.count), 0) >= 0 else { return true }
            free += window.count { Int32($0.revents) & POLLNVAL != 0 }
            next += window.count
        }
        return free >= count
    }
}
