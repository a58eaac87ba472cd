// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Where GIO's calls are made, which block: on threads that may be blocked. Each takes a bounded time, and a host has no more
/// than a few launches and starts under way at once.
enum BlockingCalls {
    private static let queue = DispatchQueue(label: "remote-systems.desktop", attributes: .concurrent)

    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: body()) }
        }
    }
}
