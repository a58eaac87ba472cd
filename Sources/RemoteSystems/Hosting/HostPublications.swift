// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// What a host publishes on presence connections: what it is, and who is revoked.
///
/// There is a publisher for each group of peers that is told the same, so that a change is encoded once for each of them.
struct HostPublications: Sendable {
    /// Who is told.
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
        /// `nil` for strangers.
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

    /// Offers the topics of a group on a connection. To be called when it opens, on its event loop.
    func publish(to group: Group, on connection: Connection) {
        if let publication = self.publications[group] { connection.publish(publication.publisher) }
    }

    /// Tells each group what is different for it now.
    ///
    /// - Returns: whether everything could be told.
    func update(_ description: (Group) -> SystemDescription) throws(TransportError) -> Bool {
        var isComplete = true
        for (group, publication) in self.publications {
            let (records, isWhole) = description(group).records
            try publication.presence.replace(by: records)
            isComplete = isComplete && isWhole
        }
        return isComplete
    }

    /// The trust in other systems has changed.
    func update(_ revocations: RevocationList?, roots: RootChain) throws(TransportError) {
        for publication in self.publications.values {
            try publication.trust?.update(revocations, roots: roots)
            publication.publisher.reviewRights()
        }
    }
}

extension StateLimits {
    /// For systems of other accounts: they see one topic, each of them over as many connections as it may have.
    fileprivate static var forAnonymous: StateLimits {
        var limits = StateLimits()
        limits.topics = 1
        limits.subscriptionsPerConnection = 1
        limits.subscriptionsPerPeer = AnonymousConnections.maxPerSystem
        limits.subscriptions = AnonymousConnections.maxConnections
        return limits
    }
}
