// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Decides what a peer may do on this system. Every such decision is made here, before anything else is read from the
/// peer (`Docs/decisions/0031-linked-accounts.md`).
///
/// A pure function of the peer, the application that it claims, and the target. Whether the peer's certificate is
/// trusted at all is decided before, in the handshake (``TrustStore``); limits are checked afterwards. The publishers
/// of two applications are compared when a request proves them (``PublisherComparison``).
struct Authorisation: Sendable {
    /// The id of the application that decides.
    let host: String
    /// Whether this host admits systems of accounts that are not linked.
    let allowsAnyoneNearby: Bool

    /// The peer about which a decision is made.
    struct Subject: Sendable, Hashable {
        /// The relation of the peer's account to this one, as its certificate proved it.
        let standing: Standing
        /// The peer's system, as its certificate proved it.
        let system: SystemID
        /// Whether the peer is a program of this system.
        let isLocal: Bool
        /// The application that the peer claims to be. Not verified.
        let application: String

        init(_ peer: PeerIdentity, application: String, own: SystemID) {
            self.standing = peer.standing
            self.system = peer.systemID
            self.isLocal = peer.systemID == own
            self.application = application
        }

        /// The holder of the quota that the peer uses; `nil` for an anonymous system, whose id proves nothing.
        var quotaHolder: QuotaHolder? {
            if case .anonymous = self.standing { return nil }
            return self.standing.quotaHolder(of: self.system)
        }
    }

    /// What the peer wants to use.
    enum Target: Sendable, Hashable {
        /// The description of this system (`presence`).
        case presence
        /// The renewal of a certificate.
        case renewal
        /// The help with a diagnosis.
        case diagnosis
        /// A stream, with a ticket. The ticket is checked afterwards.
        case stream
        /// The service that opens URIs: in an application, those of these schemes, in lower case; in the host itself
        /// (`nil`), possibly all. Each URI is decided by ``launch(scheme:)`` in addition.
        case launching(schemes: [String]?)
        /// A URI with this scheme, in lower case.
        case launch(scheme: String)
        /// A topic of published state.
        case topic(String)
        /// An app service, and the rules of its offer; `nil` if no such service is offered.
        case service(String, ServiceOffer?)
        /// Another application of this machine, which makes its own decision.
        case application(String)
    }

    /// The rules of an offered app service.
    struct ServiceOffer: Sendable, Hashable {
        /// The id of the application that offers the service.
        let application: String
        let supportsRemote: Bool
        let callers: AppServiceCallers
    }

    enum Decision: Sendable, Hashable {
        case allowed
        case refused(Reason)
    }

    /// Why a peer was refused. The raw values are written to logs and never change.
    enum Reason: String, Sendable, Hashable, CaseIterable {
        /// No such service is offered.
        case unknownService = "unknown-service"
        /// The service is for programs of the same system.
        case callerNotLocal = "caller-not-local"
        /// The service is for certain applications.
        case callerNotListed = "caller-not-listed"
        /// It is for systems of the account only.
        case otherAccount = "other-account"
        /// It was not granted to the linked account.
        case notGranted = "not-granted"
    }

    func decide(_ subject: Subject, _ target: Target) -> Decision {
        switch subject.standing {
        case .sameAccount: self.decideForAccount(subject, target)
        case .linked(_, let grants): self.decideForLinked(subject, grants, target)
        case .anonymous: self.decideForAnonymous(target)
        }
    }

    private func decideForAccount(_ subject: Subject, _ target: Target) -> Decision {
        switch target {
        case .presence, .renewal, .diagnosis, .stream, .launching, .launch, .topic, .application: .allowed
        case .service(_, let offer): Self.decide(subject, offer)
        }
    }

    private func decideForLinked(_ subject: Subject, _ grants: Grants, _ target: Target) -> Decision {
        // A linked account has no fewer rights than an account that is not linked.
        if case .allowed = self.decideForAnonymous(target) { return .allowed }
        return switch target {
        case .presence: grants.isEmpty ? .refused(.notGranted) : .allowed
        case .renewal, .diagnosis, .application: .refused(.otherAccount)
        case .stream: grants.services.isEmpty ? .refused(.notGranted) : .allowed
        case .launching(let schemes):
            grants.uriSchemes.isDisjoint(with: schemes ?? Array(grants.uriSchemes)) ? .refused(.notGranted) : .allowed
        case .launch(let scheme): grants.uriSchemes.contains(scheme) ? .allowed : .refused(.notGranted)
        case .topic(let topic): grants.topics.contains(topic) ? .allowed : .refused(.notGranted)
        case .service(let name, let offer):
            grants.services.contains(name) ? Self.decide(subject, offer) : .refused(.notGranted)
        }
    }

    private func decideForAnonymous(_ target: Target) -> Decision {
        guard self.allowsAnyoneNearby else { return .refused(.otherAccount) }
        return switch target {
        case .presence: .allowed
        case .service(_, let offer?): offer.isForAnyone ? .allowed : .refused(.otherAccount)
        case .service(_, nil), .renewal, .diagnosis, .stream, .launching, .launch, .topic, .application:
            .refused(.otherAccount)
        }
    }

    private static func decide(_ subject: Subject, _ offer: ServiceOffer?) -> Decision {
        guard let offer else { return .refused(.unknownService) }
        guard offer.supportsRemote || subject.isLocal else { return .refused(.callerNotLocal) }
        guard offer.callers.include(subject.application, of: offer.application) else {
            return .refused(.callerNotListed)
        }
        return .allowed
    }

    /// The part of a system topic (`presence`, `trust`) that a peer receives; `nil` if it may not subscribe.
    static func view(of topic: String, for standing: Standing) -> TopicView? {
        switch standing {
        case .sameAccount: .account
        // The revocation list and the root keys protect both accounts, whatever is granted.
        case .linked(let account, _): TopicView("linked \(account)")
        case .anonymous: topic == PresenceTopic.schema.name ? .anonymous : nil
        }
    }
}

extension Authorisation.ServiceOffer {
    /// Whether systems of accounts that are not linked may call the service on a host that allows it.
    var isForAnyone: Bool { self.callers == .anyoneNearby && self.supportsRemote }

    init(_ service: AppService, of application: String) {
        self.init(application: application, supportsRemote: service.supportsRemote, callers: service.callers)
    }

    /// A service that starts an application is never offered to anyone nearby.
    init(_ service: InstalledApplication.Service, of application: String) {
        let callers = service.callers == .anyoneNearby ? .account : service.callers
        self.init(application: application, supportsRemote: service.supportsRemote, callers: callers)
    }
}
