// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// The priority of a topic when a connection cannot carry all topics at once.
///
/// Priorities are weights, not ranks: while all topics have frames to send, each gets a proportional share of the
/// bytes, so that none starves.
package enum TopicPriority: Int, Sendable, Hashable, CaseIterable {
    case notifications, activities, presence, trust

    /// The share of the connection's bytes, relative to the other priorities.
    var weight: UInt64 { 1 << UInt64(self.rawValue) }
}

/// The records of a topic: the allowed keys, and the fields of each record.
///
/// The publisher and the subscriber use the same schema. The publisher refuses to commit a record that the schema does
/// not allow. The subscriber ignores keys and fields that its own schema does not know, so that newer publishers can
/// add some.
package struct TopicSchema: Sendable, Hashable {
    /// The records of one key, or of all keys that begin with a prefix.
    package struct Records: Sendable, Hashable {
        /// The key itself, or the prefix, which ends with a slash.
        package let key: String
        package let schema: AllowedValueSchema

        /// Declares the records of one key or of one prefix.
        ///
        /// - Parameters:
        ///   - key: a key, or a prefix that ends with a slash.
        ///   - fields: the declared fields. Other fields are allowed and ignored.
        package init(_ key: String, fields: [AllowedValueSchema.Field]) {
            self.key = key
            self.schema = AllowedValueSchema(fields: fields, allowsFurtherKeys: true, basedOn: .full)
        }

        fileprivate func covers(_ key: StateKey) -> Bool {
            if self.key.utf8.last == UInt8(ascii: "/") { return key.suffix(after: self.key)?.isEmpty == false }
            return key == StateKey(self.key)
        }
    }

    /// The name of the topic: 1 to 64 of `a`–`z`, `0`–`9`, `-` and `.`.
    package let name: String
    /// The version of the schema. It changes only when older subscribers could no longer read the records. New fields
    /// and keys do not change it.
    package let version: UInt64
    package let priority: TopicPriority
    package let records: [Records]

    package init(_ name: String, version: UInt64 = 1, priority: TopicPriority, records: [Records]) {
        self.name = name
        self.version = version
        self.priority = priority
        self.records = records
    }

    /// The field of a record that names those of its fields which a reader must know to use the record.
    package static let requires = "requires"

    private func records(for key: StateKey) -> Records? {
        self.records.first { $0.covers(key) }
    }

    /// Whether a received record can be used: its key and its required fields are known, and its fields have the
    /// declared types.
    package func accepts(_ record: ValueSet, for key: StateKey) -> Bool {
        guard let kind = self.records(for: key) else { return false }
        if let required = record[Self.requires] {
            guard let names = required.array else { return false }
            let areKnown = names.allSatisfy { name in
                guard let name = name.string else { return false }
                return kind.schema.fields.contains { StateKey($0.name) == StateKey(name) }
            }
            guard areKnown else { return false }
        }
        return (try? kind.schema.validate(record)) != nil
    }

    /// Checks a record before it is published.
    ///
    /// - Returns: the length of the encoded record, in bytes.
    /// - Throws: ``TransportError`` with ``TransportError/Code/invalidMessage`` or
    ///   ``TransportError/Code/messageTooLarge``.
    func measure(_ record: ValueSet, for key: StateKey) throws(TransportError) -> Int {
        guard key.isValid, let kind = self.records(for: key) else {
            throw TransportError(
                .invalidMessage,
                "The topic \(self.name) has no records with this key. Use one that its schema declares, of 1 to "
                    + "\(StateLimits.keyBytes) bytes.",
                side: .local
            )
        }
        let bytes: Int
        do throws(ValueSetError) {
            try kind.schema.validate(record)
            bytes = try record.encodedSize(limits: ValueSetLimits(depth: StateLimits.recordDepth))
        } catch {
            throw TransportError(
                .invalidMessage,
                "A record of the topic \(self.name) cannot be published: \(error)",
                side: .local,
                cause: error
            )
        }
        guard bytes <= StateLimits.recordBytes else {
            throw TransportError(
                .messageTooLarge,
                "A record of the topic \(self.name) is \(bytes) bytes long; at most "
                    + "\(StateLimits.recordBytes) are allowed. Divide it among several keys.",
                side: .local
            )
        }
        return bytes
    }
}
