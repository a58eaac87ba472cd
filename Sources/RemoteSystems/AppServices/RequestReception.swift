// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Handles the requests that a service sends to its caller: a handler responds to them, a reader takes them, or they
/// fail.
///
/// A long-lived connection uses one reception for all its successive connections.
final class RequestReception: Sendable {
    private let onRequest: AppServiceConnection.RequestHandler?
    private let queue = Mutex<RequestQueue?>(nil)

    init(onRequest: AppServiceConnection.RequestHandler?) {
        self.onRequest = onRequest
    }

    /// The reception of the host's end of connections, where the service handles the requests.
    static let ofService = RequestReception { _ in
        throw AppServiceFailure("The service handles the requests of this connection.")
    }

    /// Returns the queue that readers take requests from. From the first call on, requests wait in it.
    func subscribe() -> RequestQueue {
        self.queue.withLock { queue in
            if let queue { return queue }
            let new = RequestQueue()
            if self.onRequest != nil {
                let text =
                    "A handler receives this connection's requests. Create a connection without onRequest to read them."
                new.finish(RemoteSystemError(.misuse, text, side: .local))
            }
            queue = new
            return new
        }
    }

    /// Called when a connection has opened.
    func opened() {
        self.queue.withLock { $0 }?.advance()
    }

    /// Ends the reception: no further requests arrive or are read.
    func finish(_ error: RemoteSystemError? = nil) {
        self.subscribe().finish(error)
    }

    /// Responds to a request. Called in the order in which requests arrive.
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

    /// Delivers a request to a reader, once one is available.
    private func deliver(_ pushed: PushedRequest, _ handling: RequestHandling) async -> Response {
        // No suspension before this point. After one, requests could continue in another order than they arrived in.
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
        // The service expects more than an acknowledgement, which only a handler can provide.
        guard acknowledgement.status == .success else { return HandlerOutcome(acknowledgement) }
        var reader = reader
        // The reader may have been cancelled, or an interceptor may pass the request on twice.
        while !queue.hand(request, to: reader) {
            guard let next = await queue.reader(for: pushed, isFirst: true) else { return HandlerOutcome(Self.closing) }
            reader = next
        }
        return HandlerOutcome(acknowledgement)
    }

    static let closing = Response(
        status: .failure,
        failure: WireFailure("The connection is closing, and the request was not handled.", canRetry: true)
    )
}

/// The state of a connection, for the requests that arrive over it.
enum ReceptionState {
    case opening
    case open(MessageRules)
    case closed
}
