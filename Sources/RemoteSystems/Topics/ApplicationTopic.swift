// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization
package import ValueSets

/// A set of small records that an application publishes to the systems of its account, beside its description
/// (`Docs/wire/topics.md`).
///
/// A host publishes the topic while it runs (``HostFeature/topics``). Where a host daemon represents the program, the
/// daemon publishes the records with those of the machine's other programs. A ``TopicWatcher`` reads them.
package final class ApplicationTopic: Sendable {
    /// The maximum length of an application's records and their keys in one topic, in bytes. A machine's topic holds
    /// those of at least four applications.
    package static let maxBytes = StateLimits.topicBytes / 4
    /// The maximum number of an application's records in one topic.
    package static let maxRecords = StateLimits.topicRecords / 4
    /// The maximum number of topics of an application.
    package static let maxTopics = 8
    /// The maximum length of a record's own key, in bytes of UTF-8.
    package static let maxKeyBytes = 256

    /// The name: 1 to 64 of `a`–`z`, `0`–`9`, `-` and `.`.
    package let name: String

    private struct State {
        var records: [String: ValueSet] = [:]
        var bytes: [String: Int] = [:]
        var publish: (@Sendable ([String: ValueSet]) -> Void)?
    }

    private let state = Mutex(State())

    /// Creates a topic without records.
    package init(_ name: String) {
        self.name = name
    }

    /// The present records by their own keys.
    package var records: [String: ValueSet] { self.state.withLock { $0.records } }

    /// Adds or replaces a record. Peers receive it at once.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidArgument`` if the key or the record is too
    ///   long, with ``RemoteSystemError/Code/localResources`` if the application has too many records. Nothing is
    ///   changed then.
    package func put(_ key: String, _ record: ValueSet) throws(RemoteSystemError) {
        try self.update(putting: [key: record])
    }

    /// Adds, replaces and removes records. Peers receive all changes together.
    ///
    /// - Throws: as ``put(_:_:)``. Nothing is changed then.
    package func update(
        putting records: [String: ValueSet],
        removing removed: Set<String> = []
    ) throws(RemoteSystemError) {
        guard !records.isEmpty || !removed.isEmpty else { return }
        var lengths: [String: Int] = [:]
        for (key, record) in records {
            guard (1...Self.maxKeyBytes).contains(key.utf8.count), !key.utf8.contains(UInt8(ascii: "/")) else {
                throw .invalidArgument("A record's key has 1 to \(Self.maxKeyBytes) bytes and no slash.")
            }
            let length = (try? record.encodedSize(limits: ValueSetLimits(depth: StateLimits.recordDepth))) ?? .max
            guard length <= StateLimits.recordBytes else {
                throw .invalidArgument("A published record has at most \(StateLimits.recordBytes) bytes.")
            }
            lengths[key] = length + key.utf8.count
        }
        try self.state.withLock { state throws(RemoteSystemError) in
            var (all, bytes) = (state.records, state.bytes)
            for key in removed { (all[key], bytes[key]) = (nil, nil) }
            all.merge(records) { $1 }
            bytes.merge(lengths) { $1 }
            guard all.count <= Self.maxRecords, bytes.values.reduce(0, +) <= Self.maxBytes else {
                throw RemoteSystemError(
                    .localResources,
                    """
                    An application publishes at most \(Self.maxRecords) records with \(Self.maxBytes >> 10) KiB in a \
                    topic. Remove some first.
                    """,
                    side: .local
                )
            }
            (state.records, state.bytes) = (all, bytes)
            state.publish?(all)
        }
    }

    /// Removes a record. Has no effect if there is none.
    package func remove(_ key: String) {
        self.state.withLock { state in
            guard state.records.removeValue(forKey: key) != nil else { return }
            state.bytes[key] = nil
            state.publish?(state.records)
        }
    }

    /// Lets a host publish the records, and each change of them, in order. `nil` ends that.
    func publish(_ publish: (@Sendable ([String: ValueSet]) -> Void)?) {
        self.state.withLock { state in
            state.publish = publish
            publish?(state.records)
        }
    }
}
