// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a browse has seen. More cases may come: have a default case.
public enum DiscoveryEvent: Sendable, Equatable {
    /// An instance that was not known before, with at least one endpoint.
    case appeared(DiscoveryHint)

    /// A known instance has other endpoints or properties than told before.
    case changed(DiscoveryHint)

    /// A known instance is no longer announced. A system that crashed or was cut off may never be reported this way: only a
    /// connection to it tells whether it lives.
    case vanished(DiscoveryHint.ID)

    /// Everything that was there when the browse started has been told, as far as could be found out in bounded time. Told once.
    case settled

    /// Something keeps the browse from seeing all there is. It is told once for each code until ``recovered(_:)``.
    case trouble(DiscoveryProblem)

    /// The trouble with this code is over.
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
