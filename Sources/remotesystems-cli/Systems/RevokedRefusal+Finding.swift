// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

extension RevokedRefusal {
    /// What happened, in a sentence.
    var what: String {
        "System \(self.system.short) of this account refused this one at \(self.date.formatted(.iso8601)), and "
            + "stated that it was revoked from the account."
    }

    /// How this machine becomes a system of the account again.
    static let advice =
        "'remotesystems account systems' on the machine with the account's root key shows whether that is so. To "
        + "return, run 'remotesystems account leave' here, 'remotesystems account invite' on the machine with the "
        + "account's root key, and 'remotesystems account join' here. This machine then gets a new id."

    /// The refusal as a finding, for lists of systems and for `doctor`.
    var finding: DiagnosisFinding {
        DiagnosisFinding(
            .systems,
            .problem,
            self.what,
            why: "Other systems accept no connection of a revoked system, and it no longer recognises their "
                + "announcements.",
            advice: Self.advice
        )
    }
}
