// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Whether a system makes the sound of a notification that several systems of the user show.
///
/// The system that was used last makes it. Each system decides for itself, from the idle times of all. Two systems
/// never leave it to each other: only one that was used clearly earlier stays silent. If no system was used lately, all
/// make the sound, and so does one that does not know when it was used.
struct SoundChoice {
    /// A system that was used within this time is in use.
    static let inUse = Duration.seconds(120)
    /// The difference of idle times from which the smaller one counts. Each is read at another moment.
    static let margin = Duration.seconds(2)

    /// The time since this system was used; `nil` if it is not known.
    var own: Duration?

    /// Whether other systems can matter.
    var dependsOnOthers: Bool { self.own.map { $0 > Self.margin } ?? false }

    /// Whether this system leaves the sound to another one that shows the notification.
    ///
    /// - Parameter other: the time since that system was used; `nil` if it is not known.
    func leavesSound(to other: Duration?) -> Bool {
        guard let own, let other, other >= .zero else { return false }
        return other < Self.inUse && other + Self.margin < own
    }
}
