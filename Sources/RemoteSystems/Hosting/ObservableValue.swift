// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value whose changes can be awaited.
final class ObservableValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var readers = StreamReaders<Void>()
    }

    private let state: Mutex<State>

    init(_ value: Value) { self.state = Mutex(State(value: value)) }

    var value: Value { self.state.withLock { $0.value } }

    func change(_ change: (inout Value) -> Void) {
        self.state.withLock { state in
            change(&state.value)
            state.readers.yield(())
        }
    }

    /// Returns once the value satisfies the condition, or when the task is cancelled.
    func becomes(_ isWanted: (Value) -> Bool) async {
        let (changes, id) = self.state.withLock { $0.readers.add(()) }
        defer { self.state.withLock { $0.readers.finish(id) } }
        for await _ in changes where isWanted(self.value) { return }
    }
}
