// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason with which a publisher ended a subscription. Unknown reasons are preserved.
package struct StateEndReason: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The peer has no such topic, or does not publish it to this system.
    package static let topicUnknown = StateEndReason(rawValue: "topic-unknown")
    /// The topic was closed.
    package static let topicClosed = StateEndReason(rawValue: "topic-closed")
    /// The topic is not published in the subscriber's version of its schema.
    package static let schemaUnsupported = StateEndReason(rawValue: "schema-unsupported")
    /// The subscriber granted less credit than a subscription needs, or more than it may.
    package static let creditInvalid = StateEndReason(rawValue: "credit-invalid")
    /// The subscriber's `limit` is too small for state frames.
    package static let limitTooSmall = StateEndReason(rawValue: "limit-too-small")
    /// The publisher has reached its maximum number of subscriptions, in all or for this system.
    package static let busy = StateEndReason(rawValue: "busy")
    /// The topic changes faster than the subscriber reads.
    package static let tooSlow = StateEndReason(rawValue: "too-slow")
    /// The subscriber unsubscribed.
    package static let unsubscribed = StateEndReason(rawValue: "unsubscribed")

    /// The registered reasons.
    package static let registered: [StateEndReason] = [
        .topicUnknown, .topicClosed, .schemaUnsupported, .creditInvalid, .limitTooSmall, .busy, .tooSlow, .unsubscribed,
    ]
}

/// The end of a subscription, from the subscriber's point of view.
package enum StateEnd: Sendable, Hashable {
    /// The publisher ended it.
    case publisher(StateEndReason)
    /// The publisher broke a rule of the protocol, and this side unsubscribed.
    case rulesBroken(StateObjection)
    /// This side unsubscribed.
    case unsubscribed
    /// The connection ended. A subscription over another connection can resume.
    case connectionEnded
}

/// The reason with which a subscriber ends its subscription: the `reason` of UNSUBSCRIBE.
package enum StateObjection: String, Sendable, Hashable, CaseIterable {
    /// A part of a snapshot or delta arrived out of order.
    case partUnexpected = "part-unexpected"
    /// A delta does not continue the subscriber's version.
    case versionUnexpected = "version-unexpected"
    /// A key or a record exceeds its bounds.
    case recordInvalid = "record-invalid"
    /// The topic exceeds the maximum number of bytes or records of a topic.
    case topicTooLarge = "topic-too-large"
    /// A snapshot or delta is longer than the maximum length of a transfer.
    case transferTooLong = "transfer-too-long"
    /// More bytes arrived than were granted.
    case creditExceeded = "credit-exceeded"
    /// The subscriber has reached its maximum amount of state, in all or from this system.
    case budgetExceeded = "budget-exceeded"
}
