// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import Synchronization

/// The registration state of a host: what the host's parts report, the state that follows from it, and its observers.
final class HostRegistration: Sendable {
    private struct State {
        var isListening = false
        /// Whether each advertisement is in effect, by its id.
        var advertisements: [UInt64: Bool] = [:]
        var lastAnnouncement: UInt64 = 0
        var reported = RemoteSystemRegistrationState.unregistered
        var observers = StreamReaders<RemoteSystemRegistrationState>()
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let identity: @Sendable () -> SystemIdentity?
    private let now: @Sendable () -> Date

    /// Creates the registration of a host that does not run yet.
    ///
    /// - Parameters:
    ///   - identity: this system's identity; `nil` if it cannot be used. Called only while the host listens and is
    ///     advertised.
    ///   - now: the present time.
    init(identity: @escaping @Sendable () -> SystemIdentity?, now: @escaping @Sendable () -> Date = { Date() }) {
        self.identity = identity
        self.now = now
    }

    deinit {
        self.state.withLock { $0.observers.finish() }
    }

    /// The state at this moment.
    var current: RemoteSystemRegistrationState {
        self.state.withLock { self.evaluate($0) }
    }

    // MARK: Reports of the host's parts

    func listens(_ isListening: Bool) {
        self.change { $0.isListening = isListening }
    }

    /// Records an advertisement that is not in effect yet.
    ///
    /// - Returns: the id of the advertisement.
    func beginAnnouncement() -> UInt64 {
        self.state.withLock { state in
            state.lastAnnouncement += 1
            state.advertisements[state.lastAnnouncement] = false
            return state.lastAnnouncement
        }
    }

    /// Records whether an advertisement is in effect. Ignored for one that has ended.
    func advertisement(_ id: UInt64, isInEffect: Bool) {
        self.change { state in
            if state.advertisements[id] != nil { state.advertisements[id] = isInEffect }
        }
    }

    func endAnnouncement(_ id: UInt64) {
        self.change { $0.advertisements[id] = nil }
    }

    /// Evaluates the state again: the certificate may have expired, or another process may have renewed it.
    func refresh() {
        self.change { _ in }
    }

    /// The maximum time after which to call ``refresh()`` again.
    var timeToRefresh: Duration {
        guard let identity = self.identity() else { return Self.longestTime }
        let now = self.now()
        let next = [identity.renewalDate, identity.certificateValidity.upperBound].filter { $0 > now }.min()
        guard let next else { return Self.longestTime }
        return min(max(.seconds(next.timeIntervalSince(now)), .milliseconds(100)), Self.longestTime)
    }

    /// The maximum of ``timeToRefresh``: one minute, because another process may renew the certificate, and the clock
    /// may be set, at any time.
    private static let longestTime = Duration.seconds(60)

    /// Ends the registration: the host does not run again. Sequences end after the last state.
    func end() {
        self.change { state in
            state.isListening = false
            state.advertisements = [:]
        }
        self.state.withLock { state in
            state.hasEnded = true
            state.observers.finish()
        }
    }

    private func change(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            let new = self.evaluate(state)
            guard new != state.reported else { return }
            state.reported = new
            state.observers.yield(new)
        }
    }

    private func evaluate(_ state: State) -> RemoteSystemRegistrationState {
        guard state.isListening, state.advertisements.values.contains(true), let identity = self.identity() else {
            return .unregistered
        }
        return RemoteSystemRegistrationState(of: identity, at: self.now())
    }

    // MARK: Observing

    /// The present state, then each change. Buffers only the newest state.
    var states: AsyncStream<RemoteSystemRegistrationState> { self.observe().states }

    func observe() -> (states: AsyncStream<RemoteSystemRegistrationState>, id: ListenerID) {
        self.state.withLock { state in
            state.reported = self.evaluate(state)
            let (states, id) = state.observers.add(state.reported)
            if state.hasEnded { state.observers.finish(id) }
            return (states, id)
        }
    }

    func remove(_ id: ListenerID) {
        self.state.withLock { $0.observers.finish(id) }
    }
}
