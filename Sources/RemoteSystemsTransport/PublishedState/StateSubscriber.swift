// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization
package import ValueSets

/// Follows one topic of one system.
///
/// It outlives connections: followed over another one, it resumes where it was if the publisher can, and otherwise
/// receives a snapshot. Changes that the owner has not taken yet are merged, so that it keeps at most one version of
/// each record; while the owner is busy, the publisher soon stops sending, and coalesces.
package final class StateSubscriber: Sendable {
    /// The credit granted to a publisher unless another is chosen, in bytes.
    package static let defaultWindow = 256 << 10

    package let schema: TopicSchema
    private let budget: StateBudget

    private struct State {
        var machine: StateSubscriberStateMachine
        /// Wakes ``follow(over:_:)``; `nil` while nothing is followed.
        var signal: AsyncStream<Void>.Continuation?
        var end: StateEnd?
        /// Whether the subscription is that of the current call of ``follow(over:_:)``; an earlier one may not have
        /// ended yet.
        var isBegun = false
        /// What is counted in the budget, and for which system.
        var counted = (bytes: 0, peer: "")
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - budget: bounds what this and other subscribers keep.
    ///   - window: how many bytes the publisher may send before this side has taken them. Valid range: 64 KiB–16 MiB.
    package init(_ schema: TopicSchema, budget: StateBudget = .shared, window: Int = StateSubscriber.defaultWindow) {
        self.schema = schema
        self.budget = budget
        self.state = Mutex(State(machine: StateSubscriberStateMachine(schema, window: window)))
    }

    deinit {
        let counted = self.state.withLock { $0.counted }
        _ = self.budget.add(-counted.bytes, of: counted.peer)
    }

    /// The records as of the newest version that arrived completely.
    package var records: [StateKey: ValueSet] {
        self.state.withLock { $0.machine.records.mapValues(\.value) }
    }

    // MARK: Following

    /// Subscribes, and applies one change after another until the subscription ends.
    ///
    /// The first change says that the state is current, even if it holds nothing. A topic has one subscription on a
    /// connection: a second one begins when the first has ended.
    ///
    /// - Parameter apply: What it throws ends the subscription.
    /// - Returns: How the subscription ended; ``StateEnd/unsubscribed`` if the task was cancelled.
    /// - Throws: What `apply` throws; ``TransportError`` if the topic is being followed already.
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

    // MARK: What the connection does, on its event loop

    /// - Returns: What to send; `nil` if nobody follows any more.
    func begin(with peer: String) -> StateMessage? {
        self.state.withLock { state in
            guard state.signal != nil else { return nil }
            state.isBegun = true
            if state.counted.peer != peer {
                _ = self.budget.add(-state.counted.bytes, of: state.counted.peer)
                _ = self.budget.add(state.counted.bytes, of: peer)
                state.counted.peer = peer
            }
            return state.machine.subscribe()
        }
    }

    /// - Returns: What to send.
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
        state.counted.bytes += growth
        return growth == 0 || self.budget.add(growth, of: state.counted.peer)
    }

    func grant() -> StateMessage? {
        self.state.withLock { $0.machine.grant() }
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

    /// - Parameter isFinal: ends a subscription that waits for an earlier one, too.
    private func end(isFinal: Bool, _ transition: (inout StateSubscriberStateMachine) -> StateEnd?) {
        self.state.withLock { state in
            let end = transition(&state.machine)
            _ = self.count(&state)
            guard state.isBegun || isFinal else { return }
            // What ended may have been the earlier subscription; the waiting one ends with the connection.
            state.end = state.isBegun ? end : .connectionEnded
            state.signal?.yield()
        }
    }
}
