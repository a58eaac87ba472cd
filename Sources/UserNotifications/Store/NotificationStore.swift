// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Keeps notifications while the program that shows them does not run.
package protocol NotificationStore: Sendable {
    /// Everything that was stored, in the order of the dates, without the history.
    func load() async throws(NotificationError) -> [NotificationRecord]

    /// The history, the newest first.
    ///
    /// - Parameters:
    ///   - key: the record after which to begin; `nil` for the newest.
    ///   - limit: the maximum number of records.
    func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord]

    /// Stores changes in the order of the calls. The changes of one call are stored together or not at all.
    ///
    /// - Throws: ``NotificationError`` with `storeFailed`.
    func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError)
}

/// A stored notification or response.
package struct NotificationRecord: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// A notification that waits for its trigger.
        case pending
        /// A notification that waits for the user.
        case received
        /// A response that waits for the sender of its notification.
        case response
        /// A notification that waits for another system.
        case outbox
        /// What the user permits a sender.
        case permission
        /// How a notification has ended, or that it was read or snoozed, on any system of the user.
        case state
        /// A notification that has ended, for the user to read again.
        case history
        /// The number at the icon of an application.
        case badge
        /// What other systems may show of a notification of this system's desktop.
        case mirrored
        /// The last number that was given to a received notification. None is given twice.
        case counter
        /// Where a notification is on the screen. It stays when the notification ends, until the presenter has closed
        /// it.
        case place
    }

    package var kind: Kind
    /// Unique among the records of a kind.
    package var key: String
    /// The date of the next delivery, of the arrival, of the response, of the handing over, or of the end.
    package var date: Date
    /// The encoded fields.
    package var body: [UInt8]
    /// Who has caused it, where the records of a kind are limited together; empty if that has no effect.
    package var source: String

    package init(_ kind: Kind, key: String, date: Date, body: [UInt8], source: String = "") {
        self.kind = kind
        self.key = key
        self.date = date
        self.body = body
        self.source = source
    }
}

package enum NotificationStoreChange: Sendable, Hashable {
    case put(NotificationRecord)
    case remove(NotificationRecord.Kind, key: String)
    /// Removes the records of a kind that are older than a date, and then those beyond a number: the oldest of the
    /// sources that have the most.
    case prune(NotificationRecord.Kind, before: Date, keeping: Int)
}

/// In place of a store that cannot be opened. Every change fails with the reason. What the user had denied is not
/// known, so that everything is shown silently.
package struct UnavailableNotificationStore: NotificationStore {
    private let reason: NotificationError

    package init(_ reason: NotificationError) { self.reason = reason }

    package func load() async throws(NotificationError) -> [NotificationRecord] {
        [try NotificationRecord.silentForAll(at: .now)]
    }
    package func history(after key: String?, limit: Int) async throws(NotificationError) -> [NotificationRecord] {
        throw self.reason
    }
    package func commit(_ changes: [NotificationStoreChange]) async throws(NotificationError) { throw self.reason }
}
