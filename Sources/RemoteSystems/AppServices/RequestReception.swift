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
    func respond(to pushed: PushedRequest, _ handling: RequestHandling) async -> Response {
        guard let onRequest else { return await self.deliver(pushed, handling) }
        guard let connection = pushed.connection, let rules = await connection.rulesWhenOpen() else {
            return Self.closing
        }
        let request = pushed.request(over: connection)
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

    /// Hands a request to a reader, once there is one.
    private func deliver(_ pushed: PushedRequest, _ handling: RequestHandling) async -> Response {
        // Not after waiting: requests that wait would go on in any order.
        guard let queue = self.queue.withLock({ $0 }) else { return .requestsNotTaken }
        guard let reader = await queue.reader(for: pushed) else { return Self.closing }
        defer { queue.release(reader) }
        guard !Task.isCancelled, let connection = pushed.connection, case .open(let rules) = connection.receptionState
        else { return Self.closing }
        let request = pushed.request(over: connection)
        return await TraceContext.handling(request) {
            await handling.response(to: request, responses: rules.pushResponse) { request in
                await Self.hand(request, of: pushed, to: reader, in: queue, rules)
            }.response
        }
    }

    private static func hand(
        _ request: AppServiceRequest,
        of pushed: PushedRequest,
        to reader: RequestQueue.ReaderID,
        in queue: RequestQueue,
        _ rules: MessageRules
    ) async -> HandlerOutcome {
        if let objection = Response(objectingTo: request.message, rules.pushRequest) {
            return HandlerOutcome(objection)
        }
        let acknowledgement = Response([:], rules.pushResponse)
        // The service wants more than an acknowledgement, which only a handler can give.
        guard acknowledgement.status == .success else { return HandlerOutcome(acknowledgement) }
        var reader = reader
        // The reader may be gone, or an interceptor hands the request on twice.
        while !queue.hand(request, to: reader) {
            guard let next = await queue.reader(for: pushed, isFirst: true) else { return HandlerOutcome(Self.closing) }
            reader = next
        }
        return HandlerOutcome(acknowledgement)
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
