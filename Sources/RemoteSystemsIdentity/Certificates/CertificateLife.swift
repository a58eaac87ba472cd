// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The lifetimes of this package's certificates.
package enum CertificateLife {
    /// The time by which a certificate becomes valid before its creation: one day, for peers whose clocks are behind.
    package static let backdating: TimeInterval = 24 * 3600

    /// The time for which a system's certificate is valid: 90 days. A peer that never receives the system's revocation
    /// trusts the system for this time.
    package static let system: TimeInterval = 90 * 24 * 3600

    /// The last third of a system certificate's life, in which it is renewed. Failed renewals are retried.
    package static let renewalWindow: TimeInterval = Self.system / 3

    /// The time for which an account's first root certificate is valid: 30 years. The account's id is the hash of its
    /// key, so another first root would be another account.
    package static let account: TimeInterval = 30 * 365.25 * 24 * 3600

    /// The earliest time that a correct clock can show: 2026-01-01. This software did not exist before, so an earlier
    /// clock is wrong (typically: no battery, no network).
    package static let earliestPlausible = Date(timeIntervalSince1970: 1_767_225_600)

    /// The latest time that a correct clock can show: 2200-01-01. No clock is later than this by design.
    package static let latestPlausible = Date(timeIntervalSince1970: 7_258_118_400)

    /// Throws if the clock cannot be right, so that no certificate is made with a wrong time.
    package static func checkClock(_ now: Date) throws(IdentityError) {
        guard now < Self.earliestPlausible || now > Self.latestPlausible else { return }
        throw IdentityError(
            .wrongClock,
            """
            This machine's clock says \(now.formatted(.iso8601)), which cannot be right, so no certificate was made. \
            Set the clock (`timedatectl` shows it), then try again.
            """
        )
    }
}
