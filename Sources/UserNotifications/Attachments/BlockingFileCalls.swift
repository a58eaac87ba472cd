// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Calls that wait for the disk, on threads that may.
enum BlockingFileCalls {
    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }
}
