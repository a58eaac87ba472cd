// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

/// The reason why the other systems of the account do not accept this one any more.
struct LostMembership {
    /// What happened, and how this machine becomes a system of the account again.
    let finding: DiagnosisFinding
    /// The name of the reason, for scripts.
    let reason: String

    /// Returns nil if this machine knows of no such reason, or cannot read the account's files.
    init?(of account: RemoteSystemsAccount) {
        self.init(
            replaced: try? account.rootKeyReplacement(),
            refusal: try? account.refusalAsRevoked(),
            expired: try? account.certificateExpiry()
        )
    }

    /// Returns nil if there is no such reason.
    ///
    /// - Parameters:
    ///   - end: When the certificate became invalid, because the root key was replaced; nil if it did not.
    ///   - refusal: The refusal of this system as revoked; nil if there was none.
    ///   - expiry: When this system's certificate expired; nil if it did not. Defaults to nil.
    init?(replaced end: Date?, refusal: RevokedRefusal?, expired expiry: Date? = nil) {
        // Proved by the root keys, and a list of revoked systems that was made before does not count any more.
        if let end {
            self.finding = .rootKeyReplaced(at: end)
            self.reason = "retiredRoot"
        } else if let refusal {
            self.finding = refusal.finding
            self.reason = "revoked"
        } else if let expiry {
            // This system's own programs refuse each other, too, as if another system were the cause.
            self.finding = .certificateExpired(at: expiry)
            self.reason = "expired"
        } else {
            return nil
        }
    }

    /// What happened and what to do, in sentences.
    var text: String { [self.finding.what, self.finding.advice].compactMap(\.self).joined(separator: " ") }
}

extension RevokedRefusal {
    /// The refusal as a finding, for lists of systems and for `doctor`.
    fileprivate var finding: DiagnosisFinding {
        let another = self.isAuthority ? "the other machine" : "the machine"
        let leave = self.isAuthority ? "account leave --force" : "account leave"
        let theft =
            self.isAuthority
            ? " If you did not revoke it, another person may have the root key: run 'remotesystems account "
                + "rotate-root-key --stolen' here instead."
            : ""
        return DiagnosisFinding(
            .systems,
            .problem,
            "System \(self.system.short) of this account refused this one at \(self.date.formatted(.iso8601)), and "
                + "stated that it was revoked from the account.",
            why: "Other systems accept no connection of a revoked system, and it no longer recognises their "
                + "announcements.",
            advice: "'remotesystems account systems' on \(another) with the account's root key shows whether that is "
                + "so. To return, run 'remotesystems \(leave)' here, 'remotesystems account invite' on \(another) with "
                + "the account's root key, and 'remotesystems account join' here. This machine then gets a new id."
                + theft
        )
    }
}
