// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization
internal import ValueSets

/// A call that somebody makes and waits for. Ties it to its cancellation, whichever of the two reaches the event loop first.
///
/// An object, since it goes from hand to hand for each message; with a lock, since it comes to the event loop from elsewhere.
final class OutgoingCall: Sendable {
    private struct State {
        var id: UInt64?
        var isCancelled = false
        var continuation: CheckedContinuation<Response, any Error>?
    }

    let message: ValueSet
    let key: [UInt8]?
    let metadata: ValueSet
    /// From when it was asked for until ``deadline``.
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

    /// The call has this number and is waited for. Returns whether it is still wanted; if not, the waiting has ended.
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

    /// The call is not wanted any more. Returns its number if it has been started.
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
