// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// News about one of many subjects, of which only the latest matters to a listener who is behind.
package protocol CoalescingEvent: Sendable {
    /// What tells the things apart that events are about.
    associatedtype Subject: Hashable & Sendable

    /// What the event is about.
    var subject: Subject { get }

    /// How the event bears on what was said of the same subject before.
    var bearing: CoalescingBearing { get }

    /// The event in the words for a listener who knows the subject, or does not yet: *changed* or *appeared*.
    /// Asked for events of ``CoalescingBearing/presence`` only.
    func asReported(subjectIsKnown: Bool) -> Self
}

/// How an event bears on what was said of its subject before.
package enum CoalescingBearing: Sendable {
    /// The subject is there, and this is how it is now.
    case presence
    /// The subject is no longer there.
    case absence
    /// A remark that holds until its absence is told, if ever; not counted as one of the subjects that are there.
    case mark
}
