// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity
package import ValueSets

/// The present records of one system in a topic of applications.
package struct TopicChange: Sendable {
    package let topic: String
    package let system: SystemID
    /// The linked account of the system; `nil` for a system of this system's account.
    package let linkedAccount: AccountID?
    /// The records of each application, by their own keys. Empty when the system is gone or publishes none.
    package let records: [String: [String: ValueSet]]
    /// Whether every process of the system that publishes the topic, as far as it is known, has sent its records.
    package let isComplete: Bool

    /// Whether it is a system of this system's account, and not of a linked one.
    package var isSameAccount: Bool { self.linkedAccount == nil }
}

extension RemoteSystemWatcher {
    /// Creates a watcher that also follows topics of applications.
    ///
    /// - Parameters:
    ///   - topics: the names of the topics.
    ///   - changed: receives the records of a system in one of the topics, first and after each change. Called in the
    ///     order of the changes. It must return quickly, because all watchers wait for it. Whether the system is listed
    ///     is reported by the watcher's events; the two are not ordered.
    package convenience init(
        _ configuration: RemoteSystemsConfiguration,
        filters: [RemoteSystemFilter] = [],
        options: Options = Options(),
        topics: Set<String>,
        changed: @escaping @Sendable (TopicChange) -> Void
    ) {
        self.init(
            ApplicationContext(configuration),
            filters: filters,
            options: options,
            topics: FollowedTopics(names: topics, changed: changed)
        )
    }
}

/// The topics that a watcher follows, and the receiver of their records.
struct FollowedTopics: Sendable {
    var names: Set<String> = []
    var changed: @Sendable (TopicChange) -> Void = { _ in }
}
