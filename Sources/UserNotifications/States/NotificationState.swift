// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import ValueSets

/// What has become of a notification, for all systems of the user that have it.
struct NotificationState: Sendable, Hashable {
    /// One delivery of a sender, which may have sent it to several systems.
    struct Key: Sendable, Hashable {
        /// The system of the sender. Its certificate proved it, so that no other system ends its notifications.
        var systemID: String
        /// The ``RemoteNotification/deliveryID``.
        var deliveryID: UUID
    }

    /// Under what a state is known and published.
    ///
    /// An end has the delivery id, because it is over then. Before that, only systems that have received the
    /// notification may learn the id: with it, another system could end it. So what was read or snoozed has digests.
    enum RecordKey: Sendable, Hashable {
        case end(Key)
        /// - Parameters:
        ///   - delivery: the digest of the delivery's key, by which the systems that have received it recognise it.
        ///   - proof: the digest of the key and the state. Only a system that has received the notification can make
        ///     one for another state.
        case waiting(delivery: String, proof: String)
    }

    /// Whether it waits, or how it ended. Of two statuses the later one in this order counts, on every system.
    enum Status: String, CaseIterable, Comparable {
        /// It waits, and the user has read it or wants to see it later.
        case waiting
        /// The sender has withdrawn or replaced it.
        case withdrawn
        case dismissed
        /// The user has chosen an action.
        case activated

        static func < (left: Self, right: Self) -> Bool {
            Self.allCases.firstIndex(of: left) ?? 0 < Self.allCases.firstIndex(of: right) ?? 0
        }
    }

    var status: Status
    /// The date at which it got the status, by the clock of the system on which it did.
    var date: Date
    /// Whether the user has read a notification that waits.
    var isRead = false
    /// The date until which a notification that waits is hidden, possibly in the past; `nil` if it never was.
    var snoozedUntil: Date?

    /// The state that counts of this one, which is known here, and another of the same record. Neither the order nor
    /// the number of merges matters for anything but the date. Clocks differ, so the date stays as it is known here.
    func merged(with other: Self) -> Self { other.status > self.status ? other : self }

    /// Whether the state counts at a date. One that is too old does not, and no snooze is as long as a state is known.
    func counts(at now: Date) -> Bool {
        now.timeIntervalSince(self.date) < NotificationStates.life
            && (self.snoozedUntil.map { $0.timeIntervalSince(now) < NotificationStates.life } ?? true)
    }
}

// MARK: The published form

extension NotificationState.Key {
    var text: String { "\(self.systemID).\(self.deliveryID.uuidString.lowercased())" }

    /// Reads the form of ``text``, byte for byte. A second spelling of a key would be another record in the topic and
    /// in the store, but the same one here, where it would be forgotten without these.
    init?(_ text: String) {
        guard let point = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            let system = SystemID(String(text[..<point])),
            let id = UUID(uuidString: String(text[text.utf8.index(after: point)...]))
        else { return nil }
        self.init(systemID: "\(system)", deliveryID: id)
        guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
    }

    /// Names the delivery to the systems that have received it, and to no others.
    var digest: String { Self.digest(self.text) }

    /// The key of the record with a state.
    func record(_ state: NotificationState) -> NotificationState.RecordKey {
        guard state.status == .waiting else { return .end(self) }
        var text = self.text
        if state.isRead { text += " read" }
        // A date that is no number of seconds in range is not published.
        if let until = state.snoozedUntil { text += " \(Int64(exactly: until.timeIntervalSince1970.rounded()) ?? 0)" }
        return .waiting(delivery: self.digest, proof: Self.digest(text))
    }

    private static let digestBytes = 16

    private static func digest(_ text: String) -> String {
        Base32.encode(SHA256.hash(data: Array(text.utf8)).prefix(Self.digestBytes))
    }

    static func isDigest(_ text: String) -> Bool { Base32.decode(text, count: Self.digestBytes) != nil }
}

extension NotificationState.RecordKey {
    var text: String {
        switch self {
        case .end(let key): key.text
        case .waiting(let delivery, let proof): "\(delivery).\(proof)"
        }
    }

    /// Reads the key of a record; `nil` for one that no record with this status has.
    init?(_ text: String, _ status: NotificationState.Status) {
        guard status == .waiting else {
            guard let key = NotificationState.Key(text) else { return nil }
            self = .end(key)
            return
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy(NotificationState.Key.isDigest) else { return nil }
        self = .waiting(delivery: parts[0], proof: parts[1])
    }

    /// The delivery that has ended; `nil` for one that waits.
    var ended: NotificationState.Key? { if case .end(let key) = self { key } else { nil } }

    /// The digest of the delivery that waits; `nil` for one that has ended.
    var digest: String? { if case .waiting(let delivery, _) = self { delivery } else { nil } }
}

extension NotificationState {
    /// The topic of the states.
    static let topic = "org.remotesystems.notifications.states"
    /// The field of a record that its publisher only passes on: it concerns no notification that the publisher had.
    static let relayedField = "Relayed"

    var valueSet: ValueSet {
        var set: ValueSet = ["Status": .string(self.status.rawValue), "Date": .date(self.date)]
        if self.isRead { set["Read"] = true }
        if let snoozedUntil { set["Until"] = .date(snoozedUntil) }
        return set
    }

    /// Reads a record; `nil` for one that this version does not know.
    init?(_ set: ValueSet) {
        guard let status = (set["Status"]?.string).flatMap(Status.init), let date = set["Date"]?.date else {
            return nil
        }
        self.init(status: status, date: date)
        guard status == .waiting else { return }
        self.isRead = set["Read"]?.bool ?? false
        self.snoozedUntil = set["Until"]?.date
    }
}
