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

    /// How it ended. Of two statuses the later one in this order counts, on every system.
    enum Status: String, CaseIterable, Comparable {
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
    /// The date at which it ended, by the clock of the system on which it ended.
    var date: Date

    /// The state that counts of this one, which is known here, and another. Neither the order nor the number of merges
    /// matters for the status. Clocks differ, so the date stays as it is known here.
    func merged(with other: Self) -> Self { other.status > self.status ? other : self }
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

    var valueSet: ValueSet { ["Status": .string(self.status.rawValue), "Date": .date(self.date)] }

    /// Reads a record; `nil` for one that this version does not know.
    init?(_ set: ValueSet) {
        guard let status = (set["Status"]?.string).flatMap(Status.init), let date = set["Date"]?.date else {
            return nil
        }
        self.init(status: status, date: date)
    }
}
