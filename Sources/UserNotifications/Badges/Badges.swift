// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The numbers at the icons of this system's applications.
struct Badges {
    /// The maximum number of applications with a number. Applications are only claimed.
    static let maxApplications = 256
    /// The number from which on other systems give no further application a number. The rest is for this system.
    static let maxByOtherSystems = 128

    /// The numbers by the ids of the applications; none is 0.
    private(set) var counts: [String: Int] = [:]

    /// Sets the number of an application.
    ///
    /// - Parameters:
    ///   - count: 0 for none.
    ///   - isLocal: whether a program of this system sets it.
    /// - Returns: the number before.
    /// - Throws: ``NotificationError`` with `limitExceeded`.
    mutating func set(_ count: Int, of application: String, isLocal: Bool) throws(NotificationError) -> Int {
        guard (0...NotificationLimits.badge).contains(count) else {
            throw NotificationError(
                .limitExceeded,
                "The badge must be from 0 to \(NotificationLimits.badge).",
                field: "badge"
            )
        }
        let before = self.counts[application, default: 0]
        let max = isLocal ? Self.maxApplications : Self.maxByOtherSystems
        guard count == 0 || before > 0 || self.counts.count < max else {
            throw NotificationError(.limitExceeded, "\(max) applications of this system have a badge already.")
        }
        self.counts[application] = count == 0 ? nil : count
        return before
    }
}
