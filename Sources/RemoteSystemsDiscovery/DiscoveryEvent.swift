// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An event of a browse. Later versions may add cases: write a default case.
public enum DiscoveryEvent: Sendable, Equatable {
    /// A new instance with at least one endpoint.
    case appeared(DiscoveryHint)

    /// A known instance has other endpoints or properties than last reported.
    case changed(DiscoveryHint)

    /// A known instance is no longer advertised.
    ///
    /// A system that crashed or lost its network may never be reported by this event. Only a connection to the system
    /// shows whether it is alive.
    case vanished(DiscoveryHint.ID)

    /// All instances that existed when the browse started have been reported, as far as they could be found in bounded
    /// time. Emitted once.
    case settled

    /// A problem keeps the browse from finding all instances. Emitted once for each code, and again when the problem's
    /// description changes, until the problem is over (``recovered(_:)``).
    case trouble(DiscoveryProblem)

    /// The problem with this code is over.
    case recovered(DiscoveryProblem.Code)
}

extension DiscoveryEvent: CoalescingEvent {
    package enum Subject: Hashable, Sendable {
        case hint(DiscoveryHint.ID)
        case trouble(DiscoveryProblem.Code)
        case settled
    }

    package var subject: Subject {
        switch self {
        case .appeared(let hint), .changed(let hint): .hint(hint.id)
        case .vanished(let id): .hint(id)
        case .settled: .settled
        case .trouble(let trouble): .trouble(trouble.code)
        case .recovered(let code): .trouble(code)
        }
    }

    package var bearing: CoalescingBearing {
        switch self {
        case .appeared, .changed: .presence
        case .vanished, .recovered: .absence
        case .settled, .trouble: .mark
        }
    }

    package func asReported(subjectIsKnown: Bool) -> DiscoveryEvent {
        switch self {
        case .appeared(let hint), .changed(let hint): subjectIsKnown ? .changed(hint) : .appeared(hint)
        case .vanished, .settled, .trouble, .recovered: self
        }
    }
}
