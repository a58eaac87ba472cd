// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// What becomes of requests that the service sends: a handler responds to them, a reader takes them, or nobody wants
/// them.
///
/// A long-lived connection has one for all its connections, one after the other.
final class RequestReception: Sendable {
    private let onRequest: AppServiceConnection.RequestHandler?
    private let queue = Mutex<RequestQueue?>(nil)

    init(onRequest: AppServiceConnection.RequestHandler?) {
        self.onRequest = onRequest
    }

    /// For the host's end of connections, whose requests go to the service.
    static let ofService = RequestReception { _ in
        throw AppServiceFailure("The service takes the requests of this connection.")
    }

    /// The queue of requests for readers, from now on.
    func subscribe() -> RequestQueue {
        self.queue.withLock { queue in
            if let queue { return queue }
            let new = RequestQueue()
            if self.onRequest != nil {
                let text =
                    "Requests of this connection go to a handler. Make a connection without onRequest to read them."
                new.finish(RemoteSystemError(.misuse, text, side: .local))
            }
            queue = new
            return new
        }
    }

    /// A connection has opened.
    func opened() {
        self.queue.withLock { $0 }?.advance()
    }

    /// No more requests come, or are taken.
    func finish(_ error: RemoteSystemError? = nil) {
        self.subscribe().finish(error)
    }

    /// Responds to a request, in the order in which requests come.
    ///
    /// - Parameter opened: returns once the connection is open.
    func respond(
        to request: AppServiceRequest,
        _ handling: RequestHandling,
        opened: () async -> Void
    ) async -> Response {
        guard let onRequest else { return await self.deliver(request, handling, opened: opened) }
        await opened()
        guard case .open(let rules) = request.connection.receptionState else { return Self.closing }
        return await TraceContext.handling(request) {
            await handling.response(to: request, responses: rules.pushResponse) { request in
                await HandlerOutcome.of(
                    request,
                    checking: rules.pushRequest,
                    responses: rules.pushResponse,
                    onRequest
                )
            }.response
        }
    }

    /// Hands a request to a reader.
    private func deliver(
        _ request: AppServiceRequest,
        _ handling: RequestHandling,
        opened: () async -> Void
    ) async -> Response {
        // Not after waiting: requests that wait would go on in any order.
        guard let queue = self.queue.withLock({ $0 }) else { return .requestsNotTaken }
        guard handling.hasInterceptors else { return await queue.deliver(request) }
        await opened()
        guard case .open(let rules) = request.connection.receptionState else { return Self.closing }
        return await TraceContext.handling(request) {
            await handling.response(to: request, responses: rules.pushResponse) { request in
                HandlerOutcome(await queue.deliver(request))
            }.response
        }
    }

    static let closing = Response(
        status: .failure,
        failure: WireFailure("The connection is being closed, and the request was not taken.", canRetry: true)
    )
}

/// How far a connection is, for requests that come over it.
enum ReceptionState {
    case opening
    case open(MessageRules)
    case closed
}

/// Requests that wait for a reader, and readers that wait for a request. The peer's window bounds the former.
final class RequestQueue: Sendable {
    private struct Request {
        var id: UInt64
        var request: AppServiceRequest
        var continuation: CheckedContinuation<Response, Never>
    }

    private struct Reader {
        var id: UInt64
        var continuation: CheckedContinuation<AppServiceRequest?, any Error>
    }

    /// What to do next, outside the lock.
    private enum Step {
        case refuse(Request, Response)
        case hand(Request, Reader, Response)
    }

    private struct State {
        var requests: [Request] = []
        var readers: [Reader] = []
        var end: Result<Void, RemoteSystemError>?
        var lastID: UInt64 = 0

        mutating func makeID() -> UInt64 {
            self.lastID += 1
            return self.lastID
        }

        mutating func step() -> Step? {
            guard let first = self.requests.first, !self.readers.isEmpty else { return nil }
            switch first.request.connection.receptionState {
            case .opening:
                return nil
            case .closed:
                return .refuse(self.requests.removeFirst(), RequestReception.closing)
            case .open(let rules):
                self.requests.removeFirst()
                if let objection = Response(objectingTo: first.request.message, rules.pushRequest) {
                    return .refuse(first, objection)
                }
                let acknowledgement = Response([:], rules.pushResponse)
                // The service wants more than an acknowledgement, which only a handler can give.
                guard acknowledgement.status == .success else { return .refuse(first, acknowledgement) }
                return .hand(first, self.readers.removeFirst(), acknowledgement)
            }
        }
    }

    private let state = Mutex(State())

    /// Waits until a reader has taken the request.
    func deliver(_ request: AppServiceRequest) async -> Response {
        let id = self.state.withLock { $0.makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isQueued = self.state.withLock { state in
                    // Cancelled before it came here: the cancellation handler has run and found nothing.
                    guard state.end == nil, !Task.isCancelled else { return false }
                    state.requests.append(Request(id: id, request: request, continuation: continuation))
                    return true
                }
                if isQueued { self.advance() } else { continuation.resume(returning: RequestReception.closing) }
            }
        } onCancel: {
            let request = self.state.withLock { state in
                state.requests.firstIndex { $0.id == id }.map { state.requests.remove(at: $0) }
            }
            request?.continuation.resume(returning: RequestReception.closing)
        }
    }

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
            let reader = self.state.withLock { state in
                state.readers.firstIndex { $0.id == id }.map { state.readers.remove(at: $0) }
            }
            reader?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Hands requests to readers for as long as there are both.
    func advance() {
        while let step = self.state.withLock({ $0.step() }) {
            switch step {
            case .refuse(let request, let response):
                request.continuation.resume(returning: response)
            case .hand(let request, let reader, let acknowledgement):
                reader.continuation.resume(returning: request.request)
                request.continuation.resume(returning: acknowledgement)
            }
        }
    }

    /// Ends the sequence. The first end counts.
    func finish(_ error: RemoteSystemError?) {
        let (requests, readers) = self.state.withLock { state -> ([Request], [Reader]) in
            guard state.end == nil else { return ([], []) }
            state.end = error.map { .failure($0) } ?? .success(())
            defer { (state.requests, state.readers) = ([], []) }
            return (state.requests, state.readers)
        }
        for request in requests { request.continuation.resume(returning: RequestReception.closing) }
        for reader in readers {
            reader.continuation.resume(with: error.map { .failure($0) } ?? .success(nil))
        }
    }
}
