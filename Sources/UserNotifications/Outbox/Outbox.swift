// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// The notifications of this system's programs that wait for systems of the user that are away.
///
/// A value type: ``next(for:at:_:)`` says what to send, and the receiver sends it.
struct Outbox {
    typealias Instant = ContinuousClock.Instant

    struct Key: Hashable, Comparable {
        /// The id of the system that is to receive it.
        var system: String
        /// The application of this system that sends it.
        var application: String
        var identifier: String

        var shortSystem: String { SystemID(self.system)?.short ?? self.system }

        static func < (one: Key, other: Key) -> Bool {
            (one.system, one.application, one.identifier) < (other.system, other.application, other.identifier)
        }
    }

    struct Entry: Hashable {
        var key: Key
        var notification: RemoteNotification
        /// The date at which the program has handed it over.
        var date: Date
        /// The date at which it is given up.
        var expires: Date
    }

    /// A notification as its sender sees it in a list.
    struct Listed {
        var entry: Entry
        /// Why the last attempt to send it failed, or what became of it.
        var problem: String?
        var isWaiting: Bool
    }

    /// A notification that was refused, withheld, given up, or delivered without a part. Only its sender needs to know.
    private struct Ended {
        var entry: Entry
        var problem: String
        /// The date from which it is not listed any more.
        var end: Date
    }

    enum Outcome {
        /// The system has it, or withholds it for good.
        case taken
        /// The system does not accept it, and never will.
        case refused
        /// The system may accept it later. Others for the system come before it.
        case postponed
        /// The system could not be reached.
        case unreachable
    }

    /// The maximum number of notifications that wait for one system: as many as it keeps for its user.
    static let maxPerSystem = ReceivedNotifications.maxPerSystem
    /// The maximum number of them that are of one application.
    static let maxOfApplication = maxPerSystem / 2
    /// The maximum number in all.
    static let max = 1024
    /// The maximum number of notifications that do not wait any more, and are still listed with the reason.
    static let maxEnded = 64
    /// The time for which they are listed.
    static let endedLife: TimeInterval = 86_400
    /// The problem of a notification that is given up.
    static let late = "Its time was over before the system was back."
    /// The maximum number of characters of a reason.
    private static let maxReason = 500
    /// The time after which a notification is given up.
    static let life: TimeInterval = 30 * 86_400
    /// The maximum number of systems to which something is sent at a time.
    private static let maxSending = 8
    /// The pauses after something was not delivered. They double.
    private static let (firstPause, longestPause) = (Duration.seconds(5), Duration.seconds(600))

    private static let remedy = "Delete some with 'remotesystems notifications outbox --delete'."

    private struct Pause {
        var length: Duration
        var end: Instant

        init(after previous: Pause?, _ now: Instant) {
            self.length = previous.map { min($0.length * 2, Outbox.longestPause) } ?? Outbox.firstPause
            self.end = now + self.length
        }
    }

    private var entries: [Key: Entry] = [:]
    /// The notifications that are being sent, one for each system.
    private var sending: [String: Entry] = [:]
    private var pauses: [String: Pause] = [:]
    /// The pauses of systems that have postponed the same notifications again, for these.
    private var repeatedPauses: [String: Pause] = [:]
    /// The pauses of notifications that were postponed, such as one whose file has no space. They delay no others.
    private var ownPauses: [Key: Pause] = [:]
    /// Why the last attempts to send those that wait failed.
    private var problems: [Key: String] = [:]
    /// In the order in which they have ended. A restart of the daemon forgets them.
    private var ended: [Ended] = []

    /// The entries in the order of their keys.
    var all: [Entry] { self.entries.values.sorted { $0.key < $1.key } }
    var isEmpty: Bool { self.entries.isEmpty }

    subscript(key: Key) -> Entry? { self.entries[key] }

    /// The notifications that wait, and those that have ended with a problem within the last day, by key.
    func listed(at date: Date) -> [Listed] {
        let waiting = self.entries.values.map {
            Listed(entry: $0, problem: self.problems[$0.key], isWaiting: true)
        }
        let ended = self.ended.filter { $0.end > date }.map {
            Listed(entry: $0.entry, problem: $0.problem, isWaiting: false)
        }
        return (waiting + ended).sorted { $0.entry.key < $1.entry.key }
    }

    /// Notes why a notification was not delivered, or not as it is, before it is ``sent(_:_:_:)``. One that was
    /// replaced or deleted meanwhile is not listed.
    mutating func note(_ problem: String, about entry: Entry, _ outcome: Outcome, at date: Date) {
        guard self.entries[entry.key] == entry else { return }
        let problem = String(problem.prefix(Self.maxReason))
        switch outcome {
        case .unreachable: break
        case .postponed: self.problems[entry.key] = problem
        case .taken, .refused: self.list(entry, problem, at: date)
        }
    }

    /// Lists a notification that has ended.
    private mutating func list(_ entry: Entry, _ problem: String, at date: Date) {
        self.ended.removeAll { $0.entry.key == entry.key || $0.end <= date }
        self.ended.append(Ended(entry: entry, problem: problem, end: date + Self.endedLife))
        if self.ended.count > Self.maxEnded { self.ended.removeFirst() }
    }

    /// Removes notifications that do not wait any more from the list.
    ///
    /// - Returns: how many were removed.
    mutating func removeEnded(_ isUnwanted: (Key) -> Bool) -> Int {
        let before = self.ended.count
        self.ended.removeAll { isUnwanted($0.entry.key) }
        return before - self.ended.count
    }

    /// Adds a notification, in place of the one of the same application with the same identifier for the same system.
    mutating func put(_ entry: Entry) throws(NotificationError) {
        if self.entries[entry.key] == nil {
            guard self.entries.count < Self.max else {
                throw NotificationError(
                    .limitExceeded,
                    "\(Self.max) notifications wait for systems that are away already. \(Self.remedy)"
                )
            }
            let others = self.entries.keys.filter { $0.system == entry.key.system }
            guard others.count < Self.maxPerSystem else {
                throw NotificationError(
                    .limitExceeded,
                    "\(Self.maxPerSystem) notifications wait for the system \(entry.key.shortSystem) already. "
                        + Self.remedy
                )
            }
            guard others.count(where: { $0.application == entry.key.application }) < Self.maxOfApplication else {
                throw NotificationError(
                    .limitExceeded,
                    "\(Self.maxOfApplication) notifications of '\(entry.key.application)' wait for the system "
                        + "\(entry.key.shortSystem) already. \(Self.remedy)"
                )
            }
        }
        self.entries[entry.key] = entry
        self.ownPauses[entry.key] = nil
        self.problems[entry.key] = nil
        self.ended.removeAll { $0.entry.key == entry.key }
    }

    /// Takes over what an earlier process has stored.
    mutating func restore(_ entry: Entry) { self.entries[entry.key] = entry }

    @discardableResult
    mutating func remove(_ key: Key) -> Entry? {
        self.ownPauses[key] = nil
        self.problems[key] = nil
        return self.entries.removeValue(forKey: key)
    }

    /// Removes what waits for certain systems.
    mutating func removeAll(for isUnwanted: (_ system: String) -> Bool) -> [Entry] {
        let entries = self.entries.values.filter { isUnwanted($0.key.system) }
        for entry in entries { self.remove(entry.key) }
        return entries
    }

    /// What to send next, to one of the systems that are available: the oldest of those that were postponed least. Each
    /// system receives one at a time.
    ///
    /// - Parameter date: the present date. What has waited for too long is not sent.
    mutating func next(for systems: Set<String>, at date: Date, _ now: Instant) -> Entry? {
        guard self.sending.count < Self.maxSending else { return nil }
        let ready = self.entries.values.filter { entry in
            let system = entry.key.system
            return systems.contains(system) && self.sending[system] == nil && entry.expires > date
                && self.pauseEnd(of: entry.key).map { $0 <= now } ?? true
        }
        guard let entry = ready.min(by: { self.rank(of: $0, now) < self.rank(of: $1, now) }) else { return nil }
        self.sending[entry.key.system] = entry
        return entry
    }

    /// The length and the end of its own last pause come first: those that are postponed again and again take turns.
    private func rank(of entry: Entry, _ now: Instant) -> (Duration, Instant, Date, Key) {
        let pause = self.ownPauses[entry.key]
        return (pause?.length ?? .zero, pause?.end ?? now, entry.date, entry.key)
    }

    /// The time until which a notification is not sent; `nil` if it has not paused.
    private func pauseEnd(of key: Key) -> Instant? {
        let own = self.ownPauses[key]?.end
        return [self.pauses[key.system]?.end, own, own.flatMap { _ in self.repeatedPauses[key.system]?.end }]
            .compactMap(\.self).max()
    }

    /// A notification was sent.
    ///
    /// - Returns: whether it is to be removed from the store. One that was replaced meanwhile stays.
    mutating func sent(_ entry: Entry, _ outcome: Outcome, _ now: Instant) -> Bool {
        let system = entry.key.system
        self.sending[system] = nil
        let isPresent = self.entries[entry.key] == entry
        switch outcome {
        case .unreachable:
            self.pauses[system] = Pause(after: self.pauses[system], now)
        case .postponed:
            self.pauses[system] = Pause(after: nil, now)
            if self.ownPauses[entry.key] != nil {
                self.repeatedPauses[system] = Pause(after: self.repeatedPauses[system], now)
            }
            if isPresent { self.ownPauses[entry.key] = Pause(after: self.ownPauses[entry.key], now) }
        case .taken, .refused:
            self.pauses[system] = nil
            self.repeatedPauses[system] = nil
            if isPresent { self.remove(entry.key) }
            return isPresent
        }
        return false
    }

    /// The time at which something that was not delivered is tried again; `nil` if nothing is.
    func nextRetry(after now: Instant) -> Instant? {
        self.entries.keys.compactMap { self.pauseEnd(of: $0) }.filter { $0 > now }.min()
    }

    /// The date at which the next notification is given up. What becomes of one that is being sent is known soon.
    var nextExpiration: Date? {
        self.entries.values.lazy.filter { self.sending[$0.key.system] != $0 }.map(\.expires).min()
    }

    /// Removes what has waited for too long, and lists it.
    mutating func expire(at date: Date) -> [Entry] {
        let late = self.entries.values.filter { $0.expires <= date && self.sending[$0.key.system] != $0 }
        for entry in late {
            self.remove(entry.key)
            self.list(entry, Self.late, at: date)
        }
        let waiting = Set(self.entries.keys.map(\.system))
        self.pauses = self.pauses.filter { waiting.contains($0.key) }
        self.repeatedPauses = self.repeatedPauses.filter { waiting.contains($0.key) }
        return late
    }
}
