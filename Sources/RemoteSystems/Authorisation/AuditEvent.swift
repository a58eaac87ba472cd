// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import Synchronization

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
        static let decision = "decision"
        static let reason = "reason"
        static let suppressed = "suppressed"
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

    private var level: Logger.Level { self.name == .accessAllowed ? .debug : .notice }

    private var sentence: Logger.Message {
        switch self.name {
        case .accessAllowed: "A peer was allowed"
        case .accessRefused: "A peer was refused"
        case .linkMade: "An account was linked"
        case .linkChanged: "The grants of a linked account were changed"
        case .linkWithdrawn: "The link with an account was withdrawn"
        case .linkWithdrawnByOther: "Another account has withdrawn its link with this one"
        }
    }

    fileprivate func write(to logger: Logger, suppressed: Int) {
        var metadata = self.metadata
        metadata[Key.event] = "\(self.name.rawValue)"
        if suppressed > 0 { metadata[Key.suppressed] = "\(suppressed)" }
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

/// Writes audit events to a log. Refusals, which any peer can cause, are limited in number; the next event states how
/// many were left out.
final class AuditLog: Sendable {
    private struct State {
        var tokens = AuditLog.burst
        var lastRefill: ContinuousClock.Instant?
        var suppressed = 0
    }

    /// The number of refusals that are logged at once, and the time after which another one may be.
    static let burst = 20
    static let interval = Duration.seconds(3)

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.now = now
    }

    func write(_ event: AuditEvent, to logger: Logger) {
        switch event.name {
        case .accessAllowed:
            guard logger.logLevel <= .debug else { return }
            event.write(to: logger, suppressed: 0)
        case .accessRefused:
            guard let suppressed = self.admit() else { return }
            event.write(to: logger, suppressed: suppressed)
        case .linkMade, .linkChanged, .linkWithdrawn, .linkWithdrawnByOther:
            event.write(to: logger, suppressed: 0)
        }
    }

    /// Takes a token. Returns the number of events that were left out since the last one; `nil` if this one is, too.
    private func admit() -> Int? {
        let now = self.now()
        return self.state.withLock { state in
            let last = state.lastRefill ?? now
            let intervals = Int(max(last.duration(to: now) / Self.interval, 0).rounded(.down))
            state.tokens = min(state.tokens + min(intervals, Self.burst), Self.burst)
            state.lastRefill = state.tokens == Self.burst ? now : last + Self.interval * intervals
            guard state.tokens > 0 else {
                state.suppressed += 1
                return nil
            }
            state.tokens -= 1
            defer { state.suppressed = 0 }
            return state.suppressed
        }
    }
}
