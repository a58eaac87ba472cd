// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// A running host's listener.
final class HostListening: Sendable {
    private struct State {
        var listener: Listener?
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// The port that the host listens on; `nil` while it does not listen.
    var port: Int? { self.state.withLock { $0.listener?.port } }

    /// Replaces the listener.
    ///
    /// - Returns: the listener to stop: the previous one, or the new one when the host has ended meanwhile.
    func replace(with listener: Listener) -> Listener? {
        self.state.withLock { state in
            guard !state.hasEnded else { return listener }
            defer { state.listener = listener }
            return state.listener
        }
    }

    /// Ends listening for good.
    ///
    /// - Returns: the listener to stop.
    func end() -> Listener? {
        self.state.withLock { state in
            defer { state = State(hasEnded: true) }
            return state.listener
        }
    }
}
