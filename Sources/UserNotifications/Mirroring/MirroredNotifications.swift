// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsTransport

/// The notifications of this system's desktop that the user's other systems are to show, too.
///
/// A value type: ``next(for:)`` says what to send, and the receiver sends it.
struct MirroredNotifications {
    struct Entry: Hashable {
        var notification: RemoteNotification
        /// The application of this system that has shown it.
        var application: String
        /// The order in which they came.
        var number: UInt64
    }

    /// The maximum number of them, fewer than a system keeps of another one. For one more, the other systems remove the
    /// oldest.
    static let max = 24
    /// The number that may come at once: half of what another system accepts, so that programs that notify the user's
    /// systems themselves have the rest. One more is permitted every four seconds.
    static let burst = 15

    private var entries: [UUID: Entry] = [:]
    /// The numbers of the newest contents that systems have, by system and delivery.
    private var sent: [String: [UUID: UInt64]] = [:]
    /// The systems to which something is being sent.
    private var sending: Set<String> = []
    private var lastNumber: UInt64 = 0
    private var bucket: TokenBucket

    init(_ now: ContinuousClock.Instant) {
        self.bucket = TokenBucket(capacity: Double(Self.burst), rate: 0.25, now: now)
    }

    var isEmpty: Bool { self.entries.isEmpty }

    func contains(_ delivery: UUID) -> Bool { self.entries[delivery] != nil }

    /// Adds a notification, in place of the content of the same delivery.
    ///
    /// - Returns: whether it is sent: too many have come, or it has no delivery id.
    mutating func put(
        _ notification: RemoteNotification,
        of application: String,
        _ now: ContinuousClock.Instant
    ) -> Bool {
        guard let delivery = notification.deliveryID, self.bucket.permits(at: now) else { return false }
        self.bucket.take(at: now)
        self.lastNumber += 1
        self.entries[delivery] = Entry(
            notification: notification,
            application: application,
            number: self.lastNumber
        )
        return true
    }

    /// The oldest one, if there are too many.
    var excess: UUID? {
        guard self.entries.count > Self.max else { return nil }
        return self.entries.min { $0.value.number < $1.value.number }?.key
    }

    @discardableResult
    mutating func remove(_ delivery: UUID) -> Entry? {
        for system in self.sent.keys { self.sent[system]?[delivery] = nil }
        return self.entries.removeValue(forKey: delivery)
    }

    /// What to send next to a system, the oldest first; `nil` if it has everything. Each receives one at a time.
    mutating func next(for system: String) -> Entry? {
        guard !self.sending.contains(system) else { return nil }
        let missing = self.entries.filter { self.sent[system]?[$0.key] != $0.value.number }.map(\.value)
        guard let entry = missing.min(by: { $0.number < $1.number }) else { return nil }
        self.sending.insert(system)
        return entry
    }

    /// A notification was sent.
    ///
    /// - Parameter isOver: whether the system has it, or never takes it.
    mutating func sent(_ entry: Entry, to system: String, isOver: Bool) {
        self.sending.remove(system)
        guard isOver, let delivery = entry.notification.deliveryID, self.entries[delivery] != nil else { return }
        self.sent[system, default: [:]][delivery] = entry.number
    }
}
