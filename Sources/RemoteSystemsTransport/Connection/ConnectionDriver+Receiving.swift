// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import ValueSets

/// Input from the channel. ``WireHandler`` calls these methods on the event loop.
extension ConnectionDriver {
    func received(_ bytes: ByteBuffer) {
        self.decoder.append(bytes)
        self.handleFrames()
    }

    /// Handles all complete frames. What is written meanwhile, also by resumed callers, is flushed in
    /// ``readCompleted()`` at the latest.
    func handleFrames() {
        self.isBatching = true
        self.taskExecutor.holdJobs()
        // All bytes of one read count as received at the same time.
        let now = self.eventLoopEnvironment.now
        self.machine.heardFromPeer(now: now)
        var hasFinished = false
        do throws(TransportError) {
            while !self.hasEnded, let bytes = try self.decoder.next() {
                hasFinished = true
                let frame = try Frame(bytes)
                self.observer?.report(.received(frame, bytes: bytes.readableBytes))
                try self.receive(frame, bytes: bytes.readableBytes, at: now)
            }
        } catch {
            self.observer?.report(.violation(error))
            self.incidents.report(.protocolBroken, by: self.channel, reason: "\(error)")
            self.abort(error.closeStatus ?? .unknown, reason: error)
        }
        if self.decoder.buffer != nil || self.unfinished != nil {
            self.trackUnfinishedFrame(isNew: hasFinished, now: now)
        }
        self.complete()
    }

    func readCompleted() {
        self.taskExecutor.runJobs()
        self.isBatching = false
        self.doNextSteps()
        self.flush()
    }

    private func receive(_ frame: Frame, bytes: Int, at now: NIODeadline) throws(TransportError) {
        switch frame {
        case .response(let id, let status, let message, let failure):
            // A failure explains a status other than success. With success it is ignored.
            let failure = status == .success ? nil : failure
            guard let call = try self.answered(id) else { return }
            // The peer's handler was cancelled at the deadline, and its response was read before the timer ran.
            if failure?.code == FailureCode.cancelled.rawValue, call.deadline <= now {
                return call.fail(TransportError.deadlineExceeded(wasSent: true))
            }
            self.completed.append((call, Response(status: status, message: message, failure: failure)))
        case .malformed(.response, let id, let error):
            try self.answered(id)?.fail(TransportError.unreadableResponse(error))
        case .request(let id, let timeout, let message, let key, let metadata):
            guard self.holdRequest(bytes) else { return try self.take(.rejected(id, .notHeld), bytes: bytes) }
            let deadline = now + .milliseconds(Int64(clamping: min(timeout, Self.maxTimeout)))
            try self.take(
                IncomingRequest(id: id, message: message, deadline: deadline, key: key, metadata: metadata),
                bytes: bytes
            )
        case .malformed(_, let id, let error):
            // The sender receives the reason. The response takes its turn like any other; otherwise a peer that sends
            // malformed messages and does not read could make this side hold any number of responses.
            try self.take(.rejected(id, .malformed("The message cannot be read: \(error)")), bytes: bytes)
        case .cancel(let id):
            switch self.machine.receivedCancel(id: id) {
            case .cancelHandler: self.handlerTasks[id]?.cancel()
            case .responseCancelled: self.respond(id: id, .cancelled)
            case .nothing: break
            }
            self.releaseRequests()
        case .ping(let token):
            if self.channel.isWritable { self.write(.pong(token: token)) } else { self.owedPong = token }
        case .state(let message):
            try self.received(message, bytes: bytes)
        case .pong, .unknown:
            break
        case .close(let status, let failure):
            self.receivedClose(status, failure)
        case .hello, .accept, .refuse:
            throw .violation("a handshake frame came on an open connection", .frameUnexpected)
        case .data, .fin, .abort:
            throw .violation("a frame of a stream came on a connection for messages", .frameUnexpected)
        }
    }

    /// The maximum timeout of a request: one day, in milliseconds. The bound keeps the arithmetic in range for any
    /// value from the peer.
    private static var maxTimeout: UInt64 { 86_400_000 }

    /// Returns the call that waits for this response; `nil` if it no longer waits.
    private func answered(_ id: UInt64) throws(TransportError) -> OutgoingCall? {
        switch self.machine.receivedResponse(id: id) {
        case .complete(let call): return call
        case .ignore: return nil
        case .violation(let what): throw .violation(what, .responseUnexpected)
        }
    }

    private func take(_ request: IncomingRequest, bytes: Int) throws(TransportError) {
        self.reservePlace()
        switch self.machine.receivedRequest(
            id: request.id,
            bytes: bytes,
            isHeld: request.rejection == nil,
            deadline: request.deadline,
            request: request
        ) {
        case .dispatch(let request): self.dispatch(request)
        case .queued: break
        case .violation(let what, let code): throw .violation(what, code)
        case .excess(let what, let code): throw .violation(what, code, closing: .resourceLimitsExceeded)
        }
    }

    private func receivedClose(_ status: CloseStatus, _ failure: WireFailure?) {
        guard status == .completed else { return self.abortedByPeer(status, failure) }
        let unsent = self.machine.receivedClose(status, until: self.eventLoopEnvironment.now + self.limits.drainTime)
        for call in unsent {
            call.fail(TransportError.closed(status, cause: nil))
        }
    }

    /// The peer aborted the connection. This side responds with the same status and ends the connection, too.
    private func abortedByPeer(_ status: CloseStatus, _ failure: WireFailure?) {
        if let failure {
            self.incidents.report(.closedByPeer, by: self.channel, reason: failure.text)
            self.peerReason = TransportError(
                .connectionLost,
                "The other system closed the connection: \(failure.text)",
                side: .remote,
                canRetry: failure.canRetry,
                failureCode: failure.code
            )
            if let notice = failure.withdrawal { self.withdrawalListener?(notice) }
        }
        self.write(.close(status, nil))
        self.flush()
        self.end(status, cause: self.peerReason)
    }

    func writabilityChanged() {
        self.machine.writabilityChanged(self.channel.isWritable)
        guard self.channel.isWritable else { return }
        // A frame written during a flush would be lost, because the flush clears the buffer afterwards.
        guard !self.isFlushing else {
            self.isResumeDue = true
            return
        }
        self.channelTakesMore()
        if let token = self.owedPong.take() { self.write(.pong(token: token)) }
        self.doNextSteps()
        self.resumeState()
    }

    func channelInactive() {
        let wentAway = TransportError(
            .connectionLost,
            "The other system closed the connection without a reason, or became unreachable.",
            side: .network,
            canRetry: true
        )
        self.end(.unknown, cause: self.peerReason ?? wentAway)
    }

    /// Ends the connection after its channel failed.
    ///
    /// - Parameter mode: `output` after the peer's TCP ended without `close_notify`, because only the output is left to
    ///   close.
    func channelFailed(_ error: any Error, closing mode: CloseMode = .all) {
        if !self.hasEnded { self.observer?.report(.failed(error)) }
        let failed = TransportError(
            .connectionLost,
            "The connection failed.",
            side: .network,
            canRetry: true,
            cause: error
        )
        self.end(.unknown, cause: self.peerReason ?? failed, closing: mode)
    }

    // MARK: Handling requests

    /// Starts the request's handler at once. A handler that never suspends has responded when this returns.
    func dispatch(_ request: IncomingRequest) {
        guard let connection = self.connection else { return }
        let id = request.id
        if let rejection = request.rejection { return self.finish(id: id, Response(rejection)) }
        if let response = self.handler.handleImmediately?(request, connection) {
            return self.finish(id: id, response)
        }
        let task = self.startHandler(of: request, on: connection)
        if self.hasEnded {
            // The handler itself ended the connection.
            task.cancel()
        } else if self.lastFinished != id {
            self.handlerTasks[id] = task
        }
    }

    private func startHandler(of request: IncomingRequest, on connection: Connection) -> Task<Void, Never> {
        let handle = self.handler.handle
        return Task.immediate(executorPreference: self.eventLoopEnvironment.taskExecutor) {
            let response = await handle(request, connection)
            connection.onEventLoop { $0.handled(id: request.id, response) }
        }
    }

    func handled(id: UInt64, _ response: Response) {
        if !self.handlerTasks.isEmpty { self.handlerTasks[id] = nil }
        self.finish(id: id, response)
        // Set last, because `finish` may start and finish the handlers of further requests.
        self.lastFinished = id
    }

    private func finish(id: UInt64, _ response: Response) {
        let isDue = self.machine.handlerFinished(id: id)
        self.releaseRequests()
        self.releasePlaces()
        if isDue { self.respond(id: id, response) }
        self.leaveIfResponded()
        if !self.isBatching { self.doNextSteps() }
    }

    func respond(id: UInt64, _ response: Response) {
        do throws(TransportError) {
            guard try self.writeResponse(id: id, response) else {
                let failure = WireFailure.responseNotHeld
                self.incidents.report(.responseLimit, by: self.channel, reason: failure.text)
                return self.respond(id: id, failure, status: .failure)
            }
            self.observer?.report(.responded(id: id, status: response.status))
        } catch {
            // Every request gets a response, also if the handler's response cannot be sent.
            self.incidents.report(.responseNotSent, by: self.channel, reason: "\(error)")
            let isTooLarge = error.code == .messageTooLarge
            let failure =
                isTooLarge
                ? WireFailure(
                    "The response is longer than the \(self.remote.messageBytes) bytes that the caller accepts.",
                    code: .responseTooLarge
                )
                : WireFailure("The response could not be sent.", code: .responseNotAllowed)
            let status: ResponseStatus = isTooLarge ? .messageTooLarge : .failure
            self.respond(id: id, failure, status: status)
        }
    }

    /// Responds with a failure in place of the handler's response.
    private func respond(id: UInt64, _ failure: WireFailure, status: ResponseStatus) {
        self.write(.response(id: id, status: status, message: [:], failure: failure))
        self.observer?.report(.responded(id: id, status: status))
    }
}

extension Response {
    static let cancelled = Response(
        status: .failure,
        failure: WireFailure(
            "The request was cancelled, or its time ran out, before it started.",
            code: .cancelled,
            canRetry: true
        )
    )

    /// The response to a request that no handler receives.
    fileprivate init(_ rejection: IncomingRequest.Rejection) {
        switch rejection {
        case .malformed(let reason):
            self.init(status: .failure, failure: WireFailure(reason, code: .messageMalformed))
        case .notHeld:
            self.init(status: .resourceLimitsExceeded, failure: .requestNotHeld)
        }
    }

    /// The response of a side that has no request handler.
    package static let requestsNotTaken = Response(
        status: .failure,
        failure: WireFailure(
            "The other side accepts no requests on this connection: it opened it without a request handler.",
            code: .requestsNotTaken
        )
    )

    /// The response of a service that does not know the request's `Type`.
    package static let requestUnknown = Response(status: .failure, failure: WireFailure.requestUnknown)
}

extension WireFailure {
    /// The failure of a request that is not known, or that only certain callers may know.
    package static let requestUnknown = WireFailure("This request is not known here.", code: .requestUnknown)
}
