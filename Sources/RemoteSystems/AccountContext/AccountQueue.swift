// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Runs the changes of the account's files one after the other, on a separate thread.
///
/// The thread blocks while another process holds the lock on the files.
final class AccountQueue: Sendable {
    private let queue = DispatchQueue(label: "remote-systems.account")
    private let waiting = Mutex(0)

    /// The maximum number of changes in the queue, including the current one. Peers can cause changes, so their number
    /// must be bounded.
    static let maxWaiting = 16

    /// The number of changes in the queue.
    var count: Int { self.waiting.withLock { $0 } }

    /// Runs a change of the account's files.
    ///
    /// - Throws: any error of the body; ``RemoteSystemError`` when the queue is full.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        let hasCapacity = self.waiting.withLock { waiting in
            guard waiting < Self.maxWaiting else { return false }
            waiting += 1
            return true
        }
        guard hasCapacity else {
            throw RemoteSystemError(
                .localResources,
                "Too many changes of the account are already waiting for its files. Try again in a moment.",
                side: .local,
                canRetry: true
            )
        }
        defer { self.waiting.withLock { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
