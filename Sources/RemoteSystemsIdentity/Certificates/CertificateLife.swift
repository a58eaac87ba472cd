// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// How long the certificates of this package live.
package enum CertificateLife {
    /// A certificate is made valid from a day before it was made, for peers whose clocks are behind.
    package static let backdating: TimeInterval = 24 * 3600

    /// A system's certificate lives 90 days: the longest that a lost machine stays trusted by peers that never hear of it.
    package static let system: TimeInterval = 90 * 24 * 3600

    /// The last third of a system certificate's life is for renewing it, in as many tries as it takes.
    package static let renewalWindow: TimeInterval = Self.system / 3

    /// An account lives 30 years: its key is its name, so replacing it means a new account.
    package static let account: TimeInterval = 30 * 365.25 * 24 * 3600

    /// 2026-01-01: this software did not exist before, so an earlier clock is wrong (typically: no battery, no network).
    package static let earliestPlausible = Date(timeIntervalSince1970: 1_767_225_600)

    /// 2200-01-01: no clock is later than this by design.
    package static let latestPlausible = Date(timeIntervalSince1970: 7_258_118_400)

    /// Refuses to make certificates by a clock that cannot be right.
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
