// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The number of notifications that were not accepted since the start, for each sender.
struct NotificationRefusals {
    /// Why a notification was not accepted. The raw values are the keys on the wire.
    enum Reason: String, CaseIterable {
        /// The user has denied the sender.
        case denied = "Denied"
        /// The user permits the sender fewer notifications an hour.
        case limited = "Limited"
        /// The sender was faster than any sender may be.
        case tooFast = "TooFast"
    }

    /// The maximum number of senders, and of those of one system. Applications are only claimed, so a system could have
    /// any number of them.
    static let (maxSenders, maxSendersOfSystem) = (256, 32)

    private(set) var counts: [NotificationSender: [Reason: Int]] = [:]

    mutating func count(_ reason: Reason, of sender: NotificationSender) {
        if self.counts[sender] == nil { self.makeRoom(for: Self.system(of: sender)) }
        self.counts[sender, default: [:]][reason, default: 0] += 1
    }

    /// Forgets a sender if there are too many: one of the same system, or of the system that has the most.
    private mutating func makeRoom(for system: String) {
        let systems = Dictionary(grouping: self.counts.keys, by: Self.system)
        if let own = systems[system], own.count >= Self.maxSendersOfSystem {
            self.forgetOne(of: own)
        } else if self.counts.count >= Self.maxSenders {
            let most = systems.values.map(\.count).max() ?? 0
            self.forgetOne(of: systems.values.filter { $0.count == most }.flatMap { $0 })
        }
    }

    /// Forgets the sender with the fewest.
    private mutating func forgetOne(of senders: [NotificationSender]) {
        let fewest = senders.min { self.total(of: $0) < self.total(of: $1) }
        if let fewest { self.counts[fewest] = nil }
    }

    private func total(of sender: NotificationSender) -> Int { self.counts[sender, default: [:]].values.reduce(0, +) }

    /// All systems of a linked account count as one, because that account can certify any number of them.
    private static func system(of sender: NotificationSender) -> String { sender.linkedAccountID ?? sender.systemID }
}
