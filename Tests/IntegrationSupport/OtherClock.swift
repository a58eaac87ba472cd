// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// libfaketime, which shifts the real-time clock of one process. The clock of the machine is never set.
package enum OtherClock {
    private static let library = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib64/faketime/libfaketimeMT.so.1",
    ].first { FileManager.default.fileExists(atPath: $0) }

    package static var isThere: Bool {
        if Self.library == nil { print("SKIPPED: tests with a wrong clock: libfaketime is not installed") }
        return Self.library != nil
    }

    /// The arguments before a program whose clock is off by so many hours. Its monotonic clock is not.
    ///
    /// The library changes the environment of the first process that loads it, after which Swift does not find the
    /// process's arguments. So this process is a shell.
    package static func off(byHours hours: Int) -> [String] {
        [
            "env", "LD_PRELOAD=\(Self.library ?? "")", "FAKETIME=\(hours < 0 ? "" : "+")\(hours)h",
            "FAKETIME_DONT_FAKE_MONOTONIC=1", "/bin/sh", "-c", #"exec "$@""#, "sh",
        ]
    }
}
