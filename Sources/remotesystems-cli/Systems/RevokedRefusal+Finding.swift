// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

extension RevokedRefusal {
    /// What happened, in a sentence.
    var what: String {
        "This system was revoked from its account: system \(self.system.short) refused it for this reason at "
            + "\(self.date.formatted(.iso8601))."
    }

    /// How this machine becomes a system of the account again.
    static let advice =
        "To return, run 'remotesystems account leave' here, 'remotesystems account invite' on the machine with the "
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
