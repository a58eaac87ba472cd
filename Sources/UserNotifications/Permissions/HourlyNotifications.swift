// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The notifications of the last hour that count for the limits of the user.
struct HourlyNotifications {
    typealias Instant = ContinuousClock.Instant

    private static let hour = Duration.seconds(3600)

    /// At most as many as the limit, for each that the user has set.
    private var times: [NotificationPermissions.Subject: [Instant]] = [:]

    /// Counts a notification, unless a limit is reached.
    ///
    /// - Parameter limits: those that concern its sender.
    /// - Returns: the limit that is reached; `nil` if the notification was counted.
    mutating func count(_ limits: [NotificationPermissions.Subject: Int], _ now: Instant) -> Int? {
        var reached: Int?
        for (subject, limit) in limits {
            let recent = self.times[subject, default: []].filter { now - $0 < Self.hour }
            self.times[subject] = recent
            if recent.count >= limit { reached = min(limit, reached ?? limit) }
        }
        guard reached == nil else { return reached }
        for subject in limits.keys { self.times[subject, default: []].append(now) }
        return nil
    }

    /// Begins again for a limit that the user has changed or removed.
    mutating func forget(_ subject: NotificationPermissions.Subject) { self.times[subject] = nil }
}
