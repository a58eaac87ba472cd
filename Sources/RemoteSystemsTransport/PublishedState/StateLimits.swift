// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The bounds of published state. The constants are part of the protocol (`Docs/wire/published-state.md`). Each side
/// chooses its own values for the variables.
package struct StateLimits: Sendable, Hashable {
    /// The maximum length of one encoded record, in bytes.
    package static let recordBytes = 16 << 10
    /// The maximum length of a topic's keys and encoded records together, in bytes.
    package static let topicBytes = 1 << 20
    /// The maximum number of records in a topic.
    package static let topicRecords = 4096
    /// The maximum length of a key, in bytes of UTF-8.
    package static let keyBytes = 1280
    /// The maximum nesting depth of a record. The record's own dictionary is level 1. A frame adds two levels.
    package static let recordDepth = 30
    /// The maximum length of a frame with records, in bytes without its length field.
    package static let partBytes = 32 << 10
    /// The minimum `limit` of a subscriber, in bytes.
    package static let minLimit = Self.partBytes
    /// The minimum initial credit of a subscription, in bytes. Any part fits into it.
    package static let minCredit = 64 << 10
    /// The maximum unused credit of a subscription, in bytes.
    package static let maxCredit = 16 << 20
    /// The maximum length of a snapshot or delta with all its parts, in bytes.
    package static let transferBytes = 2 * Self.topicBytes

    /// The maximum number of a publisher's topics. Defaults to 64.
    package var topics = 64
    /// The maximum length of all topics of a publisher together, in bytes. Defaults to 16 MiB.
    package var publisherBytes = 16 << 20
    /// The maximum number of subscriptions on one connection. Defaults to 16.
    package var subscriptionsPerConnection = 16
    /// The maximum number of subscriptions of one system over all its connections. Defaults to 64.
    package var subscriptionsPerPeer = 64
    /// The maximum number of subscriptions to a publisher. Defaults to 65 536.
    package var subscriptions = 65_536
    /// The maximum number of dropped keys that a topic remembers. A subscriber that missed an older drop receives a
    /// snapshot. Defaults to 1024.
    package var tombstones = 1024

    package init() {}
}
