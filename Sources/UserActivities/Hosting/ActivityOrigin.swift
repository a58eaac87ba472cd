// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Offers the current activity of an application, and serves its content to the systems that continue it.
final class ActivityOrigin: Sendable {
    private struct State {
        var current: UserActivity?
        /// The activities whose content was requested or which are current, by id.
        var activities: [UUID: UserActivity] = [:]
        var continuations = OutgoingContinuations()
        /// The streams that are offered or open.
        var streams = KeyedLimiter<QuotaHolder>(total: ActivityOrigin.maxStreams, perKey: ActivityOrigin.maxStreamsEach)
        var isRunning = false
        /// The activities about whose content a warning was logged. Each receiver may ask for it again and again.
        var warned: Set<UUID> = []
        /// Withdraws or refreshes the current offer at its time.
        var timer: Task<Void, Never>?

        /// Gives up the activities that are not needed any more. One is needed as long as it is current, or a receiver
        /// may open streams to it.
        ///
        /// - Returns: the activities that were given up. The caller releases them outside the lock.
        mutating func releaseActivities() -> [UserActivity] {
            let needed = self.continuations.activities.union(self.current.map { [$0.id] } ?? [])
            let released = self.activities.filter { !needed.contains($0.key) }
            for id in released.keys { self.activities[id] = nil }
            return Array(released.values)
        }
    }

    /// The maximum number of streams of one system, or of all systems of a linked account, and of all.
    static let maxStreamsEach = 32
    static let maxStreams = 256
    private static let maxWarned = 256

    let topic = ApplicationTopic(ActivityDescriptor.topic)
    private let options: UserActivityHost.Options
    private let permissions: HandOffPermissions
    let proofs: PublisherProofs
    private let clock: FeatureClock
    private let logger: Logger
    private let incidents: IncidentLog
    private let state = Mutex(State())
    /// Held while a record is put or removed. Each change of the current activity is followed by that, so that the last
    /// one leaves what is true.
    private let publishing = Mutex(())

    init(
        _ configuration: RemoteSystemsConfiguration,
        _ options: UserActivityHost.Options,
        proofs: PublisherProofs? = nil
    ) {
        self.options = options
        self.proofs = proofs ?? PublisherProofs(configuration)
        self.permissions = HandOffPermissions(configuration, options)
        self.clock = FeatureClock(configuration)
        self.logger = configuration.logger
        self.incidents = IncidentLog(configuration.logger)
    }

    func begin() { self.state.withLock { $0.isRunning = true } }

    /// Withdraws the offer. No activity can become current any more.
    func end() {
        let (current, timer) = self.state.withLock { state in
            let former = state
            state = State()
            // Open streams leave it when they close.
            state.streams = former.streams
            return (former.current, former.timer)
        }
        timer?.cancel()
        current?.lostCurrency(at: self)
        if let current { self.withdrawRecord(of: current) }
    }

    private static func key(_ id: UUID) -> String { id.uuidString.lowercased() }

    // MARK: The current activity

    /// Removes the record of an activity that is not current any more.
    private func withdrawRecord(of activity: UserActivity) {
        self.publishing.withLock { _ in
            // It may have become current again meanwhile.
            if !self.isCurrent(activity) { self.topic.remove(Self.key(activity.id)) }
        }
    }

    /// Publishes the descriptor, and schedules its refresh or its end.
    ///
    /// An activity that may not be offered stays the application's current one. It is offered when it may be.
    ///
    /// - Throws: `RemoteSystemError` if an address or an identifier breaks a rule, or too much is published.
    private func publish(_ activity: UserActivity) throws(RemoteSystemError) {
        let now = Date()
        let own = activity.expirationDate?.timeIntervalSince(now)
        // Also false for a date that is not a number.
        guard own.map({ $0 > 0 }) ?? true else {
            self.withdraw(activity)
            return
        }
        let seconds = min(own ?? .infinity, TimeInterval(self.lifetime))
        let (end, left) = (now + seconds, Int(seconds.rounded(.up)))
        let isPermitted = self.permissions.now.sending
        let isFinal = own.map { $0 <= seconds } ?? false
        // A current activity without a date of its own is offered as long as it is current.
        let pause = isFinal ? Duration.seconds(left) : .seconds(max(left / 2, 1))
        try self.publishing.withLock { _ throws(RemoteSystemError) in
            // Read here, so that the last of several changes leaves what is true.
            let attributes = activity.attributes
            var flaw: RemoteSystemError?
            do throws(RemoteSystemError) {
                try attributes.check()
            } catch {
                flaw = error
            }
            let isEligible = attributes.isEligibleForHandoff && flaw == nil
            // The activity may have lost its place since the caller looked.
            guard self.admit(activity, isEligible) else { return }
            // Also for an activity that is not offered now: its time ends, too, and the timer of an earlier date must
            // not end it.
            self.schedule(activity, after: pause, isFinal: isFinal)
            guard isEligible, isPermitted else {
                self.topic.remove(Self.key(activity.id))
                if let flaw { throw flaw }
                return
            }
            let descriptor = ActivityDescriptor(activity, expirationDate: end, lifetime: .seconds(left))
            try self.topic.put(Self.key(activity.id), descriptor.record)
        }
    }

    /// Replaces the timer: refreshes the offer after a pause, or ends it.
    private func schedule(_ activity: UserActivity, after pause: Duration, isFinal: Bool) {
        let timer = self.clock.task { [weak self, weak activity] in
            guard let self, (try? await self.clock.sleep(until: self.clock.now + pause)) != nil, let activity,
                self.isCurrent(activity)
            else { return }
            activity.endIfUnmanaged()
            guard self.isCurrent(activity) else { return }
            isFinal ? self.withdraw(activity) : try? self.publish(activity)
        }
        self.state.withLock { state in
            guard state.current === activity else { return timer.cancel() }
            state.timer?.cancel()
            state.timer = timer
        }
    }

    /// Permits or refuses continuations of the current activity.
    ///
    /// - Returns: whether the activity is current.
    private func admit(_ activity: UserActivity, _ isEligible: Bool) -> Bool {
        self.state.withLock { state in
            guard state.current === activity else { return false }
            if isEligible {
                state.continuations.offer(activity.id)
            } else {
                state.continuations.withdraw(activity.id)
            }
            return true
        }
    }

    /// Offers or withdraws the current activity after the user's permissions may have changed.
    func permissionsChanged() {
        guard let current = self.state.withLock({ $0.current }) else { return }
        self.update(current)
    }

    private var lifetime: Int { Int(self.options.offerLifetime.components.seconds) }

    private func isCurrent(_ activity: UserActivity) -> Bool {
        self.state.withLock { $0.current === activity }
    }

    // MARK: Serving continuations

    /// Returns the content of an activity to an application of another system that wants to continue it, if both have
    /// the same publisher.
    ///
    /// - Parameter isWebpageOnly: whether only the web address is wanted, for a browser. It has no publisher, so only
    ///   one of the same account receives the address without a comparison.
    func fetch(
        _ id: UUID,
        over link: ObjectIdentifier,
        for caller: AppServiceCaller,
        _ voucher: [UInt8]?,
        isWebpageOnly: Bool = false
    ) async throws -> ValueSet {
        let continuation = UUID()
        // Before anything that costs time: the settings, the voucher, and what the application saves.
        let activity = try self.begin(continuation, of: id, over: link, for: caller)
        do {
            guard self.permissions.now.sending else { throw ContinuationError.sendingDisabled }
            var own: OwnVoucher?
            if !isWebpageOnly || caller.authorizationKind != .sameUser {
                own = await self.proofs.own(for: caller.systemID, about: id)
                let peer = PublisherProofs.Peer(
                    system: caller.systemID,
                    holder: caller.incidentHolder,
                    application: caller.claimedApplicationID,
                    isSameAccount: caller.authorizationKind == .sameUser
                )
                try self.proofs.compare(own, with: voucher, of: peer, about: id, type: activity.type, isOrigin: true)
            }
            let payload = try await self.content(of: activity, isWebpageOnly: isWebpageOnly)
            var response: ValueSet = [
                ContinuationResponse.continuation: .uuid(continuation),
                ContinuationResponse.payload: .dictionary(payload.message),
            ]
            response[ContinuationResponse.voucher] = own.map { .data(Data($0.bytes)) }
            return response
        } catch {
            self.change { $0.fail(continuation) }
            throw error
        }
    }

    /// Begins a continuation, unless the activity is not offered or the caller has begun too many.
    private func begin(
        _ continuation: UUID,
        of id: UUID,
        over link: ObjectIdentifier,
        for caller: AppServiceCaller
    ) throws(ContinuationError) -> UserActivity {
        let (holder, now) = (caller.standing.quotaHolder(of: caller.systemID), self.clock.now)
        return try self.decide(for: caller) { state throws(OutgoingContinuations.Refusal) in
            try state.continuations.begin(id, id: continuation, over: link, for: holder, now: now)
            guard let activity = state.activities[id] else { throw .unknown }
            return activity
        }
    }

    /// Decides a request of a caller, and logs that it was one too many.
    private func decide<Decision: Sendable>(
        for caller: AppServiceCaller,
        _ decide: (inout State) throws(OutgoingContinuations.Refusal) -> Decision
    ) throws(ContinuationError) -> Decision {
        do throws(OutgoingContinuations.Refusal) {
            return try self.state.withLock { state throws(OutgoingContinuations.Refusal) in try decide(&state) }
        } catch {
            let failure = ContinuationError(error)
            if error == .tooMany { self.reportTooMany(failure, by: caller) }
            throw failure
        }
    }

    /// Logs that a peer has begun too many continuations or streams.
    private func reportTooMany(_ failure: ContinuationError, by caller: AppServiceCaller) {
        self.incidents.report(
            .continuationLimit,
            by: caller.systemID,
            of: caller.incidentHolder,
            reason: failure.message
        )
    }

    /// Lets the application save an activity, and returns its content.
    private func content(of activity: UserActivity, isWebpageOnly: Bool) async throws -> ActivityPayload {
        let isSaved = await activity.save(within: self.options.saveTimeout, clock: self.clock)
        let content: Result<ActivityPayload, ContinuationError>
        do throws(ContinuationError) {
            content = .success(
                try ActivityPayload(
                    activity,
                    documents: self.options.documents ?? DocumentURLMapper.none,
                    isStale: !isSaved
                )
            )
        } catch {
            // The receiver learns the reason. The application that offers the activity has it only here.
            self.warnOnce("The content of an activity cannot be sent", about: activity, ["reason": "\(error.message)"])
            content = .failure(error)
        }
        // While the application saved, it may have ended the offer, or the user may have switched sending off. Checked
        // after the content was read, so that nothing is sent that the application added after the end.
        guard self.permissions.now.sending else { throw ContinuationError.sendingDisabled }
        try self.state.withLock { state throws(ContinuationError) in
            do throws(OutgoingContinuations.Refusal) {
                try state.continuations.checkOffer(of: activity.id)
            } catch {
                throw ContinuationError(error)
            }
        }
        guard !activity.isInvalidated else { throw ContinuationError(.unknown) }
        var payload = try content.get()
        if isWebpageOnly {
            guard let part = payload.webpageOnly else {
                throw ContinuationError(.payloadInvalid, "The activity has no web address.", side: .remote)
            }
            payload = part
        }
        if payload.bytes > UserActivity.recommendedPayloadBytes {
            self.warnOnce(
                "The content of an activity is large, so continuing it takes longer. Use a stream for more data",
                about: activity,
                ["bytes": "\(payload.bytes)"]
            )
        }
        return payload
    }

    private func warnOnce(_ what: Logger.Message, about activity: UserActivity, _ metadata: Logger.Metadata) {
        let isNew = self.state.withLock { state in
            // An application may offer any number of activities.
            if state.warned.count >= Self.maxWarned { state.warned = [] }
            return state.warned.insert(activity.id).inserted
        }
        guard isNew else { return }
        self.logger.warning(what, metadata: metadata.merging(["type": "\(activity.type)"]) { $1 })
    }

    /// Decides a continuation: the receiver has the content.
    func confirm(_ continuation: UUID, over link: ObjectIdentifier, by caller: AppServiceCaller) throws {
        let (receiver, now) = (UserActivityReceiver(caller), self.clock.now)
        let activity = try self.decide(for: caller) { state throws(OutgoingContinuations.Refusal) -> UserActivity? in
            let id = try state.continuations.confirm(continuation, over: link, by: receiver.systemID, now: now)
            guard let id, let activity = state.activities[id] else { return nil }
            if state.current === activity {
                state.current = nil
                state.timer?.cancel()
                state.timer = nil
            }
            return activity
        }
        guard let activity else { return }
        self.withdrawRecord(of: activity)
        activity.lostCurrency(at: self)
        activity.continued(by: receiver, clock: self.clock)
    }

    /// Takes back an activity that its receiver has failed to continue. It is offered again unless another one has
    /// become current since.
    func takeBack(_ continuation: UUID, over link: ObjectIdentifier, from caller: AppServiceCaller) throws {
        let now = self.clock.now
        let (activity, released) = try self.decide(for: caller) { state throws(OutgoingContinuations.Refusal) in
            let id = try state.continuations.takeBack(continuation, over: link, now: now)
            guard let activity = state.activities[id] else { throw .unknown }
            return (activity, state.releaseActivities())
        }
        withExtendedLifetime(released) {}
        let receiver = UserActivityReceiver(caller)
        activity.returned(by: receiver, within: self.options.saveTimeout, clock: self.clock) { [weak self] in
            self?.offerAgain($0, after: continuation)
        }
    }

    /// Makes an activity that was taken back the current one again.
    private func offerAgain(_ activity: UserActivity, after continuation: UUID) {
        let isCurrent = self.state.withLock { state in
            guard state.isRunning, state.continuations.isOfferedAgain(after: continuation),
                activity.becomeCurrentAgain(at: self)
            else { return false }
            state.current = activity
            state.activities[activity.id] = activity
            return true
        }
        guard isCurrent else { return }
        do {
            try self.publish(activity)
        } catch {
            self.logger.warning(
                "An activity that another system returned could not be published",
                metadata: ["reason": "\(error)"]
            )
            self.withdraw(activity)
        }
    }

    /// Offers a stream to the receiver of a confirmed continuation, and hands its other end to the application.
    func stream(
        _ continuation: UUID,
        over link: ObjectIdentifier,
        for caller: AppServiceCaller,
        _ connection: AppServiceConnection
    ) throws -> ValueSet {
        let activity = try self.decide(for: caller) { state throws(OutgoingContinuations.Refusal) in
            state.activities[try state.continuations.activity(of: continuation, over: link)]
        }
        guard let activity, activity.supportsContinuationStreams else { throw ContinuationError.streamsNotSupported }
        let holder = caller.standing.quotaHolder(of: caller.systemID)
        guard self.state.withLock({ $0.streams.enter(holder) }) else {
            let failure = ContinuationError(
                .streamFailed,
                "Too many streams of the application's activities are open.",
                side: .remote,
                canRetry: true
            )
            self.reportTooMany(failure, by: caller)
            throw failure
        }
        let closed: @Sendable () -> Void = { [weak self] in self?.state.withLock { $0.streams.leave(holder) } }
        let offer: RemoteSystemStreamOffer
        do {
            offer = try connection.offerStream()
        } catch {
            closed()
            throw error
        }
        _ = self.clock.task { [logger] in
            do {
                let stream = try await offer.opened()
                // The application may keep it after its delegate has returned.
                stream.onClose(closed)
                await activity.received(stream)
            } catch {
                closed()
                logger.debug("A continuation stream was not opened", metadata: ["reason": "\(error)"])
            }
        }
        return [ContinuationResponse.ticket: offer.ticket]
    }

    /// Forgets what a connection has begun.
    ///
    /// - Parameter isLost: whether the receiver may connect again.
    func ended(_ link: ObjectIdentifier, isLost: Bool) {
        let now = self.clock.now
        guard let end = self.change({ $0.ended(link, isLost: isLost, now: now) }) else { return }
        _ = self.clock.task(at: end) { [weak self] in self?.change { $0.expire(now: end) } }
    }

    /// Changes the continuations, and gives up the activities that none of them needs any more.
    private func change<Result: Sendable>(_ change: (inout OutgoingContinuations) -> Result) -> Result {
        let (result, released) = self.state.withLock { (change(&$0.continuations), $0.releaseActivities()) }
        withExtendedLifetime(released) {}
        return result
    }
}

extension ActivityOrigin: ActivityPublisher {
    func makeCurrent(_ activity: UserActivity) async throws {
        guard self.options.allowsSending else {
            throw RemoteSystemError(.misuse, "Hand-off from this application is switched off.", side: .local)
        }
        let (former, released) = try self.state.withLock { state throws(RemoteSystemError) in
            guard state.isRunning else {
                throw RemoteSystemError(
                    .misuse,
                    "The UserActivityHost does not run. Call its 'run()' before an activity becomes current.",
                    side: .local
                )
            }
            let former = state.current
            state.current = activity
            state.continuations.becameCurrent()
            state.activities[activity.id] = activity
            if let former, former !== activity { state.continuations.withdraw(former.id) }
            return (former === activity ? nil : former, state.releaseActivities())
        }
        withExtendedLifetime(released) {}
        defer {
            if let former, !self.isCurrent(former) {
                self.withdrawRecord(of: former)
                former.lostCurrency(at: self)
            }
        }
        do {
            try self.publish(activity)
        } catch {
            self.withdraw(activity)
            throw error
        }
    }

    func withdraw(_ activity: UserActivity) {
        let released = self.state.withLock { state -> [UserActivity]? in
            guard state.current === activity else { return nil }
            state.current = nil
            state.timer?.cancel()
            state.timer = nil
            state.continuations.withdraw(activity.id)
            return state.releaseActivities()
        }
        guard released != nil else { return }
        self.withdrawRecord(of: activity)
        activity.lostCurrency(at: self)
    }

    func update(_ activity: UserActivity) {
        guard self.isCurrent(activity) else { return }
        do {
            try self.publish(activity)
        } catch {
            self.logger.warning("A changed activity could not be published", metadata: ["reason": "\(error)"])
        }
    }
}
