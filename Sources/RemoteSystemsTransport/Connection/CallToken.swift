// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Ties a call to its cancellation, whichever of the two reaches the event loop first.
final class CallToken: Sendable {
    private enum State {
        case new
        case started(UInt64)
        case cancelled
    }

    private let state = Mutex(State.new)

    /// The call has this number. Returns whether it is still wanted.
    func start(id: UInt64) -> Bool {
        self.state.withLock { state in
            if case .cancelled = state { return false }
            state = .started(id)
            return true
        }
    }

    /// The call is not wanted any more. Returns its number if it has been started.
    func cancel() -> UInt64? {
        self.state.withLock { state in
            defer { state = .cancelled }
            if case .started(let id) = state { return id }
            return nil
        }
    }
}
