// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import Synchronization

/// Checks once a second, while it has observers, whether another process has changed the account.
///
/// All observers share one timer. It stops at its next check after the last observer is released. A program that opens
/// one short connection after another would otherwise start and stop it for each of them.
final class AccountObserver: Sendable {
    private struct State {
        /// Registered observers and the continuations that ``notify()`` yields to.
        var holders = ListenerTable<AsyncStream<Void>.Continuation?>()
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
        -> ListenerID
    {
        let (holder, isFirst) = self.state.withLock { state in
            defer { state.isLooking = true }
            return (state.holders.add(listener), !state.isLooking)
        }
        if isFirst {
            Task(executorPreference: self.environment.taskExecutor) { [time = environment.time] in
                while (try? await time.sleep(for: Self.interval)) != nil, self.isStillNeeded { await look() }
            }
        }
        return holder
    }

    func release(_ holder: ListenerID) {
        self.state.withLock { _ = $0.holders.remove(holder) }
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
        for listener in self.state.withLock({ $0.holders.all.compactMap(\.self) }) { listener.yield() }
    }
}
