// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The bounds of published state. The constants are part of the protocol (`Docs/wire/published-state.md`); the
/// variables are this side's own choice.
package struct StateLimits: Sendable, Hashable {
    /// The maximum length of one encoded record, in bytes.
    package static let recordBytes = 16 << 10
    /// The maximum length of a topic's keys and encoded records together, in bytes.
    package static let topicBytes = 1 << 20
    /// The maximum number of records in a topic.
    package static let topicRecords = 4096
    /// The maximum length of a key, in bytes of UTF-8.
    package static let keyBytes = 1280
    /// How deep a record may nest, its own dictionary being level 1. A frame adds two levels.
    package static let recordDepth = 30
    /// The maximum length of a frame with records, in bytes.
    package static let partBytes = 32 << 10
    /// The least `limit` of a side that subscribes, in bytes.
    package static let minLimit = Self.partBytes
    /// The least credit in a subscription, in bytes: any part fits in it.
    package static let minCredit = 64 << 10
    /// The maximum credit that a subscriber may have granted and not seen used, in bytes.
    package static let maxCredit = 16 << 20
    /// The maximum length of one snapshot or delta in all its parts, in bytes.
    package static let transferBytes = 2 * Self.topicBytes

    /// The maximum number of topics of a publisher. Defaults to 64.
    package var topics = 64
    /// The maximum length of all topics of a publisher together, in bytes. Defaults to 16 MiB.
    package var publisherBytes = 16 << 20
    /// The maximum number of subscriptions on one connection. Defaults to 16.
    package var subscriptionsPerConnection = 16
    /// The maximum number of subscriptions of one system over all its connections. Defaults to 64.
    package var subscriptionsPerPeer = 64
    /// The maximum number of subscriptions to a publisher. Defaults to 65 536.
    package var subscriptions = 65_536
    /// The maximum number of dropped keys that a topic remembers. A subscriber that needs an older one receives a
    /// snapshot. Defaults to 1024.
    package var tombstones = 1024

    package init() {}
}
