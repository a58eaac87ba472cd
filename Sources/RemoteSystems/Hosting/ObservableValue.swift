// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import Synchronization

/// A value whose changes can be awaited.
final class ObservableValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var listeners = ListenerTable<AsyncStream<Void>.Continuation>()
    }

    private let state: Mutex<State>

    init(_ value: Value) { self.state = Mutex(State(value: value)) }

    var value: Value { self.state.withLock { $0.value } }

    func change(_ change: (inout Value) -> Void) {
        let listeners = self.state.withLock { state in
            change(&state.value)
            return state.listeners.all
        }
        for listener in listeners { listener.yield() }
    }

    /// Returns once the value satisfies the condition, or when the task is cancelled.
    func becomes(_ isWanted: (Value) -> Bool) async {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = self.state.withLock { $0.listeners.add(continuation) }
        defer { self.state.withLock { _ = $0.listeners.remove(id) } }
        continuation.yield()
        for await _ in changes where isWanted(self.value) { return }
    }
}
