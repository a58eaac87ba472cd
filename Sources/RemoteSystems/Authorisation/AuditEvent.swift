// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// A decision or a change that an operator may have to account for. Names and metadata keys are stable
/// (`Docs/audit-events.md`).
struct AuditEvent: Sendable {
    /// The name of an event, the value of the key `event`.
    enum Name: String, Sendable, CaseIterable {
        /// A peer was allowed to use something.
        case accessAllowed = "access.allowed"
        /// A peer was refused.
        case accessRefused = "access.refused"
        /// A link with another account was made.
        case linkMade = "link.made"
        /// The grants of a link were changed.
        case linkChanged = "link.changed"
        /// This account has withdrawn a link.
        case linkWithdrawn = "link.withdrawn"
        /// The other account has withdrawn a link.
        case linkWithdrawnByOther = "link.withdrawn-by-other"
        /// This machine has admitted a system to the account.
        case systemJoined = "system.joined"
        /// A system was revoked from the account.
        case systemRevoked = "system.revoked"
        /// The account has a new root key.
        case rootKeyReplaced = "root-key.replaced"
        /// This system has left the account.
        case systemLeft = "system.left"
    }

    /// The keys of the metadata.
    enum Key {
        static let event = "event"
        static let system = "peer.system"
        static let account = "peer.account"
        static let standing = "peer.standing"
        static let application = "peer.application"
        static let target = "target"
        static let service = "service"
        static let scheme = "scheme"
        static let topic = "topic"
        static let request = "request"
        static let decision = "decision"
        static let reason = "reason"
        static let ownAccount = "account"
        static let member = "system"
        static let rootKey = "root-key"
        static let list = "list"
    }

    let name: Name
    var metadata: Logger.Metadata

    /// The event of a decision.
    init(
        _ decision: Authorisation.Decision,
        about subject: Authorisation.Subject,
        _ target: Authorisation.Target
    ) {
        var metadata: Logger.Metadata = [
            Key.system: "\(subject.system)", Key.standing: "\(subject.standing.kind)",
        ]
        if let account = subject.standing.accountID { metadata[Key.account] = "\(account)" }
        // The application is a claim of the peer, and may hold any text of 256 bytes.
        if !subject.application.isEmpty {
            metadata[Key.application] = "\(subject.application.withoutControlCharacters)"
        }
        metadata.merge(target.metadata) { $1 }
        switch decision {
        case .allowed:
            self.name = .accessAllowed
            metadata[Key.decision] = "allow"
        case .refused(let reason):
            self.name = .accessRefused
            metadata[Key.decision] = "deny"
            metadata[Key.reason] = "\(reason.rawValue)"
        }
        self.metadata = metadata
    }

    /// The event of a changed link.
    init(_ name: Name, _ account: AccountID) {
        self.name = name
        self.metadata = [Key.account: "\(account)"]
    }

    /// The event of a change of this account.
    ///
    /// - Parameters:
    ///   - member: the system that the event is about; `nil` if it is about the account.
    init(_ name: Name, of account: AccountID, _ member: SystemID? = nil, _ metadata: Logger.Metadata = [:]) {
        self.name = name
        self.metadata = metadata
        self.metadata[Key.ownAccount] = "\(account)"
        if let member { self.metadata[Key.member] = "\(member)" }
    }

    private var level: Logger.Level { self.name == .accessAllowed ? .debug : .notice }

    private var sentence: Logger.Message {
        switch self.name {
        case .accessAllowed: "A peer was allowed"
        case .accessRefused: "A peer was refused"
        case .linkMade: "An account was linked"
        case .linkChanged: "The grants of a linked account were changed"
        case .linkWithdrawn: "The link with an account was withdrawn"
        case .linkWithdrawnByOther: "Another account has withdrawn its link with this one"
        case .systemJoined: "This machine has admitted a system to the account"
        case .systemRevoked: "A system was revoked from the account"
        case .rootKeyReplaced: "The account has a new root key"
        case .systemLeft: "This system has left its account"
        }
    }

    /// Writes the event to a log. Refusals, which any peer can cause, are limited in number.
    ///
    /// - Parameters:
    ///   - incidents: logs the first refusals, and counts the others.
    ///   - subject: the peer.
    func write(to logger: Logger, limitedBy incidents: IncidentLog, of subject: Authorisation.Subject) {
        switch self.name {
        case .accessRefused: incidents.report(.accessRefused, by: subject.quotaHolder, self.metadata)
        default: self.write(to: logger)
        }
    }

    /// Writes an event that peers cannot cause as often as they like.
    func write(to logger: Logger) {
        var metadata = self.metadata
        metadata[Key.event] = "\(self.name.rawValue)"
        logger.log(level: self.level, self.sentence, metadata: metadata)
    }
}

extension Authorisation.Target {
    fileprivate var metadata: Logger.Metadata {
        typealias Key = AuditEvent.Key
        switch self {
        case .presence: return [Key.target: "presence"]
        case .renewal: return [Key.target: "renewal"]
        case .diagnosis: return [Key.target: "diagnosis"]
        case .stream: return [Key.target: "stream"]
        case .launching: return [Key.target: "launching"]
        case .launch(let scheme): return [Key.target: "launch", Key.scheme: "\(scheme)"]
        case .topic(let topic): return [Key.target: "topic", Key.topic: "\(topic)"]
        case .service(let name, _):
            return [Key.target: "service", Key.service: "\(name.withoutControlCharacters)"]
        case .application(let id):
            return [Key.target: "application", Key.service: "\(id.withoutControlCharacters)"]
        }
    }
}
