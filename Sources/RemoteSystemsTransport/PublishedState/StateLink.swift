// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The subscriptions of one connection, and the order in which they are served.
///
/// Each frame advances the turn of its topic by the frame's length, divided by the weight of the topic's priority. The
/// topic with the earliest turn is next. While all topics have frames to send, each therefore gets its share, and none
/// waits for long.
struct StateLink: Sendable {
    /// The system at the other end, for the limit on its subscriptions.
    let peer: String
    /// The maximum length of a frame that the peer accepts, in bytes.
    let limit: Int
    var subscriptions: [StateSubscription] = []
    /// The subscriptions' ends that were not sent yet.
    var ends: [(topic: String, reason: StateEndReason)] = []
    /// Whether the driver is going to ask for frames.
    var isScheduled = false
    /// Whether the connection is not writable.
    var isPaused = false
    private var time: UInt64 = 0

    init(peer: String, limit: Int) {
        self.peer = peer
        self.limit = limit
    }

    func index(of topic: String) -> Int? {
        self.subscriptions.firstIndex { $0.topic == topic }
    }

    mutating func takeEnd() -> (topic: String, reason: StateEndReason)? {
        self.ends.isEmpty ? nil : self.ends.removeFirst()
    }

    /// Removes a subscription, and notes its end to be sent to the subscriber.
    ///
    /// - Returns: the topic of the subscription.
    mutating func end(at index: Int, _ reason: StateEndReason) -> String {
        let topic = self.subscriptions.remove(at: index).topic
        self.ends.append((topic, reason))
        return topic
    }

    /// Returns the index of the subscription whose turn is next.
    func next(_ topics: [String: PublishedTopicState]) -> Int? {
        var best: Int?
        for (index, subscription) in self.subscriptions.enumerated() {
            guard let topic = topics[subscription.topic],
                subscription.isReady(newest: topic.records.lastSequence)
            else { continue }
            if let other = best, !self.isBefore(subscription, self.subscriptions[other]) { continue }
            best = index
        }
        return best
    }

    private func isBefore(_ one: StateSubscription, _ other: StateSubscription) -> Bool {
        let (turn, otherTurn) = (max(one.turn, self.time), max(other.turn, self.time))
        return turn != otherTurn ? turn < otherTurn : one.priority.rawValue > other.priority.rawValue
    }

    /// Creates the next frame of a subscription.
    mutating func serve(_ index: Int, _ topics: inout [String: PublishedTopicState]) -> PublishedTopicState.Outcome {
        let topic = self.subscriptions[index].topic
        guard let outcome = topics[topic]?.next(for: &self.subscriptions[index], limit: self.limit) else {
            return .end(.topicClosed)
        }
        if case .frame(let frame) = outcome {
            self.time = max(self.time, self.subscriptions[index].turn)
            let cost = UInt64(frame.readableBytes) * TopicPriority.trust.weight
            self.subscriptions[index].turn = self.time + cost / self.subscriptions[index].priority.weight
        }
        return outcome
    }
}
