// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization

/// Matches requests that wait for a reader with readers that wait for a request. The peer's window limits the waiting
/// requests.
///
/// The next request reserves a reader. If an interceptor refuses the request, its reader is released to the next
/// request.
final class RequestQueue: Sendable {
    typealias ReaderID = UInt64

    private struct Waiting {
        var id: UInt64
        var request: PushedRequest
        var continuation: CheckedContinuation<ReaderID?, Never>
    }

    private struct Reader {
        var id: ReaderID
        var continuation: CheckedContinuation<AppServiceRequest?, any Error>
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The readers without a request, in order of arrival.
        var readers: [Reader] = []
        /// The readers that are reserved for a request.
        var reserved: [ReaderID: Reader] = [:]
        var end: Result<Void, RemoteSystemError>?
        var lastID: UInt64 = 0

        mutating func makeID() -> UInt64 {
            self.lastID += 1
            return self.lastID
        }

        mutating func removeReader(_ id: ReaderID) -> Reader? {
            if let reserved = self.reserved.removeValue(forKey: id) { return reserved }
            return self.readers.firstIndex { $0.id == id }.map { self.readers.remove(at: $0) }
        }
    }

    private let state = Mutex(State())

    // MARK: Requests

    /// Waits until the request is next and its connection is open.
    ///
    /// - Parameter isFirst: whether the request had a reader before, and so goes to the front.
    /// - Returns: a reader reserved for this request, until ``hand(_:to:)`` or ``release(_:)``; `nil` when the sequence
    ///   has ended, the connection is closed or the task is cancelled.
    func reader(for request: PushedRequest, isFirst: Bool = false) async -> ReaderID? {
        let id = self.state.withLock { $0.makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = self.state.withLock { state in
                    // The task may be cancelled before this point; the cancellation handler has then found nothing.
                    guard state.end == nil, !Task.isCancelled else { return false }
                    let waiting = Waiting(id: id, request: request, continuation: continuation)
                    state.waiting.insert(waiting, at: isFirst ? 0 : state.waiting.endIndex)
                    return true
                }
                if isWaiting { self.advance() } else { continuation.resume(returning: nil) }
            }
        } onCancel: {
            let waiting = self.state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            waiting?.continuation.resume(returning: nil)
        }
    }

    /// Passes a request to the reader reserved for it.
    ///
    /// - Returns: whether the reader was still waiting.
    func hand(_ request: AppServiceRequest, to id: ReaderID) -> Bool {
        guard let reader = self.state.withLock({ $0.reserved.removeValue(forKey: id) }) else { return false }
        reader.continuation.resume(returning: request)
        return true
    }

    /// Releases a reader that received no request to the next request.
    func release(_ id: ReaderID) {
        let isThere = self.state.withLock { state in
            guard let reader = state.reserved.removeValue(forKey: id) else { return false }
            state.readers.insert(reader, at: 0)
            return true
        }
        if isThere { self.advance() }
    }

    // MARK: Readers

    /// Waits for a request.
    func next() async throws -> AppServiceRequest? {
        let id = self.state.withLock { $0.makeID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let end = self.state.withLock { state -> Result<AppServiceRequest?, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    switch state.end {
                    case .success: return .success(nil)
                    case .failure(let error): return .failure(error)
                    case nil:
                        state.readers.append(Reader(id: id, continuation: continuation))
                        return nil
                    }
                }
                if let end { continuation.resume(with: end) } else { self.advance() }
            }
        } onCancel: {
            let reader = self.state.withLock { $0.removeReader(id) }
            reader?.continuation.resume(throwing: CancellationError())
        }
    }

    // MARK: Matching

    /// Reserves readers for requests as long as both are waiting.
    func advance() {
        while let (id, request) = self.nextRequest() {
            // Not under the lock: reading the state may release the last reference to the connection, whose end calls
            // this queue.
            let state = request.receptionState
            if case .opening = state { return }
            var isOpen = false
            if case .open = state { isOpen = true }
            let (waiting, reader) = self.state.withLock { state -> (Waiting?, Reader?) in
                guard state.waiting.first?.id == id, !state.readers.isEmpty else { return (nil, nil) }
                let waiting = state.waiting.removeFirst()
                guard isOpen else { return (waiting, nil) }
                let reader = state.readers.removeFirst()
                state.reserved[reader.id] = reader
                return (waiting, reader)
            }
            waiting?.continuation.resume(returning: reader?.id)
        }
    }

    private func nextRequest() -> (id: UInt64, request: PushedRequest)? {
        self.state.withLock { state in
            guard !state.readers.isEmpty else { return nil }
            return state.waiting.first.map { ($0.id, $0.request) }
        }
    }

    /// Ends the sequence. Only the first call has an effect.
    func finish(_ error: RemoteSystemError?) {
        let (requests, readers) = self.state.withLock { state -> ([Waiting], [Reader]) in
            guard state.end == nil else { return ([], []) }
            state.end = error.map { .failure($0) } ?? .success(())
            defer { (state.waiting, state.readers, state.reserved) = ([], [], [:]) }
            return (state.waiting, state.readers + state.reserved.values)
        }
        for request in requests { request.continuation.resume(returning: nil) }
        for reader in readers {
            reader.continuation.resume(with: error.map { .failure($0) } ?? .success(nil))
        }
    }
}
