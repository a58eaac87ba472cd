// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What frames use of the host's memory: those that have arrived in part (performs the actions of ``UnfinishedFrame``),
/// requests in flight, and responses that are not sent (``HeldMemory`` each). Also how many requests are handled.
extension ConnectionDriver {
    // MARK: Requests

    /// Counts a request that has arrived. Returns whether its message may be held.
    func holdRequest(_ bytes: Int) -> Bool {
        let missing = self.requestMemory.missing(for: self.machine.incoming.heldBytes + bytes)
        guard missing > 0, let budget = self.memoryBudget else { return true }
        guard budget.requests.reserve(missing, for: self.holder) else {
            self.incidents.report(.requestLimit, by: self.channel, reason: WireFailure.requestNotHeld.text)
            return false
        }
        self.requestMemory.reserve(missing)
        return true
    }

    /// Returns what requests that got their responses, or were dropped, no longer use of the budget. Those whose
    /// handlers run are held until these have finished, also if the connection has ended meanwhile.
    func releaseRequests() {
        guard self.requestMemory.reserved > 0 else { return }
        let surplus = self.requestMemory.release(for: self.machine.incoming.heldBytes)
        self.memoryBudget?.requests.release(surplus, for: self.holder)
    }

    // MARK: Handlers

    /// Lets one more request run, if it needs a place of the host and gets it. Otherwise it waits, at most until its
    /// deadline.
    func reservePlace() {
        guard self.machine.incoming.isHeldBack, !self.hasEnded, let budget = self.memoryBudget else { return }
        let missing = self.places.missing(for: self.machine.incoming.runningCount + 1)
        guard budget.reservePlaces(missing, for: self.holder) else { return self.retryPlaceLater() }
        self.places.reserve(missing)
        self.permitPlaces()
    }

    /// Returns the places of handlers that have finished. Those of running handlers stay reserved, also if the
    /// connection has ended meanwhile.
    func releasePlaces() {
        guard self.places.reserved > 0 else { return }
        let surplus = self.places.release(for: self.machine.incoming.runningCount)
        guard surplus > 0 else { return }
        self.memoryBudget?.releasePlaces(surplus, for: self.holder)
        self.permitPlaces()
    }

    private func permitPlaces() { self.machine.permit(self.places.allowance + self.places.reserved) }

    /// Tries again a moment later, because handlers of other connections may have finished. When one of this connection
    /// finishes, the next request starts at once.
    private func retryPlaceLater() {
        guard !self.isPlaceRetryDue else { return }
        self.isPlaceRetryDue = true
        self.channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) {
            self.isPlaceRetryDue = false
            if !self.hasEnded { self.doNextSteps() }
        }
    }

    // MARK: Responses

    /// Reserves the bytes that the output holds, of which the last ones are a response. Returns whether they may be
    /// held.
    func holdResponses(_ bytes: Int) -> Bool {
        let missing = self.responseMemory.missing(for: bytes)
        guard missing > 0, let budget = self.memoryBudget else { return true }
        guard budget.responses.reserve(missing, for: self.holder) else { return false }
        self.responseMemory.reserve(missing)
        return true
    }

    /// Returns what responses that were sent no longer use of the budget.
    func releaseResponses(holding bytes: Int) {
        guard self.responseMemory.reserved > 0 else { return }
        self.memoryBudget?.responses.release(self.responseMemory.release(for: bytes), for: self.holder)
    }

    /// Returns what the responses use when the channel has closed. Until then it may hold them: TLS waits for the
    /// peer's part of its close.
    func releaseResponsesAtClose() {
        let bytes = self.responseMemory.release(for: 0)
        guard bytes > 0, let budget = self.memoryBudget else { return }
        let holder = self.holder
        self.channel.closeFuture.whenComplete { _ in budget.responses.release(bytes, for: holder) }
    }

    // MARK: Unfinished frames

    /// Called after a read, if a frame was or is unfinished.
    ///
    /// - Parameter isNew: whether the frame that was unfinished before has been finished.
    func trackUnfinishedFrame(isNew: Bool, now: NIODeadline) {
        let arrived = self.decoder.pendingBytes
        if isNew || arrived == 0 { self.releaseUnfinishedFrame() }
        guard arrived > 0, !self.hasEnded else { return }
        var frame =
            self.unfinished
            ?? UnfinishedFrame(time: self.limits.frameTime, allowance: self.requestMemory.allowance, now: now)
        let action = frame.read(length: self.decoder.announcedBytes, arrived: arrived)
        self.unfinished = frame
        switch action {
        case .nothing: break
        case .reserve(let bytes): self.reserve(bytes, arrived: arrived, now: now)
        case .wait(let bytes): self.countWaiting(bytes)
        }
        self.armUnfinishedTimer(now: now)
    }

    private func reserve(_ bytes: Int, arrived: Int, now: NIODeadline) {
        guard let budget = self.memoryBudget, var frame = self.unfinished else { return }
        let wasWaiting = frame.isWaiting
        let action = frame.reserved(budget.frames.reserve(bytes, for: self.holder), arrived: arrived, now: now)
        self.unfinished = frame
        switch action {
        case .read:
            guard wasWaiting else { return }
            budget.waiting.release(frame.waiting, for: self.holder)
            self.unfinished?.uncounted()
            try? self.channel.syncOptions?.setOption(.autoRead, value: true)
        case .wait(let bytes):
            if !wasWaiting { try? self.channel.syncOptions?.setOption(.autoRead, value: false) }
            self.countWaiting(bytes)
            self.retryReserving()
        case .giveUp:
            self.giveUp(.unfinishedBytesExceeded)
        }
    }

    private func countWaiting(_ bytes: Int) {
        guard bytes > 0, let budget = self.memoryBudget else { return }
        if budget.waiting.reserve(bytes, for: self.holder) {
            self.unfinished?.counted(bytes)
        } else {
            self.giveUp(.unfinishedBytesExceeded)
        }
    }

    private func giveUp(_ reason: TransportError) {
        self.incidents.report(.receiveLimit, by: self.channel, reason: "\(reason)")
        self.abort(.resourceLimitsExceeded, reason: reason)
    }

    /// Tries again a moment later. The peer cannot be heard meanwhile, so it does not count as silent.
    private func retryReserving() {
        guard !self.hasEnded else { return }
        self.channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(20)) {
            guard !self.hasEnded, let bytes = self.unfinished?.missing else { return }
            let now = self.eventLoopEnvironment.now
            self.machine.heardFromPeer(now: now)
            self.reserve(bytes, arrived: self.decoder.pendingBytes, now: now)
        }
    }

    /// Returns what the unfinished frame uses of the budget, because it is finished or the connection has ended.
    func releaseUnfinishedFrame() {
        guard let frame = self.unfinished.take() else { return }
        self.memoryBudget?.frames.release(frame.reserved, for: self.holder)
        self.memoryBudget?.waiting.release(frame.waiting, for: self.holder)
    }

    /// One timer serves all frames of the connection: when it fires, it is armed again for the frame that is unfinished
    /// then, if there is one.
    private func armUnfinishedTimer(now: NIODeadline) {
        guard self.unfinishedTimer == nil, !self.hasEnded, let frame = self.unfinished else { return }
        let time = frame.isWaiting ? now + UnfinishedFrame.maxWait : frame.deadline.time
        self.unfinishedTimer = self.channel.eventLoop.assumeIsolated().scheduleTask(deadline: time) {
            self.unfinishedTimer = nil
            guard !self.hasEnded, var frame = self.unfinished else { return }
            let now = self.eventLoopEnvironment.now
            let action = frame.timerWentOff(now: now)
            self.unfinished = frame
            switch action {
            case .wait: self.armUnfinishedTimer(now: now)
            case .giveUp: self.giveUp(.frameTooSlow)
            }
        }
    }
}

extension WireFailure {
    package static let requestNotHeld = WireFailure(
        "This host holds as many bytes of requests that wait or are being handled as it accepts, in all or of your "
            + "system. The request was not executed. Send fewer long requests at the same time, or try again later.",
        code: .requestBytesExceeded,
        canRetry: true
    )

    /// Without `canRetry`, because a retry would execute the request again.
    static let responseNotHeld = WireFailure(
        "The request was executed. This host holds as many bytes of responses that are not read as it accepts, in all "
            + "or of your system, so the response was dropped. Read responses faster, or request less at a time.",
        code: .responseBytesExceeded
    )
}

extension TransportError {
    fileprivate static let frameTooSlow = TransportError(
        .connectionLost,
        "The connection was closed: the other system took too long to send a whole message.",
        side: .remote,
        canRetry: true,
        closeStatus: .resourceLimitsExceeded,
        failureCode: FailureCode.frameTooSlow.rawValue,
        toPeer: "Your system took too long to send a whole message. Try again over a faster network."
    )

    fileprivate static let unfinishedBytesExceeded = TransportError(
        .localResources,
        "The connection was closed: too many bytes of unfinished messages arrived at the same time.",
        side: .local,
        canRetry: true,
        closeStatus: .resourceLimitsExceeded,
        failureCode: FailureCode.unfinishedBytesExceeded.rawValue,
        toPeer:
            "This host holds too many bytes of unfinished messages. Send fewer long messages at the same time, or try "
            + "again later."
    )
}
