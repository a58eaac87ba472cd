// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An event about one of many subjects. For a slow listener, only the latest event of a subject matters.
package protocol CoalescingEvent: Sendable {
    /// Identifies the subject of an event.
    associatedtype Subject: Hashable & Sendable

    /// The subject of the event.
    var subject: Subject { get }

    /// The relation of the event to earlier events of the same subject.
    var bearing: CoalescingBearing { get }

    /// The event in the form for a listener that knows the subject (*changed*) or does not know it yet (*appeared*).
    /// Called only for events of ``CoalescingBearing/presence``.
    func asReported(subjectIsKnown: Bool) -> Self
}

/// The relation of an event to earlier events of its subject.
package enum CoalescingBearing: Sendable {
    /// The subject is present and has this value.
    case presence
    /// The subject is no longer present.
    case absence
    /// A mark that stays until its absence is reported, if ever. It does not count as a present subject.
    case mark
}
