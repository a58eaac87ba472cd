// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The state that a host publishes on presence connections: its description and the revocation list.
///
/// There is one publisher for each group of peers that receives the same state, so that a change is encoded once per
/// group.
struct HostPublications: Sendable {
    /// The groups of peers that receive different state.
    enum Group: CaseIterable {
        /// Systems of the account.
        case account
        /// Programs of the host's own system.
        case local
        /// Systems of other accounts.
        case anonymous
    }

    private struct Publication {
        let publisher: StatePublisher
        let presence: PublishedTopic
        /// `nil` for the anonymous group.
        let trust: TrustPublication?
    }

    private let publications: [Group: Publication]

    init(allowsAnonymous: Bool) throws(TransportError) {
        var publications: [Group: Publication] = [:]
        for group in Group.allCases where group != .anonymous || allowsAnonymous {
            let publisher = StatePublisher(limits: group == .anonymous ? .forAnonymous : StateLimits())
            let audience = group == .anonymous ? TopicAudience(view: { _ in .anonymous }) : .sameAccount
            publications[group] = Publication(
                publisher: publisher,
                presence: try publisher.open(PresenceTopic.schema, for: audience),
                trust: group == .anonymous ? nil : try TrustPublication(on: publisher)
            )
        }
        self.publications = publications
    }

    /// Publishes the topics of a group on a connection. Call it when the connection opens, on its event loop.
    func publish(to group: Group, on connection: Connection) {
        if let publication = self.publications[group] { connection.publish(publication.publisher) }
    }

    /// Updates the description that each group receives.
    ///
    /// - Returns: whether every description could be published completely.
    func update(_ description: (Group) -> SystemDescription) throws(TransportError) -> Bool {
        var isComplete = true
        for (group, publication) in self.publications {
            let (records, isWhole) = description(group).records
            try publication.presence.replace(by: records)
            isComplete = isComplete && isWhole
        }
        return isComplete
    }

    /// Publishes a new revocation list and new root keys, and checks the rights of subscribers again.
    func update(_ revocations: RevocationList?, roots: RootChain) throws(TransportError) {
        for publication in self.publications.values {
            try publication.trust?.update(revocations, roots: roots)
            publication.publisher.reviewRights()
        }
    }
}

extension StateLimits {
    /// The limits for systems of other accounts: one topic, one subscription per connection, and as many subscriptions
    /// as they may have connections.
    fileprivate static var forAnonymous: StateLimits {
        var limits = StateLimits()
        limits.topics = 1
        limits.subscriptionsPerConnection = 1
        limits.subscriptionsPerPeer = AnonymousConnections.maxPerSystem
        limits.subscriptions = AnonymousConnections.maxConnections
        return limits
    }
}
