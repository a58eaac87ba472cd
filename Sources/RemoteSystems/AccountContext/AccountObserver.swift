// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// Has it looked once a second, for as long as somebody holds on to it, whether another process has changed the account.
///
/// However many do, there is one timer; when the last one lets go there is none.
final class AccountObserver: Sendable {
    private struct State {
        /// Who holds on to it, with what tells those of news who want to hear of it.
        var holders: [UInt64: AsyncStream<Void>.Continuation?] = [:]
        var lastHolder: UInt64 = 0
        var looking: Task<Void, Never>?
    }

    private let environment: RuntimeEnvironment
    private let state = Mutex(State())

    private static let interval = Duration.seconds(1)

    init(_ environment: RuntimeEnvironment) {
        self.environment = environment
    }

    /// - Parameters:
    ///   - listener: what ``notify()`` tells.
    ///   - look: looks, from now on until nobody holds on any more.
    /// - Returns: what to let go with.
    func hold(_ listener: AsyncStream<Void>.Continuation? = nil, _ look: @escaping @Sendable () async -> Void)
        -> UInt64
    {
        self.state.withLock { state in
            state.lastHolder += 1
            state.holders[state.lastHolder] = .some(listener)
            if state.looking == nil {
                state.looking = Task(executorPreference: self.environment.taskExecutor) { [time = environment.time] in
                    while (try? await time.sleep(for: Self.interval)) != nil { await look() }
                }
            }
            return state.lastHolder
        }
    }

    func release(_ holder: UInt64) {
        let over = self.state.withLock { state -> Task<Void, Never>? in
            state.holders[holder] = nil
            return state.holders.isEmpty ? state.looking.take() : nil
        }
        over?.cancel()
    }

    /// There is news.
    func notify() {
        for listener in self.state.withLock({ $0.holders.values.compactMap(\.self) }) { listener.yield() }
    }
}
