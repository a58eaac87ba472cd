// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The continuations of this application's activities that other systems have begun.
///
/// A continuation begins when its content is requested, and is decided when the receiver confirms that it arrived. The
/// first receiver that confirms continues the activity. It can return the activity if its application then fails. A
/// value type without I/O.
struct OutgoingContinuations {
    /// Identifies the connection over which a continuation runs.
    typealias Link = ObjectIdentifier
    typealias Instant = ContinuousClock.Instant

    enum Refusal: Error, Hashable {
        /// The application does not offer the activity any more.
        case unknown
        /// Another system has continued it.
        case alreadyContinued
        /// The receiver has begun too many continuations, or all receivers together have.
        case tooMany
    }

    private struct Continuation {
        let activity: UUID
        /// `nil` while a confirmed one waits for its receiver, whose connection was lost.
        var link: Link?
        let holder: QuotaHolder
        var isConfirmed = false
        /// When it may be dropped for another one, or, if it is confirmed, when it cannot be returned any more.
        var deadline: Instant
    }

    /// The maximum number of continuations that one connection can have begun.
    static let maxOnLink = 4
    /// The maximum number of continuations of one system, or of all systems of a linked account.
    static let maxEach = 8
    /// The maximum number of continuations of all connections.
    static let maxInAll = 256
    /// The time after which a continuation that is not confirmed is dropped when another one begins at a limit.
    static let unconfirmedTime = Duration.seconds(60)
    /// The time for which a confirmed continuation waits for its receiver to connect again.
    static let reconnectingTime = Duration.seconds(60)
    /// The time after its confirmation in which a continuation can be returned. Longer than the maximum of
    /// ``UserActivityHost/Options/continuationTimeout``.
    static let returnTime = Duration.seconds(900)
    /// The continuations that one system, or all of a linked account, can begin at once, and in a second after these.
    /// Each beginning makes the host daemon sign a voucher, and the application save. A return counts as a beginning
    /// while there is one left: it makes the activity's offer begin again on all systems.
    static let burst = 64.0
    static let rate = 4.0
    /// The number of continued activities that are remembered, to say so to receivers that are late.
    static let maxContinued = 64

    /// An activity that was continued.
    private struct Continued {
        let activity: UUID
        let continuation: UUID
        let receiver: SystemID
        let holder: QuotaHolder
        let deadline: Instant
    }

    private var offered: Set<UUID> = []
    /// Newest last.
    private var continued: [Continued] = []
    private var continuations: [UUID: Continuation] = [:]
    /// The continuation that has taken the application's current activity; `nil` if one has become current since.
    private var latest: UUID?
    private var rates = KeyedTokenBuckets<QuotaHolder>(capacity: Self.burst, rate: Self.rate)

    /// Offers an activity, even one that was continued before.
    mutating func offer(_ activity: UUID) {
        self.offered.insert(activity)
        self.continued.removeAll { $0.activity == activity }
    }

    /// An activity has become the application's current one.
    mutating func becameCurrent() { self.latest = nil }

    /// Ends an offer. Continuations that have begun cannot be confirmed any more; confirmed ones keep their streams.
    mutating func withdraw(_ activity: UUID) { self.offered.remove(activity) }

    /// The activities to which continuations refer.
    var activities: Set<UUID> { Set(self.continuations.values.map(\.activity)) }

    /// Begins a continuation.
    mutating func begin(
        _ activity: UUID,
        id: UUID,
        over link: Link,
        for holder: QuotaHolder,
        now: Instant
    ) throws(Refusal) {
        try self.checkOffer(of: activity)
        if !self.hasPlace(over: link, for: holder) {
            // Those of others only if all together are too many: a caller at its own limit ends none of them.
            let isFull = self.continuations.count >= Self.maxInAll
            self.continuations = self.continuations.filter { _, continuation in
                guard isFull || continuation.holder == holder else { return true }
                return continuation.isConfirmed ? continuation.link != nil : continuation.deadline > now
            }
        }
        guard self.hasPlace(over: link, for: holder), self.rates.tryTake(holder, at: now) else { throw .tooMany }
        self.continuations[id] = Continuation(
            activity: activity,
            link: link,
            holder: holder,
            deadline: now + Self.unconfirmedTime
        )
    }

    private func hasPlace(over link: Link, for holder: QuotaHolder) -> Bool {
        let all = self.continuations.values
        return all.count < Self.maxInAll && all.count(where: { $0.link == link }) < Self.maxOnLink
            && all.count(where: { $0.holder == holder }) < Self.maxEach
    }

    /// Forgets a continuation whose content was not sent.
    mutating func fail(_ id: UUID) { self.continuations[id] = nil }

    /// Throws unless an activity is offered.
    func checkOffer(of activity: UUID) throws(Refusal) {
        guard !self.isContinued(activity) else { throw .alreadyContinued }
        guard self.offered.contains(activity) else { throw .unknown }
    }

    private func isContinued(_ activity: UUID) -> Bool { self.continued.contains { $0.activity == activity } }

    /// Decides a continuation. The activity is no longer offered.
    ///
    /// A receiver that lost its connection before it knew the outcome confirms again over another one, to which the
    /// continuation then belongs.
    ///
    /// - Returns: the activity, which was continued now; `nil` if this was confirmed before.
    mutating func confirm(_ id: UUID, over link: Link, by receiver: SystemID, now: Instant) throws(Refusal) -> UUID? {
        if let before = self.continued.last(where: { $0.continuation == id && $0.receiver == receiver }) {
            self.continuations[id] = Continuation(
                activity: before.activity,
                link: link,
                holder: before.holder,
                isConfirmed: true,
                deadline: before.deadline
            )
            return nil
        }
        guard let continuation = self.continuations[id], continuation.link == link else { throw .unknown }
        guard !self.isContinued(continuation.activity) else {
            self.continuations[id] = nil
            throw .alreadyContinued
        }
        guard self.offered.remove(continuation.activity) != nil else {
            self.continuations[id] = nil
            throw .unknown
        }
        let deadline = now + Self.returnTime
        self.continuations[id]?.isConfirmed = true
        self.continuations[id]?.deadline = deadline
        self.latest = id
        self.continued.append(
            Continued(
                activity: continuation.activity,
                continuation: id,
                receiver: receiver,
                holder: continuation.holder,
                deadline: deadline
            )
        )
        if self.continued.count > Self.maxContinued { self.continued.removeFirst() }
        return continuation.activity
    }

    /// Returns the activity to which a confirmed continuation may open streams.
    func activity(of id: UUID, over link: Link) throws(Refusal) -> UUID {
        try self.confirmed(id, over: link).activity
    }

    private func confirmed(_ id: UUID, over link: Link) throws(Refusal) -> Continuation {
        guard let continuation = self.continuations[id], continuation.link == link, continuation.isConfirmed
        else { throw .unknown }
        return continuation
    }

    /// Ends a confirmed continuation whose receiver has failed. The activity does not count as continued any more.
    ///
    /// - Returns: the activity.
    mutating func takeBack(_ id: UUID, over link: Link, now: Instant) throws(Refusal) -> UUID {
        let continuation = try self.confirmed(id, over: link)
        guard now < continuation.deadline else { throw .unknown }
        // Never refused: the receiver does not repeat it, and the activity would stay where it failed.
        _ = self.rates.tryTake(continuation.holder, at: now)
        self.continuations[id] = nil
        self.continued.removeAll { $0.continuation == id }
        return continuation.activity
    }

    /// Whether the activity of a continuation that was taken back is to become current again: no other one has become
    /// current since it was confirmed. `true` once.
    mutating func isOfferedAgain(after id: UUID) -> Bool {
        guard self.latest == id else { return false }
        self.latest = nil
        return true
    }

    /// A connection has ended. Its continuations are forgotten, and activities that were not confirmed stay offered.
    ///
    /// - Parameter isLost: whether the receiver may connect again. What it has confirmed then waits for it.
    /// - Returns: when to call ``expire(now:)``; `nil` if nothing waits.
    mutating func ended(_ link: Link, isLost: Bool, now: Instant) -> Instant? {
        var end: Instant?
        for (id, continuation) in self.continuations where continuation.link == link {
            guard isLost, continuation.isConfirmed else {
                self.continuations[id] = nil
                continue
            }
            self.continuations[id]?.link = nil
            self.continuations[id]?.deadline = min(continuation.deadline, now + Self.reconnectingTime)
            end = now + Self.reconnectingTime
        }
        return end
    }

    /// Forgets what has waited too long for its receiver.
    mutating func expire(now: Instant) {
        self.continuations = self.continuations.filter { $0.value.link != nil || $0.value.deadline > now }
    }
}

extension ContinuationError {
    static let sendingDisabled = Self(
        .disabled,
        "Sending activities is switched off on that system, for the application or for all. 'remotesystems activities "
            + "settings' shows and changes it there.",
        side: .remote
    )

    init(_ refusal: OutgoingContinuations.Refusal) {
        switch refusal {
        case .unknown:
            self.init(.activityUnknown, "The application does not offer the activity any more.", side: .remote)
        case .alreadyContinued:
            self.init(.alreadyContinued, "Another system has continued the activity.", side: .remote)
        case .tooMany:
            self.init(
                .busy,
                "Too many continuations of the offering application's activities have begun. Try again in a moment.",
                side: .remote,
                canRetry: true
            )
        }
    }
}
