// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import Synchronization
package import ValueSets

/// Follows one topic of one system.
///
/// A subscriber outlives connections. Over another connection it resumes if the publisher can, and receives a snapshot
/// otherwise. Changes that the owner has not taken are merged, so that the subscriber holds at most one version of each
/// record. While the owner is busy, the publisher soon stops sending, and coalesces.
package final class StateSubscriber: Sendable {
    /// The default credit for a publisher, in bytes.
    package static let defaultWindow = 256 << 10

    package let schema: TopicSchema
    private let budget: StateBudget
    private let pace: StatePace?

    private struct State {
        var machine: StateSubscriberStateMachine
        /// The stream that resumes ``follow(over:_:)``; `nil` while no call is running.
        var signal: AsyncStream<Void>.Continuation?
        var end: StateEnd?
        /// Whether the subscription belongs to the current call of ``follow(over:_:)``. An earlier one may not have
        /// ended yet.
        var isBegun = false
        /// The bytes that are counted in the budget, and the holder that they are counted for; `nil` before the first
        /// subscription.
        var counted: (bytes: Int, holder: QuotaHolder?) = (0, nil)
    }

    private let state: Mutex<State>

    /// Creates a subscriber for a topic. It is not subscribed yet.
    ///
    /// - Parameters:
    ///   - budget: limits the state that this and other subscribers hold. Defaults to the budget of the process.
    ///   - window: the number of bytes that the publisher may send before this side has taken them. Defaults to 256
    ///     KiB. Valid range: 64 KiB–16 MiB; clamped.
    ///   - pace: limits how fast further credit is granted. Defaults to `nil`: not limited.
    package init(
        _ schema: TopicSchema,
        budget: StateBudget = .shared,
        window: Int = StateSubscriber.defaultWindow,
        pace: StatePace? = nil
    ) {
        self.schema = schema
        self.pace = pace
        self.budget = budget
        self.state = Mutex(State(machine: StateSubscriberStateMachine(schema, window: window, isPaced: pace != nil)))
    }

    deinit {
        let counted = self.state.withLock { $0.counted }
        if let holder = counted.holder { _ = self.budget.add(-counted.bytes, of: holder) }
    }

    /// The records of the newest version that arrived completely.
    package var records: [StateKey: ValueSet] {
        self.state.withLock { $0.machine.records.mapValues(\.value) }
    }

    /// Whether the subscription that is being followed has ended.
    package var hasEnded: Bool { self.state.withLock { $0.end != nil } }

    /// The length of the keys and records that are kept, in bytes.
    package var bytes: Int { self.state.withLock { $0.machine.bytes } }

    // MARK: Following

    /// Subscribes, and applies each change until the subscription ends.
    ///
    /// The first change reports that the state is current, even if it is empty. A topic has one subscription on a
    /// connection: a second one begins when the first has ended.
    ///
    /// - Parameter apply: applies a change. An error that it throws ends the subscription.
    /// - Returns: how the subscription ended; ``StateEnd/unsubscribed`` if the task was cancelled.
    /// - Throws: the error of `apply`; ``TransportError`` if the topic is being followed already.
    package func follow(
        over connection: Connection,
        _ apply: (StateChange) async throws -> Void
    ) async throws -> StateEnd {
        let signals = try self.start(over: connection)
        defer { self.stop(over: connection) }
        for await _ in signals {
            while let change = self.takeChange() {
                try await apply(change)
                connection.onEventLoop { $0.grantState(to: self) }
            }
            if let end = self.state.withLock({ $0.end }) { return end }
        }
        return .unsubscribed
    }

    private func start(over connection: Connection) throws -> AsyncStream<Void> {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try self.state.withLock { state throws(TransportError) in
            guard state.signal == nil else {
                throw TransportError(
                    .invalidMessage,
                    "The topic \(self.schema.name) is followed already.",
                    side: .local
                )
            }
            state.signal = signal
            state.end = nil
            state.isBegun = false
        }
        connection.onEventLoop { $0.subscribe(self) }
        return signals
    }

    private func stop(over connection: Connection) {
        self.state.withLock { state in
            state.signal?.finish()
            state.signal = nil
        }
        connection.onEventLoop { $0.unsubscribe(self) }
    }

    private func takeChange() -> StateChange? {
        self.state.withLock { $0.machine.takeChange() }
    }

    // MARK: Called by the connection, on its event loop

    /// Begins the subscription on a connection to a peer with this holder of a quota.
    ///
    /// - Returns: the message to send; `nil` if ``follow(over:_:)`` is no longer running.
    func begin(with holder: QuotaHolder) -> StateMessage? {
        self.state.withLock { state in
            guard state.signal != nil else { return nil }
            state.isBegun = true
            if state.counted.holder != holder {
                if let former = state.counted.holder { _ = self.budget.add(-state.counted.bytes, of: former) }
                _ = self.budget.add(state.counted.bytes, of: holder)
                state.counted.holder = holder
            }
            return state.machine.subscribe()
        }
    }

    /// Handles a part of a snapshot or delta. Call ``grant()`` afterwards.
    ///
    /// - Returns: the message to send.
    func received(_ part: StateMessage.Part, frameBytes: Int) -> StateMessage? {
        self.state.withLock { state in
            var message = state.machine.received(part, frameBytes: frameBytes)
            if !self.count(&state), let objection = state.machine.object(.budgetExceeded) {
                message = objection
                _ = self.count(&state)
            }
            if state.machine.hasChange { state.signal?.yield() }
            return message
        }
    }

    private func count(_ state: inout State) -> Bool {
        let growth = state.machine.bytes - state.counted.bytes
        // Nothing arrives before the first subscription.
        guard growth != 0, let holder = state.counted.holder else { return true }
        state.counted.bytes += growth
        return self.budget.add(growth, of: holder)
    }

    /// Credit for the publisher.
    enum Grant {
        case message(StateMessage)
        /// Credit is due, and to be granted after this time.
        case later(Duration)
    }

    /// Returns the credit that is due, if any.
    func grant() -> Grant? {
        self.state.withLock { state in
            guard let bytes = state.machine.dueCredit else { return nil }
            if let pace = self.pace, let holder = state.counted.holder,
                let delay = pace.delay(granting: bytes, to: holder)
            {
                return .later(delay)
            }
            return state.machine.grant().map { .message($0) }
        }
    }

    func leave() -> StateMessage? {
        self.state.withLock { state in
            defer { _ = self.count(&state) }
            return state.machine.unsubscribe()
        }
    }

    func ended(_ reason: StateEndReason) {
        self.end(isFinal: false) { $0.ended(reason) }
    }

    func connectionEnded() {
        self.end(isFinal: true) { $0.connectionEnded() ?? .connectionEnded }
    }

    /// Ends the subscription by a transition of the state machine.
    ///
    /// - Parameter isFinal: whether a subscription that waits for an earlier one ends, too.
    private func end(isFinal: Bool, _ transition: (inout StateSubscriberStateMachine) -> StateEnd?) {
        self.state.withLock { state in
            let end = transition(&state.machine)
            _ = self.count(&state)
            guard state.isBegun || isFinal else { return }
            // The subscription that ended may be an earlier one; the waiting one ends only with the connection.
            state.end = state.isBegun ? end : .connectionEnded
            state.signal?.yield()
        }
    }
}
