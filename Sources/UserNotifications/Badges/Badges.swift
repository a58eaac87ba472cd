// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The numbers at the icons of this system's applications.
struct Badges {
    /// The maximum number of applications with a number. Applications are only claimed.
    static let maxApplications = 256

    /// The numbers by the ids of the applications; none is 0.
    private(set) var counts: [String: Int] = [:]

    /// Sets the number of an application.
    ///
    /// - Parameter count: 0 for none.
    /// - Returns: whether it has changed.
    /// - Throws: ``NotificationError`` with `limitExceeded`.
    mutating func set(_ count: Int, of application: String) throws(NotificationError) -> Bool {
        guard (0...NotificationLimits.badge).contains(count) else {
            throw NotificationError(
                .limitExceeded,
                "The badge must be from 0 to \(NotificationLimits.badge).",
                field: "badge"
            )
        }
        guard self.counts[application, default: 0] != count else { return false }
        guard count == 0 || self.counts[application] != nil || self.counts.count < Self.maxApplications else {
            throw NotificationError(
                .limitExceeded,
                "\(Self.maxApplications) applications of this system have a badge already."
            )
        }
        self.counts[application] = count == 0 ? nil : count
        return true
    }
}
