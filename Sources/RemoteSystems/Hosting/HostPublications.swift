// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The state that a host publishes on presence connections: its description and the revocation list.
///
/// There is one publisher for each group of peers that receives the same state, so that a change is encoded once per
/// group.
final class HostPublications: Sendable {
    /// The groups of peers that receive different state.
    enum Group: Hashable {
        /// Systems of the account.
        case account
        /// Programs of the host's own system.
        case local
        /// Systems of a linked account.
        case linked(AccountID)
        /// Systems of accounts that are not linked.
        case anonymous
    }

    private struct Publication {
        let publisher: StatePublisher
        let presence: PublishedTopic
        /// `nil` for the anonymous group.
        let trust: TrustPublication?
        /// The open topics of applications, by name. Empty for the anonymous group.
        var topics: [String: PublishedTopic] = [:]

        init(to group: Group, _ security: TransportSecurity) throws(TransportError) {
            let limits: StateLimits =
                switch group {
                case .account, .local: StateLimits()
                case .linked: .forLinked
                case .anonymous: .forAnonymous
                }
            self.publisher = StatePublisher(limits: limits)
            let topic = PresenceTopic.schema.name
            self.presence = try self.publisher.open(
                PresenceTopic.schema,
                for: TopicAudience(view: { Authorisation.view(of: topic, for: $0.standing) })
            )
            self.trust = group == .anonymous ? nil : try TrustPublication(on: self.publisher, security)
        }
    }

    /// Records a decision.
    typealias Audit = @Sendable (Authorisation.Decision, Authorisation.Subject, Authorisation.Target) -> Void

    private let security: TransportSecurity
    private let authorisation: Authorisation
    private let audit: Audit
    private let publications: Mutex<[Group: Publication]>

    init(
        _ authorisation: Authorisation,
        _ security: TransportSecurity,
        audit: @escaping Audit
    ) throws(TransportError) {
        var publications: [Group: Publication] = [:]
        for group in [Group.account, .local] + (authorisation.allowsAnyoneNearby ? [.anonymous] : []) {
            publications[group] = try Publication(to: group, security)
        }
        self.security = security
        self.authorisation = authorisation
        self.audit = audit
        self.publications = Mutex(publications)
    }

    /// Publishes the topics of a group on a connection. Call it when the connection opens, on its event loop.
    func publish(to group: Group, on connection: Connection) {
        if let publication = self.publications.withLock({ $0[group] }) { connection.publish(publication.publisher) }
    }

    /// Publishes to the systems of these linked accounts, and of no others. An account that is added receives nothing
    /// before the next updates.
    func update(linked accounts: Set<AccountID>) throws(TransportError) {
        try self.publications.withLock { publications throws(TransportError) in
            for case .linked(let account) in publications.keys where !accounts.contains(account) {
                publications[.linked(account)] = nil
            }
            for account in accounts where publications[.linked(account)] == nil {
                publications[.linked(account)] = try Publication(to: .linked(account), self.security)
            }
        }
    }

    /// The number of subscriptions to all topics, of all groups.
    var subscriptions: Int { self.all.values.reduce(0) { $0 + $1.publisher.subscriptions } }

    private var all: [Group: Publication] { self.publications.withLock { $0 } }

    /// Updates the description that each group receives.
    ///
    /// - Returns: whether every description could be published completely.
    func update(_ description: (Group) -> SystemDescription) throws(TransportError) -> Bool {
        var isComplete = true
        for (group, publication) in self.all {
            let (records, isWhole) = description(group).records
            try publication.presence.replace(by: records)
            isComplete = isComplete && isWhole
        }
        return isComplete
    }

    /// Opens, updates or closes a topic of applications for each group that may have rights to it.
    func update(topic: String, isOpen: Bool, _ records: (Group) -> [StateKey: ValueSet]) throws(TransportError) {
        try self.publications.withLock { publications throws(TransportError) in
            for (group, publication) in publications where group != .anonymous {
                guard isOpen else {
                    publications[group]?.topics[topic] = nil
                    continue
                }
                if let open = publication.topics[topic] {
                    try open.replace(by: records(group))
                } else {
                    let new = try publication.publisher.open(.application(topic), for: self.audience(of: topic))
                    try new.replace(by: records(group))
                    publications[group]?.topics[topic] = new
                }
            }
        }
    }

    private func audience(of topic: String) -> TopicAudience {
        let own = self.security.systemID
        let target = Authorisation.Target.topic(topic)
        return TopicAudience(view: { [authorisation, audit] peer in
            // Every program of a peer's system has the same rights to topics.
            let subject = Authorisation.Subject(peer, application: "", own: own)
            let decision = authorisation.decide(subject, target)
            audit(decision, subject, target)
            guard decision == .allowed else { return nil }
            return Authorisation.view(of: topic, for: peer.standing)
        })
    }

    /// Checks the rights of subscribers again, and publishes new revocations, root keys, discovery keys and links.
    func update(_ trust: TrustedAccount, links: AccountLinks) throws(TransportError) {
        for (group, publication) in self.all {
            publication.publisher.reviewRights()
            // What is for systems of the account is not even given to the other publishers.
            let isWithinAccount = group == .account || group == .local
            try publication.trust?.update(
                isWithinAccount ? trust : trust.forOthers,
                links: isWithinAccount ? links : .none
            )
        }
    }
}

extension StateLimits {
    /// The limits for systems of a linked account: two topics and those of applications, and as many subscriptions as
    /// they may have connections.
    fileprivate static var forLinked: StateLimits {
        let perConnection = 2 + ApplicationTopic.maxTopics
        var limits = StateLimits()
        limits.topics = 2 + HostTopics.maxTopics
        limits.subscriptionsPerConnection = perConnection
        limits.subscriptionsPerPeer = perConnection * LinkedConnections.maxPerSystem
        limits.subscriptions = perConnection * LinkedLimits.perAccount
        return limits
    }

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
