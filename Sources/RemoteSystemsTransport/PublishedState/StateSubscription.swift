// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A publisher's state for one subscription. Its size does not depend on how far behind the subscriber is.
struct StateSubscription: Sendable {
    /// A snapshot or delta that is being sent.
    struct Transfer: Sendable {
        /// The version that a delta continues; `nil` for a snapshot.
        let from: UInt64?
        /// The change up to which drops are not sent, because the subscriber never had the keys or has received the
        /// drops.
        let base: UInt64
        /// The newest change that was sent.
        var cursor: UInt64
        /// The number of parts that were sent.
        var parts: UInt64 = 0
        /// The length of the frames of the sent parts, in bytes.
        var bytes = 0
    }

    let topic: String
    let priority: TopicPriority
    private(set) var view: TopicView
    private(set) var epoch: UInt64
    /// The number of bytes of frames that the subscriber still accepts.
    var credit: Int
    /// The version that was sent completely; `nil` if the subscriber needs a snapshot.
    private(set) var known: UInt64?
    /// The newest change that the subscriber no longer needs to receive.
    var cursor: UInt64
    var transfer: Transfer?
    /// Whether the first snapshot or delta is still to be sent. It is sent even if it is empty, because it confirms the
    /// subscription.
    private(set) var mustAnswer = true
    /// Whether no frame fits into the remaining credit.
    var isBlocked = false
    /// The time of the subscription's next frame on the connection's virtual time scale; see ``StateLink``.
    var turn: UInt64 = 0

    /// Creates a subscription, which may continue an earlier one.
    ///
    /// - Parameter resumed: the version that the subscriber has, and that version's newest change.
    init(
        topic: TopicSchema,
        view: TopicView,
        epoch: UInt64,
        credit: Int,
        resumed: (version: UInt64, sequence: UInt64)?
    ) {
        self.topic = topic.name
        self.priority = topic.priority
        self.view = view
        self.epoch = epoch
        self.credit = credit
        self.known = resumed?.version
        self.cursor = resumed?.sequence ?? 0
    }

    /// Whether there may be something to send. `newest` is the topic's newest change.
    func isReady(newest: UInt64) -> Bool {
        guard !self.isBlocked else { return false }
        return self.mustAnswer || self.known == nil || self.transfer != nil || self.cursor < newest
    }

    /// Restarts with a snapshot, because the view changed, or because changes that the subscriber missed were removed.
    mutating func startAnew(view: TopicView, epoch: UInt64) {
        self.view = view
        self.epoch = epoch
        self.known = nil
        self.transfer = nil
        self.mustAnswer = true
    }

    mutating func completed(version: UInt64, sequence: UInt64) {
        self.known = version
        self.skipped(to: sequence)
        self.mustAnswer = false
    }

    /// Skips changes that are not part of the view.
    mutating func skipped(to sequence: UInt64) {
        self.cursor = sequence
        self.transfer = nil
    }
}
