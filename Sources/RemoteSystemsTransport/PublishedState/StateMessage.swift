// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// The content of a frame of kind `state` (`Docs/wire/published-state.md`).
package enum StateMessage: Sendable, Hashable {
    /// The state that a subscriber holds from an earlier subscription.
    package struct Position: Sendable, Hashable {
        package var epoch: UInt64
        package var version: UInt64

        package init(epoch: UInt64, version: UInt64) {
            self.epoch = epoch
            self.version = version
        }
    }

    /// A part of a snapshot or of a delta.
    package struct Part: Sendable, Hashable {
        package var topic: String
        package var epoch: UInt64
        /// The version that a delta continues; `nil` for a snapshot.
        package var from: UInt64?
        /// The index among the parts of the same snapshot or delta, from 0.
        package var number: UInt64 = 0
        /// The version that this part completes; `nil` if another part follows.
        package var to: UInt64?
        package var put: [StateKey: ValueSet] = [:]
        package var drop: [StateKey] = []

        package init(topic: String, epoch: UInt64, from: UInt64?) {
            self.topic = topic
            self.epoch = epoch
            self.from = from
        }
    }

    case subscribe(topic: String, schema: UInt64, credit: UInt64, resuming: Position?)
    case part(Part)
    case credit(topic: String, bytes: UInt64)
    case end(topic: String, StateEndReason)
    case unsubscribe(topic: String, reason: String?)

    /// The operation of a state frame, with its number on the wire.
    package enum Operation: UInt64, Sendable, CaseIterable {
        case subscribe = 0
        case snapshot = 1
        case delta = 2
        case credit = 3
        case end = 4
        case unsubscribe = 5
    }

    package var operation: Operation {
        switch self {
        case .subscribe: .subscribe
        case .part(let part): part.from == nil ? .snapshot : .delta
        case .credit: .credit
        case .end: .end
        case .unsubscribe: .unsubscribe
        }
    }
}

// MARK: - On the wire

extension StateMessage {
    /// The keys of a state frame's dictionary.
    package enum Key {
        static let topic = "topic", schema = "schema", credit = "credit", epoch = "epoch", after = "after"
        static let from = "from", to = "to", part = "part", put = "put", drop = "drop"
        static let reason = "reason"

        package static let all = [
            Self.topic, Self.schema, Self.credit, Self.epoch, Self.after, Self.from, Self.to, Self.part, Self.put,
            Self.drop, Self.reason,
        ]
    }

    var body: ValueSet {
        switch self {
        case .subscribe(let topic, let schema, let credit, let position):
            var body: ValueSet = [
                Key.topic: .string(topic), Key.schema: Value(schema), Key.credit: Value(credit),
            ]
            if let position {
                body[Key.epoch] = Value(position.epoch)
                body[Key.after] = Value(position.version)
            }
            return body
        case .part(let part):
            var body: ValueSet = [Key.topic: .string(part.topic), Key.epoch: Value(part.epoch)]
            if let from = part.from { body[Key.from] = Value(from) }
            if let to = part.to { body[Key.to] = Value(to) }
            if part.number > 0 { body[Key.part] = Value(part.number) }
            if !part.put.isEmpty {
                body[Key.put] = .dictionary(ValueSet(part.put.lazy.map { ($0.key.text, .dictionary($0.value)) }))
            }
            if !part.drop.isEmpty { body[Key.drop] = .array(part.drop.map { .string($0.text) }) }
            return body
        case .credit(let topic, let bytes):
            return [Key.topic: .string(topic), Key.credit: Value(bytes)]
        case .end(let topic, let reason):
            return [Key.topic: .string(topic), Key.reason: .string(reason.rawValue)]
        case .unsubscribe(let topic, let reason):
            var body: ValueSet = [Key.topic: .string(topic)]
            body[Key.reason] = reason.map { .string($0) }
            return body
        }
    }

    init(_ operation: Operation, _ body: ValueSet) throws(ValueSetError) {
        let topic = try body.stateName(Key.topic)
        switch operation {
        case .subscribe:
            var position: Position?
            if body[Key.epoch] != nil || body[Key.after] != nil {
                position = Position(epoch: try body.unsigned(Key.epoch), version: try body.unsigned(Key.after))
            }
            self = .subscribe(
                topic: topic,
                schema: try body.unsigned(Key.schema),
                credit: try body.unsigned(Key.credit),
                resuming: position
            )
        case .snapshot, .delta:
            let from = operation == .delta ? try body.unsigned(Key.from) : nil
            var part = Part(topic: topic, epoch: try body.unsigned(Key.epoch), from: from)
            part.number = try body[Key.part] == nil ? 0 : body.unsigned(Key.part)
            part.to = try body[Key.to] == nil ? nil : body.unsigned(Key.to)
            part.put = try body.records(Key.put)
            part.drop = try body.keys(Key.drop)
            self = .part(part)
        case .credit:
            self = .credit(topic: topic, bytes: try body.unsigned(Key.credit))
        case .end:
            self = .end(topic: topic, StateEndReason(rawValue: try body.stateName(Key.reason)))
        case .unsubscribe:
            self = .unsubscribe(topic: topic, reason: try body[Key.reason] == nil ? nil : body.stateName(Key.reason))
        }
    }

    /// Whether a text is valid as a topic's name and as a reason: 1 to 64 of `a`–`z`, `0`–`9`, `-` and `.`.
    package static func isName(_ text: String) -> Bool { WireFailure.isCode(text) }
}

extension ValueSet {
    fileprivate func stateName(_ key: String) throws(ValueSetError) -> String {
        guard let text = self[key]?.string, StateMessage.isName(text) else {
            throw ValueSetError(.typeMismatch, "'\(key)' is missing or not a name")
        }
        return text
    }

    /// Reads an unsigned integer. A double with the same value is refused, because it has another encoding.
    fileprivate func unsigned(_ key: String) throws(ValueSetError) -> UInt64 {
        switch self[key] {
        case .integer(let integer)? where integer >= 0: return UInt64(integer)
        case .unsigned(let unsigned)?: return unsigned
        default: throw ValueSetError(.typeMismatch, "'\(key)' is missing or not an unsigned integer")
        }
    }

    fileprivate func records(_ key: String) throws(ValueSetError) -> [StateKey: ValueSet] {
        guard let value = self[key] else { return [:] }
        guard let entries = value.dictionary else { throw ValueSetError(.typeMismatch, "'\(key)' is not a dictionary") }
        var records: [StateKey: ValueSet] = [:]
        records.reserveCapacity(entries.count)
        for (key, value) in entries {
            guard let record = value.dictionary else {
                throw ValueSetError(.typeMismatch, "a record is not a dictionary")
            }
            records[StateKey(key)] = record
        }
        return records
    }

    fileprivate func keys(_ key: String) throws(ValueSetError) -> [StateKey] {
        guard let value = self[key] else { return [] }
        guard let entries = value.array else { throw ValueSetError(.typeMismatch, "'\(key)' is not an array") }
        var keys: [StateKey] = []
        keys.reserveCapacity(entries.count)
        for entry in entries {
            guard let text = entry.string else { throw ValueSetError(.typeMismatch, "a key is not a string") }
            keys.append(StateKey(text))
        }
        return keys
    }
}
