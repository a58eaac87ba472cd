// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The state on another system that a sender finds when it connects again: its notifications and the responses to them.
public struct NotificationResumption: Sendable, Hashable {
    /// The identifiers of the notifications that still wait for the user.
    public var waiting: [String]
    /// The number of responses that the system sends now, because the sender has not received them.
    public var responseCount: Int

    /// Creates the state of a sender on another system.
    public init(waiting: [String], responseCount: Int) {
        self.waiting = waiting
        self.responseCount = responseCount
    }

    var valueSet: ValueSet {
        ["Waiting": .array(self.waiting.map { .string($0) }), "Responses": .integer(Int64(self.responseCount))]
    }

    init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.waiting = try reader.strings("Waiting", max: ReceivedNotifications.maxPerSystem)
        self.responseCount = try reader.int("Responses") ?? 0
    }
}

/// The outcome of a delivery, from the system that received the notification.
public struct NotificationDelivery: Sendable, Hashable {
    /// The way in which the system treated the notification.
    public enum Status: String, Sendable, Hashable, CaseIterable {
        /// The user can see it.
        case shown
        /// It is in the system's list, but nothing shows it: the system has no desktop, or the user wants to see it
        /// later.
        case kept
        /// An application of the system has updated its content, or has the number that the notification sets at its
        /// icon. The user sees no notification.
        case handled
        /// It was neither shown, kept nor handled.
        case withheld
    }

    /// The way in which the system treated the notification.
    public var status: Status
    /// The reason, unless it is shown or handled; and which attachments were left out, and why.
    public var reason: String?

    /// Creates a report of a delivery.
    public init(_ status: Status, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    static let superseded = NotificationDelivery(
        .withheld,
        reason: "It was withdrawn, replaced or answered before it could be shown."
    )

    static let snoozed = NotificationDelivery(.kept, reason: "It is shown at a later time.")

    mutating func add(_ text: String) { self.reason = [self.reason, text].compactMap(\.self).joined(separator: " ") }

    /// Whether the user of the system can respond.
    var waitsForUser: Bool { self.status == .shown || self.status == .kept }

    var valueSet: ValueSet {
        var set: ValueSet = ["Status": .string(self.status.rawValue)]
        set.put(self.reason, "Reason")
        return set
    }

    init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        let status = try reader.requiredString("Status")
        // A later version may have further states.
        self.status = Status(rawValue: status) ?? .withheld
        self.reason = try reader.string("Reason")
    }
}
