// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsTransport

/// The notifications of this system's desktop that the user's other systems are to show, too.
///
/// A value type: ``next(for:)`` says what to send, and the receiver sends it.
struct MirroredNotifications {
    typealias Instant = ContinuousClock.Instant

    struct Entry: Hashable {
        /// Its identifier stays the same while its content changes; each content has a delivery id of its own. So the
        /// end of a text that the user has seen does not end a newer one.
        var notification: RemoteNotification
        /// The application of this system that has shown it.
        var application: String
        /// The order in which they came.
        var number: UInt64
        var arrived: Instant
        /// Whether it may be sent. Otherwise it waits for its turn.
        var isPermitted = false

        var identifier: String { self.notification.request.identifier }
    }

    /// The maximum number of them, fewer than a system keeps of another one. For one more, the other systems remove the
    /// oldest.
    static let max = 24
    /// The number that may come at once: half of what another system accepts, so that programs that notify the user's
    /// systems themselves have the rest. One more is permitted every four seconds.
    static let burst = 15
    /// The time after which the other systems withdraw what this one does not withdraw, for example because it was
    /// switched off.
    static let life = Duration.seconds(86_400)
    /// The time after which one makes no sound any more on a system that comes later.
    private static let soundTime = Duration.seconds(60)
    /// The maximum number of contents of one that a system may show, because it is not known what has reached it.
    private static let maxHeld = 8

    private var entries: [String: Entry] = [:]
    /// The numbers of the newest contents that systems have, by system and identifier.
    private var sent: [String: [String: UInt64]] = [:]
    /// The deliveries that systems may show, by system and identifier.
    private var held: [String: [String: [UUID]]] = [:]
    /// The systems to which something is being sent.
    private var sending: Set<String> = []
    private var lastNumber: UInt64 = 0
    private var bucket: TokenBucket

    init(_ now: Instant) {
        self.bucket = TokenBucket(capacity: Double(Self.burst), rate: 0.25, now: now)
    }

    var isEmpty: Bool { self.entries.isEmpty }

    subscript(identifier: String) -> Entry? { self.entries[identifier] }

    /// The notification whose present content has a delivery id.
    func entry(of delivery: UUID) -> Entry? {
        self.entries.values.first { $0.notification.deliveryID == delivery }
    }

    /// The delivery ids of the present contents that have a sound.
    var deliveriesWithSound: [UUID] {
        self.entries.values.map(\.notification).filter { $0.request.content.sound != nil }.compactMap(\.deliveryID)
    }

    /// Adds a notification, in place of the content with the same identifier. It may be sent at once, or waits for its
    /// turn. One without a delivery id is left out.
    ///
    /// - Returns: the deliveries of the earlier contents that other systems may show, if it waits: what is not true any
    ///   more is not shown meanwhile.
    mutating func put(_ notification: RemoteNotification, of application: String, _ now: Instant) -> Set<UUID> {
        guard notification.deliveryID != nil else { return [] }
        let identifier = notification.request.identifier
        self.lastNumber += 1
        self.entries[identifier] = Entry(
            notification: notification,
            application: application,
            number: self.lastNumber,
            arrived: now
        )
        self.permit(now)
        return self.entries[identifier]?.isPermitted == true ? [] : self.removeDeliveries(of: identifier)
    }

    private var waiting: [Entry] { self.entries.values.filter { !$0.isPermitted } }

    /// The time at which the next one that waits has its turn; `nil` if none waits.
    func nextTurn(after now: Instant) -> Instant? {
        self.waiting.isEmpty ? nil : self.bucket.nextTime(after: now)
    }

    /// Permits to send what waits, the oldest first, as far as it has its turn.
    ///
    /// - Returns: whether more may be sent than before.
    @discardableResult
    mutating func permit(_ now: Instant) -> Bool {
        var isMore = false
        while self.bucket.permits(at: now), let next = self.waiting.min(by: { $0.number < $1.number }) {
            self.bucket.take(at: now)
            self.entries[next.identifier]?.isPermitted = true
            isMore = true
        }
        return isMore
    }

    /// The oldest one, if there are too many.
    var excess: String? {
        guard self.entries.count > Self.max else { return nil }
        return self.entries.min { $0.value.number < $1.value.number }?.key
    }

    /// Removes a notification.
    ///
    /// - Returns: the deliveries that other systems may show.
    @discardableResult
    mutating func remove(_ identifier: String) -> Set<UUID> {
        self.entries[identifier] = nil
        return self.removeDeliveries(of: identifier)
    }

    /// Forgets what was sent of a notification.
    ///
    /// - Returns: the deliveries that other systems may show.
    private mutating func removeDeliveries(of identifier: String) -> Set<UUID> {
        let deliveries = self.deliveries(of: identifier)
        for system in self.held.keys {
            self.sent[system]?[identifier] = nil
            self.held[system]?[identifier] = nil
        }
        return deliveries
    }

    /// The deliveries of a notification that other systems may show.
    func deliveries(of identifier: String) -> Set<UUID> {
        self.held.values.reduce(into: Set()) { $0.formUnion($1[identifier] ?? []) }
    }

    /// What to send next to a system, the oldest first; `nil` if it has everything. Each receives one at a time.
    ///
    /// - Parameter refused: the identifiers of those for which the system has no room now.
    mutating func next(for system: String, without refused: Set<String> = [], _ now: Instant) -> Entry? {
        guard !self.sending.contains(system) else { return nil }
        let missing = self.entries.values.filter { entry in
            entry.isPermitted && self.sent[system]?[entry.identifier] != entry.number
                && !refused.contains(entry.identifier) && now - entry.arrived < Self.life
        }
        guard var entry = missing.min(by: { $0.number < $1.number }), let delivery = entry.notification.deliveryID
        else {
            return nil
        }
        self.sending.insert(system)
        // It may arrive although this system never learns that.
        let earlier = self.held[system]?[entry.identifier] ?? []
        self.held[system, default: [:]][entry.identifier] =
            (earlier.filter { $0 != delivery } + [delivery]).suffix(Self.maxHeld)
        let age = now - entry.arrived
        entry.notification.expiration = Self.life - age
        if age > Self.soundTime { entry.notification.request.content.sound = nil }
        return entry
    }

    /// A notification was sent.
    ///
    /// - Parameter isOver: whether the system has it, or never takes it.
    mutating func sent(_ entry: Entry, to system: String, isOver: Bool) {
        self.sending.remove(system)
        guard isOver, let delivery = entry.notification.deliveryID, self.entries[entry.identifier] != nil else {
            return
        }
        self.sent[system, default: [:]][entry.identifier] = entry.number
        self.held[system, default: [:]][entry.identifier] = [delivery]
    }
}
