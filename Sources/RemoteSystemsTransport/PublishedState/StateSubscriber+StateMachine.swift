// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The rules of one subscription: which frame may arrive next, what is kept, and when the publisher may send more.
///
/// A value type without I/O or a clock. It outlives connections: the next subscription continues from its state.
/// Whatever the publisher sends, it holds at most one topic's size of records and the same amount of an incomplete
/// transfer.
struct StateSubscriberStateMachine: Sendable {
    private enum Phase {
        case idle
        /// The subscription is open. `hasAnswer` is true once a snapshot or delta has arrived completely.
        case subscribed(hasAnswer: Bool)
        /// UNSUBSCRIBE was sent. Further parts are ignored until END.
        case leaving(StateEnd)
    }

    /// A received record with its encoded length.
    struct Record: Sendable {
        let value: ValueSet
        let bytes: Int
    }

    /// A snapshot or delta that has not arrived completely. None of it is visible.
    private struct Staging {
        let epoch: UInt64
        let from: UInt64?
        var parts: UInt64 = 0
        var put: [StateKey: Record] = [:]
        var drop: Set<StateKey> = []
        var recordBytes = 0
        var frameBytes = 0
    }

    let schema: TopicSchema
    /// The number of bytes that the publisher may send before more credit is granted.
    private let window: Int
    /// Whether all credit is granted by ``grant()``, and none by ``received(_:frameBytes:)``.
    private let isPaced: Bool
    private(set) var records: [StateKey: Record] = [:]
    /// The length of the keys and records, in bytes.
    private var recordBytes = 0
    /// The epoch and version of the records; `nil` if the next subscription cannot resume.
    private(set) var position: StateMessage.Position?
    private var phase = Phase.idle
    private var staging: Staging?
    /// The number of bytes that the publisher may still send.
    private var granted = 0
    /// The number of bytes that have arrived and were not granted again.
    private var owed = 0
    private var untaken = Untaken()

    /// Changes that the owner has not taken. Only keys are kept, so that changes merge and never exceed the topic's
    /// records.
    private struct Untaken {
        var put: Set<StateKey> = []
        var drop: Set<StateKey> = []
        /// The keys that the owner has.
        var taken: Set<StateKey> = []
        var isSnapshot = false
        /// Whether there is a change to take. It may be empty: it then reports that the state is current.
        var isDue = false
    }

    /// Creates the state of a subscriber without records.
    ///
    /// - Parameter window: in bytes. Clamped to 64 KiB–16 MiB.
    init(_ schema: TopicSchema, window: Int, isPaced: Bool = false) {
        self.schema = schema
        self.isPaced = isPaced
        self.window = min(max(window, StateLimits.minCredit), StateLimits.maxCredit)
    }

    /// The length of the kept and the staged records, in bytes, for the budget.
    var bytes: Int { self.recordBytes + (self.staging?.recordBytes ?? 0) }

    var isIdle: Bool { if case .idle = self.phase { true } else { false } }

    // MARK: Subscribing

    /// Begins a subscription, which continues at the position of the previous one if possible.
    ///
    /// - Returns: the message to send; `nil` if there is a subscription already.
    mutating func subscribe() -> StateMessage? {
        guard self.isIdle else { return nil }
        self.phase = .subscribed(hasAnswer: false)
        self.staging = nil
        self.granted = self.window
        self.owed = 0
        return .subscribe(
            topic: self.schema.name,
            schema: self.schema.version,
            credit: UInt64(self.window),
            resuming: self.position
        )
    }

    /// Ends the subscription. The records are kept, so that the next one can resume.
    ///
    /// - Returns: the message to send. The subscription has ended when END arrives or the connection ends.
    mutating func unsubscribe() -> StateMessage? {
        guard case .subscribed = self.phase else { return nil }
        self.phase = .leaving(.unsubscribed)
        self.staging = nil
        return .unsubscribe(topic: self.schema.name, reason: nil)
    }

    /// Ends the subscription because the publisher broke a rule, or sent more than this side keeps. The next one does
    /// not resume.
    ///
    /// - Returns: the message to send.
    mutating func object(_ objection: StateObjection) -> StateMessage? {
        guard case .subscribed = self.phase else { return nil }
        self.phase = .leaving(.rulesBroken(objection))
        self.staging = nil
        self.position = nil
        return .unsubscribe(topic: self.schema.name, reason: objection.rawValue)
    }

    /// Handles the end of the connection.
    ///
    /// - Returns: how the subscription ended; `nil` if there was none.
    mutating func connectionEnded() -> StateEnd? {
        defer {
            self.phase = .idle
            self.staging = nil
        }
        switch self.phase {
        case .idle: return nil
        case .subscribed: return .connectionEnded
        case .leaving(let end): return end
        }
    }

    /// Handles the publisher's END message.
    ///
    /// - Returns: how the subscription ended; `nil` if there was none.
    mutating func ended(_ reason: StateEndReason) -> StateEnd? {
        defer {
            self.phase = .idle
            self.staging = nil
        }
        switch self.phase {
        case .idle:
            return nil
        case .leaving(let end):
            return end
        case .subscribed:
            if reason == .topicUnknown || reason == .topicClosed {
                // The records are no longer published, at least not to this system.
                self.replaceRecords([:])
                self.position = nil
            }
            return .publisher(reason)
        }
    }

    // MARK: Receiving

    /// Handles a part of a snapshot or delta, which arrived in a frame of this many bytes.
    ///
    /// - Returns: the message to send.
    mutating func received(_ part: StateMessage.Part, frameBytes: Int) -> StateMessage? {
        guard case .subscribed = self.phase else { return nil }
        self.granted -= frameBytes
        self.owed += frameBytes
        guard self.granted >= 0 else { return self.object(.creditExceeded) }
        do throws(Objection) {
            try self.begin(part)
            try self.stage(part, frameBytes: frameBytes)
            if let version = part.to { try self.complete(version) }
        } catch {
            return self.object(error.objection)
        }
        return self.isPaced ? nil : self.grant()
    }

    private struct Objection: Error {
        let objection: StateObjection

        init(_ objection: StateObjection) { self.objection = objection }
    }

    private mutating func begin(_ part: StateMessage.Part) throws(Objection) {
        if part.number > 0 {
            guard let staging, staging.parts == part.number, staging.epoch == part.epoch, staging.from == part.from
            else {
                throw Objection(.partUnexpected)
            }
            return
        }
        if let from = part.from {
            guard self.staging == nil else { throw Objection(.partUnexpected) }
            guard self.position == .init(epoch: part.epoch, version: from) else { throw Objection(.versionUnexpected) }
        }
        // A snapshot may arrive at any time, also instead of the next part of a snapshot or delta.
        self.staging = Staging(epoch: part.epoch, from: part.from)
    }

    private mutating func stage(_ part: StateMessage.Part, frameBytes: Int) throws(Objection) {
        self.staging?.parts += 1
        self.staging?.frameBytes += frameBytes
        guard let staging, staging.frameBytes <= StateLimits.transferBytes else { throw Objection(.transferTooLong) }
        for (key, value) in part.put {
            guard key.isValid,
                let size = try? value.encodedSize(limits: ValueSetLimits(depth: StateLimits.recordDepth)),
                size <= StateLimits.recordBytes
            else { throw Objection(.recordInvalid) }
            // A record that this version cannot use counts as absent; a newer version may know it.
            self.stage(self.schema.accepts(value, for: key) ? Record(value: value, bytes: size) : nil, for: key)
        }
        for key in part.drop {
            guard key.isValid else { throw Objection(.recordInvalid) }
            self.stage(nil, for: key)
        }
    }

    private mutating func stage(_ record: Record?, for key: StateKey) {
        if let old = self.staging?.put.removeValue(forKey: key) {
            self.staging?.recordBytes -= old.bytes + key.text.utf8.count
        }
        if let record {
            self.staging?.put[key] = record
            self.staging?.recordBytes += record.bytes + key.text.utf8.count
            self.staging?.drop.remove(key)
        } else if self.records[key] != nil {
            self.staging?.drop.insert(key)
        }
    }

    private mutating func complete(_ version: UInt64) throws(Objection) {
        guard let staging = self.staging.take() else { return }
        if let from = staging.from {
            guard version >= from else { throw Objection(.versionUnexpected) }
            try Self.check(self.size(after: staging))
            for (key, record) in staging.put { self.put(record, for: key) }
            for key in staging.drop { self.drop(key) }
        } else {
            try Self.check((staging.recordBytes, staging.put.count))
            self.replaceRecords(staging.put)
            self.untaken.isSnapshot = true
        }
        self.position = .init(epoch: staging.epoch, version: version)
        if case .subscribed(hasAnswer: false) = self.phase {
            self.phase = .subscribed(hasAnswer: true)
            self.untaken.isDue = true
        }
        if staging.from == nil { self.untaken.isDue = true }
    }

    private func size(after staging: Staging) -> (bytes: Int, records: Int) {
        var size = (bytes: self.recordBytes + staging.recordBytes, records: self.records.count + staging.put.count)
        for key in [AnySequence(staging.put.keys), AnySequence(staging.drop)].joined() {
            guard let old = self.records[key] else { continue }
            size.bytes -= old.bytes + key.text.utf8.count
            size.records -= 1
        }
        return size
    }

    private static func check(_ size: (bytes: Int, records: Int)) throws(Objection) {
        guard size.bytes <= StateLimits.topicBytes, size.records <= StateLimits.topicRecords else {
            throw Objection(.topicTooLarge)
        }
    }

    private mutating func replaceRecords(_ new: [StateKey: Record]) {
        for key in Array(self.records.keys) where new[key] == nil { self.drop(key) }
        for (key, record) in new { self.put(record, for: key) }
    }

    private mutating func put(_ record: Record, for key: StateKey) {
        let old = self.records.updateValue(record, forKey: key)
        self.recordBytes += record.bytes - (old.map(\.bytes) ?? -key.text.utf8.count)
        guard old?.value != record.value else { return }
        self.untaken.put.insert(key)
        self.untaken.drop.remove(key)
        self.untaken.isDue = true
    }

    private mutating func drop(_ key: StateKey) {
        guard let old = self.records.removeValue(forKey: key) else { return }
        self.recordBytes -= old.bytes + key.text.utf8.count
        self.untaken.put.remove(key)
        if self.untaken.taken.contains(key) {
            self.untaken.drop.insert(key)
            self.untaken.isDue = true
        }
    }

    // MARK: The owner

    /// Whether there is a change to take.
    var hasChange: Bool { self.untaken.isDue }

    /// Returns the change since the previous call; `nil` if there is none. Call ``grant()`` after the owner has applied
    /// it.
    mutating func takeChange() -> StateChange? {
        guard self.untaken.isDue else { return nil }
        let change = StateChange(
            put: Dictionary(
                uniqueKeysWithValues: self.untaken.put.compactMap { key in
                    self.records[key].map { (key, $0.value) }
                }
            ),
            drop: self.untaken.drop,
            version: self.position?.version ?? 0,
            isSnapshot: self.untaken.isSnapshot
        )
        self.untaken.taken.formUnion(self.untaken.put)
        self.untaken.taken.subtract(self.untaken.drop)
        self.untaken = Untaken(taken: self.untaken.taken)
        return change
    }

    /// The credit to grant with ``grant()``, in bytes; `nil` if none is due.
    ///
    /// Credit is granted in steps of at least half a window. While the owner has not taken the arrived changes, no
    /// credit is granted, so that the publisher coalesces further changes.
    var dueCredit: Int? {
        guard case .subscribed = self.phase, self.owed >= self.window / 2, !self.untaken.isDue else { return nil }
        return self.owed
    }

    /// Grants the credit that is due.
    ///
    /// - Returns: the message to send, if credit is due.
    mutating func grant() -> StateMessage? {
        guard let bytes = self.dueCredit else { return nil }
        self.granted += bytes
        self.owed = 0
        return .credit(topic: self.schema.name, bytes: UInt64(bytes))
    }
}
