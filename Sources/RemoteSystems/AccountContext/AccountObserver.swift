// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// Checks once a second, while it has observers, whether another process has changed the account.
///
/// All observers share one timer. It stops at its next check after the last observer is released. A program that opens
/// one short connection after another would otherwise start and stop it for each of them.
final class AccountObserver: Sendable {
    private struct State {
        /// Registered observers and the continuations that ``notify()`` yields to, keyed by registration id.
        var holders: [UInt64: AsyncStream<Void>.Continuation?] = [:]
        var lastHolder: UInt64 = 0
        var isLooking = false
    }

    private let environment: RuntimeEnvironment
    private let state = Mutex(State())

    private static let interval = Duration.seconds(1)

    init(_ environment: RuntimeEnvironment) {
        self.environment = environment
    }

    /// Registers an observer.
    ///
    /// - Parameters:
    ///   - listener: receives an element for each ``notify()``.
    ///   - look: the check to run once a second while there are observers. Only the check of the first observer is
    ///     used.
    /// - Returns: the id to pass to ``release(_:)``.
    func hold(_ listener: AsyncStream<Void>.Continuation? = nil, _ look: @escaping @Sendable () async -> Void)
        -> UInt64
    {
        let (holder, isFirst) = self.state.withLock { state in
            state.lastHolder += 1
            state.holders[state.lastHolder] = .some(listener)
            defer { state.isLooking = true }
            return (state.lastHolder, !state.isLooking)
        }
        if isFirst {
            Task(executorPreference: self.environment.taskExecutor) { [time = environment.time] in
                while (try? await time.sleep(for: Self.interval)) != nil, self.isStillNeeded { await look() }
            }
        }
        return holder
    }

    func release(_ holder: UInt64) {
        self.state.withLock { $0.holders[holder] = nil }
    }

    /// Whether there are observers. If there are none, the next one starts another timer.
    private var isStillNeeded: Bool {
        self.state.withLock { state in
            state.isLooking = !state.holders.isEmpty
            return state.isLooking
        }
    }

    /// Reports a change to all observers that have a listener.
    func notify() {
        for listener in self.state.withLock({ $0.holders.values.compactMap(\.self) }) { listener.yield() }
    }
}
