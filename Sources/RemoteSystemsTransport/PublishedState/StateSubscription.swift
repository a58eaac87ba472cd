// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a publisher knows of one subscription. Its size does not depend on how far the subscriber is behind.
struct StateSubscription: Sendable {
    /// A snapshot or delta of which some parts may have been sent.
    struct Transfer: Sendable {
        /// The version that a delta continues; `nil` for a snapshot.
        let from: UInt64?
        /// Drops up to this change are not part of it: the subscriber never had the keys, or knows that they were
        /// dropped.
        let base: UInt64
        /// The newest change that was sent.
        var cursor: UInt64
        /// How many parts were sent.
        var parts: UInt64 = 0
        /// The length of their frames.
        var bytes = 0
    }

    let topic: String
    let priority: TopicPriority
    private(set) var view: TopicView
    private(set) var epoch: UInt64
    /// How many bytes of frames the subscriber still accepts.
    var credit: Int
    /// The version that was sent completely; `nil` if the subscriber needs a snapshot.
    private(set) var known: UInt64?
    /// The newest change that the subscriber needs not receive any more.
    var cursor: UInt64
    var transfer: Transfer?
    /// The first answer is sent even if it holds nothing: it shows that the subscription stands.
    private(set) var mustAnswer = true
    /// Nothing fits into the credit that is left.
    var isBlocked = false
    /// The time of its next frame on the scale on which the connection is divided; see ``StateLink``.
    var turn: UInt64 = 0

    /// - Parameter resumed: the version that the subscriber has, and its newest change.
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

    /// Whether there may be something to send, the topic's newest change being this one.
    func isReady(newest: UInt64) -> Bool {
        guard !self.isBlocked else { return false }
        return self.mustAnswer || self.known == nil || self.transfer != nil || self.cursor < newest
    }

    /// The subscriber sees something else from now on, or missed changes that were forgotten.
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

    /// What changed is not part of the view.
    mutating func skipped(to sequence: UInt64) {
        self.cursor = sequence
        self.transfer = nil
    }
}
