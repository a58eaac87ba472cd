// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ValueSets

/// One topic of a publisher: its records, its subscribers, and the frames that are sent to several of them.
struct PublishedTopicState: Sendable {
    let schema: TopicSchema
    let includes: @Sendable (TopicView, StateKey) -> Bool
    /// A random number for each opening of the topic.
    let seed: UInt64
    var records: PublishedRecords
    var subscribers: Set<StatePublisherStateMachine.LinkID> = []
    /// Encoded frames that lead from a version to the newest one in a single part, shared by all subscribers with the
    /// same view.
    private var frames: [FrameKey: ByteBuffer] = [:]

    private struct FrameKey: Hashable {
        let view: TopicView
        let from: UInt64?
    }

    private static var maxFrames: Int { 16 }

    init(
        schema: TopicSchema,
        includes: @escaping @Sendable (TopicView, StateKey) -> Bool,
        seed: UInt64,
        maxTombstones: Int
    ) {
        self.schema = schema
        self.includes = includes
        self.seed = seed
        self.records = PublishedRecords(maxTombstones: maxTombstones)
    }

    /// The epoch for subscribers with this view. It differs for each view: a subscriber whose rights changed cannot
    /// resume, because it may have records that it must not have any more.
    func epoch(of view: TopicView) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(self.seed)
        hasher.combine(view)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Changes several records as one version, and discards the encoded frames of the previous one.
    ///
    /// - Returns: whether there is a new version.
    mutating func commit(put: [(key: StateKey, value: ValueSet, bytes: Int)], drop: [StateKey]) -> Bool {
        guard self.records.commit(put: put, drop: drop) else { return false }
        self.frames.removeAll(keepingCapacity: true)
        return true
    }

    /// The result of asking for a subscriber's next frame.
    enum Outcome {
        /// There is nothing to send.
        case nothing
        /// The subscriber must grant more credit first.
        case blocked
        case frame(ByteBuffer)
        case end(StateEndReason)
    }

    /// Returns the next frame for a subscriber that accepts frames of `limit` bytes.
    mutating func next(for subscription: inout StateSubscription, limit: Int) -> Outcome {
        var transfer = self.transfer(for: &subscription)
        let key = FrameKey(view: subscription.view, from: transfer.from)
        if transfer.parts == 0, let frame = self.frames[key] {
            let bytes = frame.readableBytes - FrameDecoder.lengthBytes
            if bytes <= min(limit, subscription.credit) {
                subscription.credit -= bytes
                subscription.completed(version: self.records.version, sequence: self.records.lastSequence)
                return .frame(frame)
            }
        }
        let room = min(StateLimits.partBytes, limit, subscription.credit) - Self.overhead - self.schema.name.utf8.count
        let (part, cursor) = self.part(of: transfer, for: subscription, room: room)
        let isEmpty = part.put.isEmpty && part.drop.isEmpty
        if part.to == nil, isEmpty {
            subscription.isBlocked = true
            return .blocked
        }
        if isEmpty, transfer.parts == 0, transfer.from != nil, !subscription.mustAnswer {
            subscription.skipped(to: self.records.lastSequence)
            return .nothing
        }
        var frame = ByteBuffer()
        do throws(TransportError) {
            try frame.writeFrame(.state(.part(part)), limit: min(StateLimits.partBytes, limit))
        } catch {
            // Unreachable, because every record was measured when it was committed.
            return .end(.topicClosed)
        }
        let bytes = frame.readableBytes - FrameDecoder.lengthBytes
        transfer.bytes += bytes
        guard transfer.bytes <= StateLimits.transferBytes else { return .end(.tooSlow) }
        subscription.credit -= bytes
        if part.to != nil {
            if transfer.parts == 0, self.frames.count < Self.maxFrames { self.frames[key] = frame }
            subscription.completed(version: self.records.version, sequence: self.records.lastSequence)
        } else {
            transfer.parts += 1
            transfer.cursor = cursor
            subscription.transfer = transfer
        }
        return .frame(frame)
    }

    /// Returns the current transfer, or a new one.
    private func transfer(for subscription: inout StateSubscription) -> StateSubscription.Transfer {
        let horizon = self.records.horizon.sequence
        if let transfer = subscription.transfer {
            if horizon <= max(transfer.base, transfer.cursor) { return transfer }
            subscription.startAnew(view: subscription.view, epoch: subscription.epoch)
        }
        if let known = subscription.known, horizon <= subscription.cursor {
            return .init(from: known, base: subscription.cursor, cursor: subscription.cursor)
        }
        return .init(from: nil, base: self.records.lastSequence, cursor: 0)
    }

    /// The maximum length of a frame without its records, in bytes: the heads, and the longest form of the keys and
    /// numbers.
    private static var overhead: Int { 128 }

    /// Builds a part of as many changes as fit, in their order. A key that changes again during the transfer is sent
    /// again, so that the state after the last part is that of the newest version.
    ///
    /// - Returns: the part, and the sequence number of its newest change.
    private func part(
        of transfer: StateSubscription.Transfer,
        for subscription: StateSubscription,
        room: Int
    ) -> (StateMessage.Part, cursor: UInt64) {
        var part = StateMessage.Part(topic: self.schema.name, epoch: subscription.epoch, from: transfer.from)
        part.number = transfer.parts
        var left = room
        var cursor = transfer.cursor
        for change in self.records.log[self.records.place(after: cursor)...] {
            var cost = 3 + change.key.text.utf8.count
            switch self.records.newest(change) {
            case .record(let record) where self.includes(subscription.view, change.key):
                cost += record.bytes
                guard cost <= left else { return (part, cursor) }
                part.put[change.key] = record.value
                left -= cost
            case .dropped where change.sequence > transfer.base && self.includes(subscription.view, change.key):
                guard cost <= left else { return (part, cursor) }
                part.drop.append(change.key)
                left -= cost
            case .record, .dropped, nil:
                break
            }
            cursor = change.sequence
        }
        if left >= 0 { part.to = self.records.version }
        return (part, cursor)
    }
}
