// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// Where a running host takes connections, and its note for other processes of its system. Both are replaced together.
final class HostListening: Sendable {
    private struct State {
        var listener: Listener?
        var note: RunningNote?
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// The port; `nil` while it does not listen.
    var port: Int? { self.state.withLock { $0.listener?.port } }

    /// Listens there from now on.
    ///
    /// - Returns: what has to be stopped: the listener before, or this one when the host has ended meanwhile.
    func replace(with listener: Listener, note: RunningNote?) -> Listener? {
        self.state.withLock { state in
            guard !state.hasEnded else { return listener }
            defer { (state.listener, state.note) = (listener, note) }
            return state.listener
        }
    }

    /// Listens no more.
    ///
    /// - Returns: what has to be stopped.
    func end() -> Listener? {
        self.state.withLock { state in
            defer { state = State(hasEnded: true) }
            return state.listener
        }
    }
}
