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

    /// The maximum number of senders. Applications are only claimed, so a system could have any number of them.
    static let maxSenders = 256

    private(set) var counts: [NotificationSender: [Reason: Int]] = [:]

    mutating func count(_ reason: Reason, of sender: NotificationSender) {
        if self.counts[sender] == nil, self.counts.count >= Self.maxSenders { self.forgetOne() }
        self.counts[sender, default: [:]][reason, default: 0] += 1
    }

    /// Forgets the sender with the fewest.
    private mutating func forgetOne() {
        let fewest = self.counts.min { Self.total($0.value) < Self.total($1.value) }
        if let fewest { self.counts[fewest.key] = nil }
    }

    private static func total(_ counts: [Reason: Int]) -> Int { counts.values.reduce(0, +) }
}
