// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

/// What is known of the account without making one.
enum IdentityFacts: Sendable {
    case none(directory: String)
    case usable(SystemIdentity, directory: String, lacksKey: Bool = false)
    case unusable(IdentityError)

    static func read(_ context: ApplicationContext) -> IdentityFacts {
        do throws(IdentityError) {
            let store = try context.account.store()
            guard try store.holdsAccount() else { return .none(directory: store.directory) }
            return .usable(
                try store.identity(),
                directory: store.directory,
                lacksKey: try store.lacksRootKey()
            )
        } catch {
            return .unusable(error)
        }
    }
}

/// Findings about clock, account and certificate.
struct IdentityFindings {
    let now: Date
    let facts: IdentityFacts

    var all: [DiagnosisFinding] {
        [self.clock, self.account] + (self.certificate.map { [$0] } ?? [])
    }

    private var clock: DiagnosisFinding {
        let why =
            "Certificates have a beginning and an end; with a wrong clock nobody is trusted, nor trusts this machine."
        let advice = "Set the clock: 'timedatectl' shows it, 'timedatectl set-ntp true' keeps it right."
        let time = self.now.formatted(.iso8601)
        if self.now < CertificateLife.earliestPlausible || self.now > CertificateLife.latestPlausible {
            return DiagnosisFinding(
                .clock,
                .problem,
                "The clock says \(time), which cannot be right.",
                why: why,
                advice: advice
            )
        }
        if case .usable(let identity, _, _) = self.facts, self.now < identity.certificateValidity.lowerBound {
            let beginning = identity.certificateValidity.lowerBound.formatted(.iso8601)
            return DiagnosisFinding(
                .clock,
                .problem,
                "The clock says \(time), before this system's certificate begins (\(beginning)).",
                why: why,
                advice: advice
            )
        }
        return DiagnosisFinding(.clock, .ok, "The clock says \(time), which may be right.", why: why)
    }

    private var account: DiagnosisFinding {
        let why = "Systems of one account trust each other, and nobody else."
        switch self.facts {
        case .none(let directory):
            return DiagnosisFinding(
                .account,
                .ok,
                "There is no account in \(directory) yet; first use makes one.",
                why: why
            )
        case .usable(let identity, let directory, lacksKey: true):
            return DiagnosisFinding(
                .account,
                .warning,
                "The key of account \(identity.accountID.short) was in \(directory) and is missing.",
                why: "Without it nobody can join the account or be revoked, and no certificate of it is renewed.",
                advice: "Bring 'account/root-key.pem' back from a backup, or use the account's recovery file: "
                    + "'remotesystems account import'."
            )
        case .usable(let identity, let directory, _):
            let role = identity.isAuthority ? "whose key is here" : "whose key is on another machine"
            return DiagnosisFinding(
                .account,
                .ok,
                "System \(identity.systemID.short) of account \(identity.accountID.short), \(role), in \(directory).",
                why: why
            )
        case .unusable(let error):
            return DiagnosisFinding(
                .account,
                .problem,
                "The account cannot be used (\(error.code)).",
                why: "Without it no connection can be made or taken.",
                advice: error.message
            )
        }
    }

    private var certificate: DiagnosisFinding? {
        guard case .usable(let identity, _, _) = self.facts else { return nil }
        let why = "Others refuse a system whose certificate has ended."
        let (beginning, end) = (identity.certificateValidity.lowerBound, identity.certificateValidity.upperBound)
        if self.now < beginning {
            return DiagnosisFinding(
                .certificate,
                .problem,
                "This system's certificate begins at \(beginning.formatted(.iso8601)), which is still to come.",
                why: "Others refuse a system whose certificate has not begun.",
                advice: "Set the clock here, or that of the machine that made the certificate: one of them is wrong."
            )
        }
        let days = Int((end.timeIntervalSince(self.now) / 86_400).rounded(.down))
        if self.now >= end {
            let advice =
                identity.isAuthority
                ? "The account's key is here, so anything that uses the account should have renewed it: see whether "
                    + "the directory can be written to."
                : "Join the account again: 'remotesystems account invite' on the machine with the account's key, then "
                    + "'remotesystems account join --leave-account' here."
            return DiagnosisFinding(
                .certificate,
                .problem,
                "This system's certificate ended at \(end.formatted(.iso8601)).",
                why: why,
                advice: advice
            )
        }
        if self.now >= identity.renewalDate {
            return DiagnosisFinding(
                .certificate,
                .warning,
                "This system's certificate ends in \(days) days, at \(end.formatted(.iso8601)), and is not renewed yet.",
                why: why,
                advice:
                    "It is renewed by itself when this machine meets the one that holds the account's key: let both "
                    + "run on one network, with a host on that one and a watcher here."
            )
        }
        return DiagnosisFinding(.certificate, .ok, "This system's certificate is good for \(days) days.", why: why)
    }
}
