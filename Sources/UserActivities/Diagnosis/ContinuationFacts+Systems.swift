// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The conditions about the other systems: the same network, the same account, nearby.
extension ContinuationFacts {
    var network: ContinuationFinding {
        let isSeen =
            !self.systems.isEmpty || !self.excluded.isEmpty || !self.unreachable.isEmpty
            || self.otherAccounts + self.otherVersions > 0
        guard isSeen else {
            return ContinuationFinding(
                .network,
                isMet: false,
                "No other system is seen on the network.",
                advice: "Both systems must be on the same network, and a host must run on the other one. "
                    + "'remotesystems doctor' finds the cause, for example a firewall."
            )
        }
        return ContinuationFinding(.network, isMet: true, "Other systems are seen on the network.")
    }

    var found: ContinuationFinding {
        let found = self.systems + self.excluded
        guard found.isEmpty else {
            let (own, linked) = (found.filter(\.isSameAccount), found.filter { !$0.isSameAccount })
            let sentences = [("this account", own), ("linked accounts", linked)].filter { !$1.isEmpty }.map {
                "Found of \($0): \(Self.names($1))."
            }
            return ContinuationFinding(.found, isMet: true, sentences.joined(separator: " "))
        }
        if let address = self.unreachable.min() {
            return ContinuationFinding(
                .found,
                isMet: false,
                "A system of this account\(self.hasLinks ? " or of a linked one" : "") is announced at \(address), but "
                    + "cannot be reached.",
                advice: "'remotesystems doctor \(address)' finds the cause."
            )
        }
        if self.otherAccounts > 0 {
            return ContinuationFinding(
                .found,
                isMet: false,
                "Only systems of other accounts are seen on the network.",
                advice:
                    "Both systems must belong to one account: compare 'remotesystems account show' on both, and add "
                    + "the other one with 'remotesystems account invite'. A system that was revoked does not recognise "
                    + "the others: 'remotesystems doctor ADDRESS', with the address of one, shows that."
                    + (self.hasLinks ? Self.linkedAdvice : "")
            )
        }
        return ContinuationFinding(
            .found,
            isMet: false,
            "Only systems with another protocol version are seen on the network.",
            advice: "Install the same version of RemoteSystems on both systems."
        )
    }

    var near: ContinuationFinding {
        guard !self.systems.isEmpty else { return self.leftOut }
        let (near, distant) = (self.systems.filter(\.isNear), self.systems.filter { !$0.isNear })
        var sentences: [String] = []
        if !near.isEmpty { sentences.append("Nearby: \(Self.names(near)).") }
        if !distant.isEmpty { sentences.append("Not nearby, but reached by address: \(Self.names(distant)).") }
        return ContinuationFinding(.near, isMet: true, sentences.joined(separator: " "))
    }

    /// The watcher's filters leave out all systems of the account.
    private var leftOut: ContinuationFinding {
        let distant = self.excluded.filter { !$0.isNear }
        guard distant.isEmpty else {
            return ContinuationFinding(
                .near,
                isMet: false,
                "Not nearby, and left out by the filters: \(Self.names(distant)).",
                advice: "Connect both systems to the same network, or check again without filters."
            )
        }
        return ContinuationFinding(
            .near,
            isMet: false,
            "The filters leave out all systems: \(Self.names(self.excluded)).",
            advice: "Check again without filters."
        )
    }

    private static let linkedAdvice =
        " Do not invite a machine of an account that is linked with this one: its owner grants what this account may "
        + "use, and 'remotesystems account links' shows whether the link was withdrawn."

    private static func names(_ systems: [System]) -> String {
        systems.map(\.name).sorted().joined(separator: ", ")
    }
}
