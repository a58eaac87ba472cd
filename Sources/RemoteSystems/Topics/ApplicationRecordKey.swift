// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// The key of a record of an application in a topic of its machine: `application/ID/KEY`. The id may contain slashes,
/// the record's own key contains none.
struct ApplicationRecordKey: Sendable, Hashable {
    static let prefix = "application/"

    let application: String
    let key: String

    init(application: String, key: String) {
        self.application = application
        self.key = key
    }

    /// Reads a key; `nil` if it is not of this form.
    init?(_ key: StateKey) {
        guard let rest = key.suffix(after: Self.prefix), let slash = rest.lastIndex(of: "/") else { return nil }
        self.application = String(rest[..<slash])
        self.key = String(rest[rest.index(after: slash)...])
        guard self.application.isName, (1...ApplicationTopic.maxKeyBytes).contains(self.key.utf8.count) else {
            return nil
        }
    }

    var stateKey: StateKey { "\(Self.prefix)\(self.application)/\(self.key)" }
}

extension TopicSchema {
    /// The schema of a topic of applications. The feature that owns the topic knows the fields of its records; hosts
    /// forward them unread.
    static func application(_ name: String) -> TopicSchema {
        TopicSchema(
            name,
            priority: .activities,
            records: [TopicSchema.Records(ApplicationRecordKey.prefix, fields: [])]
        )
    }
}

extension ApplicationRecordKey {
    /// The records of one application, by their own keys. Records beyond the limits of an application are left out, in
    /// the order of their keys.
    static func records(of application: String, in records: [StateKey: ValueSet]) -> [String: ValueSet] {
        var own: [String: ValueSet] = [:]
        var bytes = 0
        for (key, record) in records.sorted(by: { $0.key.text < $1.key.text }) {
            guard let parts = ApplicationRecordKey(key), parts.application == application else { continue }
            let limits = ValueSetLimits(depth: StateLimits.recordDepth)
            bytes += parts.key.utf8.count + ((try? record.encodedSize(limits: limits)) ?? ApplicationTopic.maxBytes)
            guard bytes <= ApplicationTopic.maxBytes, own.count < ApplicationTopic.maxRecords else { break }
            own[parts.key] = record
        }
        return own
    }
}
