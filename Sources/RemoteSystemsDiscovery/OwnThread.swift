// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Runs calls that block, each on a thread of its own.
///
/// A serial queue has such a thread. Concurrent and global queues have as many threads together as the machine has
/// cores, share them with Swift's tasks, and add one in each second while all of them wait.
package enum OwnThread {
    /// Starts a call.
    package static func start(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "remote-systems.own-thread").async(execute: body)
    }

    /// Runs a call, also if the task was cancelled.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Self.start { continuation.resume(returning: body()) }
        }
    }
}
