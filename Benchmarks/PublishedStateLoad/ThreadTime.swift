// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The processor time of a thread, in seconds.
struct ThreadTime: Sendable {
    var user = 0.0
    var system = 0.0

    var total: Double { self.user + self.system }

    /// `RUSAGE_THREAD`, which the C library declares only with `_GNU_SOURCE`.
    private static let thread: CInt = 1

    /// The processor time of the calling thread.
    static var current: ThreadTime {
        var usage = rusage()
        _ = unsafe getrusage(Self.thread, &usage)
        return ThreadTime(
            user: Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6,
            system: Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) / 1e6
        )
    }

    static func + (left: ThreadTime, right: ThreadTime) -> ThreadTime {
        ThreadTime(user: left.user + right.user, system: left.system + right.system)
    }

    static func - (left: ThreadTime, right: ThreadTime) -> ThreadTime {
        ThreadTime(user: left.user - right.user, system: left.system - right.system)
    }
}
