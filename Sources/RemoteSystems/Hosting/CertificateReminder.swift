// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// When a host logs that its system's certificate ends soon, at most once a day, or has expired, once.
struct CertificateReminder {
    enum Notice: Hashable {
        /// The certificate ends within this number of whole days, and was not renewed.
        case ending(days: Int)
        case expired
    }

    /// The time before the end in which users are warned: ten days. Renewal has been due for 20 days then.
    static let window: TimeInterval = 10 * 86_400

    private static let pause: TimeInterval = 86_400

    /// The time of the last warning.
    private var last: Date?
    private var wasExpired = false

    /// The number of whole days that are left; `nil` if the certificate has expired, or ends later than the window.
    static func daysLeft(until end: Date, at now: Date) -> Int? {
        let left = end.timeIntervalSince(now)
        return left > 0 && left < Self.window ? Int((left / 86_400).rounded(.down)) : nil
    }

    /// Returns what to log now; `nil` if nothing.
    ///
    /// - Parameter end: the end of the certificate that is in use.
    mutating func notice(of end: Date, at now: Date) -> Notice? {
        if end <= now {
            defer { self.wasExpired = true }
            return self.wasExpired ? nil : .expired
        }
        self.wasExpired = false
        guard let days = Self.daysLeft(until: end, at: now) else {
            self.last = nil
            return nil
        }
        // A clock that was set back must not end the warnings.
        if let last, (0..<Self.pause).contains(now.timeIntervalSince(last)) { return nil }
        self.last = now
        return .ending(days: days)
    }
}
