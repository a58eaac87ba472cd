// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Where the account's files are changed: one change after the other, on a thread on which nobody else waits, since the lock
/// on the files blocks it for as long as another process has it.
final class AccountQueue: Sendable {
    private let queue = DispatchQueue(label: "remote-systems.account")
    private let waiting = Mutex(0)

    /// How many changes may wait, counting the one under way: it is in others' hands how many they bring.
    static let maxWaiting = 16

    /// How many do.
    var count: Int { self.waiting.withLock { $0 } }

    /// - Throws: what the body throws; ``RemoteSystemError`` when too many wait.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        let hasCapacity = self.waiting.withLock { waiting in
            guard waiting < Self.maxWaiting else { return false }
            waiting += 1
            return true
        }
        guard hasCapacity else {
            throw RemoteSystemError(
                .localResources,
                "Too many changes of the account wait for its files already. Try again in a moment.",
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
