// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import Synchronization

/// Checks once a second, while it has observers, whether another process has changed the account.
///
/// All observers share one timer, which stops when the last one is released.
final class AccountObserver: Sendable {
    private struct State {
        /// Registered observers and the continuations that ``notify()`` yields to.
        var holders = ListenerTable<AsyncStream<Void>.Continuation?>()
        var looking: Task<Void, Never>?
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
    ///   - look: the check to run once a second while there are observers. Only the first observer's is used.
    /// - Returns: the id to pass to ``release(_:)``.
    func hold(_ listener: AsyncStream<Void>.Continuation? = nil, _ look: @escaping @Sendable () async -> Void)
        -> ListenerID
    {
        self.state.withLock { state in
            if state.looking == nil {
                state.looking = Task(executorPreference: self.environment.taskExecutor) { [time = environment.time] in
                    while (try? await time.sleep(for: Self.interval)) != nil { await look() }
                }
            }
            return state.holders.add(listener)
        }
    }

    func release(_ holder: ListenerID) {
        let over = self.state.withLock { state -> Task<Void, Never>? in
            _ = state.holders.remove(holder)
            return state.holders.isEmpty ? state.looking.take() : nil
        }
        over?.cancel()
    }

    /// Reports a change to all observers that have a listener.
    func notify() {
        for listener in self.state.withLock({ $0.holders.all.compactMap(\.self) }) { listener.yield() }
    }
}
