// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// What has become of a notification, for all systems of the user that have it.
struct NotificationState: Sendable, Hashable {
    /// One delivery of a sender, which may have sent it to several systems.
    struct Key: Sendable, Hashable {
        /// The system of the sender. Its certificate proved it, so that no other system ends its notifications.
        var systemID: String
        /// The ``RemoteNotification/deliveryID``.
        var deliveryID: UUID
    }

    /// Whether it waits, or how it ended. Of two statuses the later one in this order counts, on every system.
    enum Status: String, CaseIterable, Comparable {
        /// It waits, and the user has read it or wants to see it later.
        case waiting
        /// The sender has withdrawn or replaced it.
        case withdrawn
        case dismissed
        /// The user has chosen an action.
        case activated

        static func < (left: Self, right: Self) -> Bool {
            Self.allCases.firstIndex(of: left) ?? 0 < Self.allCases.firstIndex(of: right) ?? 0
        }
    }

    var status: Status
    /// The date at which it got the status, by the clock of the system on which it did.
    var date: Date
    /// Whether the user has read a notification that waits.
    var isRead = false
    /// The date until which a notification that waits is hidden, possibly in the past; `nil` if it never was.
    var snoozedUntil: Date?

    /// The state that counts of this one, which is known here, and another. Neither the order nor the number of merges
    /// matters for anything but the date. Clocks differ, so the date stays as it is known here.
    ///
    /// Every end counts more than what waits. What was read once is read, and of two snoozes the later date counts.
    func merged(with other: Self) -> Self {
        guard other.status == self.status else { return other.status > self.status ? other : self }
        var merged = self
        merged.isRead = self.isRead || other.isRead
        merged.snoozedUntil = [self.snoozedUntil, other.snoozedUntil].compactMap(\.self).max()
        return merged
    }

    /// Whether the state counts at a date. One that is too old does not, and no snooze is as long as a state is known.
    func counts(at now: Date) -> Bool {
        now.timeIntervalSince(self.date) < NotificationStates.life
            && (self.snoozedUntil.map { $0.timeIntervalSince(now) < NotificationStates.life } ?? true)
    }
}

// MARK: The published form

extension NotificationState.Key {
    var text: String { "\(self.systemID).\(self.deliveryID.uuidString.lowercased())" }

    init?(_ text: String) {
        guard let point = text.lastIndex(of: "."), let id = UUID(uuidString: String(text[text.index(after: point)...]))
        else { return nil }
        let system = String(text[..<point])
        guard (1...NotificationLimits.identifierBytes).contains(system.utf8.count) else { return nil }
        self.init(systemID: system, deliveryID: id)
    }
}

extension NotificationState {
    /// The topic of the states.
    static let topic = "org.remotesystems.notifications.states"

    var valueSet: ValueSet {
        var set: ValueSet = ["Status": .string(self.status.rawValue), "Date": .date(self.date)]
        if self.isRead { set["Read"] = true }
        if let snoozedUntil { set["Until"] = .date(snoozedUntil) }
        return set
    }

    /// Reads a record; `nil` for one that this version does not know.
    init?(_ set: ValueSet) {
        guard let status = (set["Status"]?.string).flatMap(Status.init), let date = set["Date"]?.date else {
            return nil
        }
        self.init(status: status, date: date)
        guard status == .waiting else { return }
        self.isRead = set["Read"]?.bool ?? false
        self.snoozedUntil = set["Until"]?.date
    }
}
