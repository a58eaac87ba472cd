// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a feature module adds to a host.
package struct HostFeature: Sendable {
    /// The services with which the feature's parts on other systems communicate.
    package var services: [AppService]
    /// The topics that the feature publishes. At most ``ApplicationTopic/maxTopics`` for all features of a host.
    package var topics: [ApplicationTopic]
    /// Called when the account, this system's name or the user's choices have changed.
    package var accountChanged: @Sendable () -> Void

    package init(
        services: [AppService] = [],
        topics: [ApplicationTopic] = [],
        accountChanged: @escaping @Sendable () -> Void = {}
    ) {
        self.services = services
        self.topics = topics
        self.accountChanged = accountChanged
    }
}
