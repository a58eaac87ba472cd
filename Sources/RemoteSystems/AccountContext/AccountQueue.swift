// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Runs the changes of the account's files one after the other, on a separate thread.
///
/// The thread blocks while another process holds the lock on the files. What peers cause has a limit, and no more than
/// one change of a peer runs before one of this process: a peer must not delay its own revocation.
final class AccountQueue: Sendable {
    private let queue = DispatchQueue(label: "remote-systems.account")
    /// Passes the changes of peers to ``queue``, one at a time.
    private let queueOfPeers = DispatchQueue(label: "remote-systems.account.peers")
    private let own = Mutex(0)
    private let ofPeers = Mutex(
        KeyedLimiter<QuotaHolder>(total: AccountQueue.maxOfPeers, perKey: AccountQueue.maxOfPeer, sharesOfFree: 2)
    )

    /// The maximum number of changes of peers in the queue, including the current one.
    static let maxOfPeers = 64
    /// The maximum number of them of one system or linked account, which gets at most half of the free places.
    static let maxOfPeer = 8

    /// The number of changes in the queue.
    var count: Int { self.own.withLock { $0 } + self.ofPeers.withLock { $0.count } }

    /// Runs a change of this process. There is no limit: a task of the process waits for each.
    ///
    /// - Throws: any error of the body.
    func run<Result: Sendable, Failure>(
        _ body: @escaping @Sendable () throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        defer { self.own.withLock { $0 -= 1 } }
        let outcome: Swift.Result<Result, Failure> = await withCheckedContinuation { continuation in
            self.queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
            // Counted once it is in the queue, before this function can continue.
            self.own.withLock { $0 += 1 }
        }
        return try outcome.get()
    }

    /// Runs a change that a peer causes.
    ///
    /// - Throws: any error of the body; ``RemoteSystemError`` when there are too many, or too many of the holder.
    func run<Result: Sendable>(
        for holder: QuotaHolder,
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        guard self.ofPeers.withLock({ $0.enter(holder) }) else {
            throw RemoteSystemError(
                .localResources,
                "Too many changes of the account are already waiting for its files. Try again in a moment.",
                side: .local,
                canRetry: true
            )
        }
        defer { self.ofPeers.withLock { $0.leave(holder) } }
        return try await withCheckedThrowingContinuation { continuation in
            self.queueOfPeers.async {
                self.queue.sync { continuation.resume(with: Swift.Result { try body() }) }
            }
        }
    }
}
