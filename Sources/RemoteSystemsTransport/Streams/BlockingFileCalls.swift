// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOPosix

/// Calls that may wait for a disk, on NIO's thread pool.
///
/// Dispatch is no place for them: it has as many threads as the machine has cores, which it shares with Swift's tasks.
package enum BlockingFileCalls {
    /// Runs a call, also if the task was cancelled.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            NIOThreadPool.singleton.submit { _ in continuation.resume(returning: body()) }
        }
    }
}
