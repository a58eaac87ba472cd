// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The notifications of the last hour that count for the limits of the user.
struct HourlyNotifications {
    typealias Instant = ContinuousClock.Instant

    private static let hour = Duration.seconds(3600)

    /// At most as many as the limit, for each that the user has set.
    private var times: [NotificationPermissions.Subject: [Instant]] = [:]

    /// The limit that is reached; `nil` if one more notification is permitted.
    ///
    /// - Parameter limits: those that concern its sender.
    mutating func reached(_ limits: [NotificationPermissions.Subject: Int], _ now: Instant) -> Int? {
        var reached: Int?
        for (subject, limit) in limits {
            let recent = self.times[subject, default: []].filter { now - $0 < Self.hour }
            self.times[subject] = recent
            if recent.count >= limit { reached = min(limit, reached ?? limit) }
        }
        return reached
    }

    /// Counts a notification that was accepted.
    ///
    /// - Parameter limits: those that concern its sender. None is reached.
    mutating func count(_ limits: [NotificationPermissions.Subject: Int], _ now: Instant) {
        for subject in limits.keys { self.times[subject, default: []].append(now) }
    }

    /// Begins again for a limit that the user has changed or removed.
    mutating func forget(_ subject: NotificationPermissions.Subject) { self.times[subject] = nil }
}
