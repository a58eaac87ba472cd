// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization
internal import ValueSets

/// A call of this side that waits for its response. It connects the call to its cancellation, whichever reaches the
/// event loop first.
///
/// It is a class because it is passed on several times for each message. It has a lock because calls start and are
/// cancelled on other threads.
final class OutgoingCall: Sendable {
    private struct State {
        var id: UInt64?
        var isCancelled = false
        var continuation: CheckedContinuation<Response, any Error>?
    }

    let message: ValueSet
    let key: [UInt8]?
    let metadata: ValueSet
    /// The time from the call's creation until ``deadline``.
    let timeout: TimeAmount
    let deadline: NIODeadline
    private let state = Mutex(State())

    init(message: ValueSet, key: [UInt8]?, metadata: ValueSet, timeout: TimeAmount, deadline: NIODeadline) {
        self.message = message
        self.key = key
        self.metadata = metadata
        self.timeout = timeout
        self.deadline = deadline
    }

    /// Assigns the id and the continuation. Returns `false` if the call was cancelled already; its continuation is then
    /// resumed.
    func start(id: UInt64, _ continuation: CheckedContinuation<Response, any Error>) -> Bool {
        let isWanted = self.state.withLock { state in
            guard !state.isCancelled else { return false }
            state.id = id
            state.continuation = continuation
            return true
        }
        if !isWanted { continuation.resume(throwing: CancellationError()) }
        return isWanted
    }

    /// Marks the call as cancelled. Returns its id if it has started.
    func cancel() -> UInt64? {
        self.state.withLock { state in
            state.isCancelled = true
            return state.id
        }
    }

    func succeed(_ response: Response) { self.takeContinuation()?.resume(returning: response) }
    func fail(_ error: any Error) { self.takeContinuation()?.resume(throwing: error) }

    private func takeContinuation() -> CheckedContinuation<Response, any Error>? {
        self.state.withLock { $0.continuation.take() }
    }
}

/// A call of another thread, on its way to the event loop.
struct SubmittedCall: Sendable {
    var call: OutgoingCall
    var continuation: CheckedContinuation<Response, any Error>
}
