// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import RemoteSystemsIdentity

/// The known facts about the account. Reading them does not create an account.
enum IdentityFacts: Sendable {
    case none(directory: String)
    case usable(SystemIdentity, directory: String, lacksKey: Bool = false)
    case unusable(IdentityError)

    static func read(_ context: ApplicationContext) -> IdentityFacts {
        do throws(IdentityError) {
            let store = try context.account.store()
            guard try store.holdsAccount() else { return .none(directory: store.directory) }
            let identity = try store.identity()
            // No program uses the account while its revocation list is lost, or while its links are damaged.
            _ = try store.revocations()
            _ = try store.links()
            return .usable(
                identity,
                directory: store.directory,
                lacksKey: try store.lacksRootKey()
            )
        } catch {
            return .unusable(error)
        }
    }
}

extension ApplicationContext {
    /// Whether this system's account is linked with another one; `false` if it cannot be read. Creates no account.
    var hasLinks: Bool {
        do throws(IdentityError) {
            return try self.account.store().links().links.contains { $0.state == .active }
        } catch {
            return false
        }
    }

    /// The findings about damaged and lost records of the account's systems, and about restored links. Creates no
    /// account.
    var recordFindings: [DiagnosisFinding] {
        [self.damagedRecords, self.lostRecord, self.restoredLinks].compactMap(\.self)
    }

    fileprivate var restoredLinks: DiagnosisFinding? {
        guard let store = try? self.account.store(), let path = try? store.restoredLinks() else { return nil }
        return DiagnosisFinding(
            .account,
            .warning,
            "\(path) is older than before: it was restored from a backup.",
            why: "Links that were withdrawn since then, and rights that were taken back, are in force again.",
            advice: "On the machine with the account's root key, look at 'remotesystems account links', and change "
                + "what is not right with 'account unlink' or 'account grant'. Such a change ends this warning. "
                + "Another machine receives the newest list from the systems that 'remotesystems list' meets."
        )
    }

    private static var unmarkedSystems: String {
        "A system that was revoked before the root key was stolen may be listed as if it was not."
    }

    private var lostRecord: DiagnosisFinding? {
        guard let store = try? self.account.store(), let path = try? store.lostFormerlyRevoked() else { return nil }
        return DiagnosisFinding(
            .account,
            .warning,
            "\(path) is missing, or lacks systems that it named.",
            why: Self.unmarkedSystems,
            advice: "Restore the newest copy of the file from a backup. Without one, invite a system only if you know "
                + "that it was not revoked. To end this warning, delete the line with \"formerlyRevoked\" in "
                + "account.json beside the file."
        )
    }

    private var damagedRecords: DiagnosisFinding? {
        guard let store = try? self.account.store(), let paths = try? store.damagedRecords(), !paths.isEmpty else {
            return nil
        }
        let isJoinRecordDamaged = (try? store.isJoinRecordDamaged()) ?? true
        var effects = isJoinRecordDamaged ? ["Systems that joined may be missing in the lists of this machine."] : []
        // The only other record.
        if paths.count > (isJoinRecordDamaged ? 1 : 0) {
            effects.append(Self.unmarkedSystems)
        }
        return DiagnosisFinding(
            .account,
            .warning,
            "Some lines of \(paths.joined(separator: " and of ")) are damaged, so they are not used.",
            why: effects.joined(separator: " "),
            advice: "Restore the file from a backup, or delete the lines that are not system ids."
        )
    }
}

extension RemoteSystemsAccount {
    /// The finding about a list of links that is older than before, if there is one.
    package var linkFindings: [DiagnosisFinding] { [self.context.restoredLinks].compactMap(\.self) }

    /// The findings about damaged and lost records of the account's systems, and about restored links.
    package var recordFindings: [DiagnosisFinding] { self.context.recordFindings }
}

/// Findings about the clock, the account and the certificate.
struct IdentityFindings {
    let now: Date
    let facts: IdentityFacts

    var all: [DiagnosisFinding] {
        [self.clock, self.account] + (self.certificate.map { [$0] } ?? [])
    }

    private var clock: DiagnosisFinding {
        let why =
            "Certificates are valid for a limited time. With a wrong clock this machine trusts no other, and no other "
            + "trusts it."
        let advice = "Set the clock: 'timedatectl' shows it, 'timedatectl set-ntp true' synchronizes it."
        let time = self.now.formatted(.iso8601)
        if self.now < CertificateLife.earliestPlausible || self.now > CertificateLife.latestPlausible {
            return DiagnosisFinding(
                .clock,
                .problem,
                "The clock shows \(time), which cannot be correct.",
                why: why,
                advice: advice
            )
        }
        if case .usable(let identity, _, _) = self.facts, self.now < identity.certificateValidity.lowerBound {
            let beginning = identity.certificateValidity.lowerBound.formatted(.iso8601)
            return DiagnosisFinding(
                .clock,
                .problem,
                "The clock shows \(time), before this system's certificate becomes valid (\(beginning)).",
                why: why,
                advice: advice
            )
        }
        return DiagnosisFinding(.clock, .ok, "The clock shows \(time), which is plausible.", why: why)
    }

    private var account: DiagnosisFinding {
        let why = "Systems of one account trust each other, and no other systems."
        switch self.facts {
        case .none(let directory):
            return DiagnosisFinding(
                .account,
                .ok,
                "There is no account in \(directory) yet. The first use creates one.",
                why: why
            )
        case .usable(let identity, let directory, lacksKey: true):
            return DiagnosisFinding(
                .account,
                .warning,
                "The key of account \(identity.accountID.short) was in \(directory) and is missing.",
                why: "Without the key no system can join the account or be revoked, and no certificate is renewed.",
                advice: "Restore 'account/root-key.pem' from a backup, or use the account's recovery file: "
                    + "'remotesystems account import'."
            )
        case .usable(let identity, let directory, _):
            let role = identity.isAuthority ? "whose key is on this machine" : "whose key is on another machine"
            return DiagnosisFinding(
                .account,
                .ok,
                "System \(identity.systemID.short) of account \(identity.accountID.short), \(role), in \(directory).",
                why: why
            )
        case .unusable(let error) where error.code == .revocationsLost:
            return DiagnosisFinding(
                .account,
                .problem,
                "The account's revocation list is lost, or an older one was put in its place (\(error.code)).",
                why: "Systems that were revoked would be trusted again, so no connection is opened or accepted.",
                advice: error.message
            )
        case .unusable(let error):
            return DiagnosisFinding(
                .account,
                .problem,
                "The account cannot be used (\(error.code)).",
                why: "Without the account no connection can be opened or accepted.",
                advice: error.message
            )
        }
    }

    private var certificate: DiagnosisFinding? {
        guard case .usable(let identity, _, _) = self.facts else { return nil }
        if !identity.isAuthority, let end = identity.rootRetirement(at: self.now) { return .rootKeyReplaced(at: end) }
        let why = "Other systems refuse a system whose certificate has expired."
        let (beginning, end) = (identity.certificateValidity.lowerBound, identity.certificateValidity.upperBound)
        if self.now < beginning {
            return DiagnosisFinding(
                .certificate,
                .problem,
                "This system's certificate is not valid yet: it begins at \(beginning.formatted(.iso8601)).",
                why: "Other systems refuse a system whose certificate is not valid yet.",
                advice: "Set the clock of this machine, or of the machine that issued the certificate. One is wrong."
            )
        }
        let days = Int((end.timeIntervalSince(self.now) / 86_400).rounded(.down))
        if self.now >= end {
            var finding = DiagnosisFinding.certificateExpired(at: end)
            if identity.isAuthority {
                finding.advice =
                    "The account's key is on this machine, so any program that uses the account should have renewed "
                    + "the certificate: check that the state directory is writable."
            }
            return finding
        }
        if self.now >= identity.renewalDate {
            return .certificateNotRenewed(days: days, end: end)
        }
        return DiagnosisFinding(.certificate, .ok, "This system's certificate is valid for \(days) days.", why: why)
    }
}

extension RemoteSystemsAccount {
    /// The warning that this system's certificate ends within ten days and was not renewed; `nil` otherwise, and if it
    /// is invalid already. Creates no account.
    package var certificateWarning: DiagnosisFinding? {
        let now = Date()
        guard let store = try? self.context.account.store(), let identity = try? store.storedIdentity(now: now),
            identity.isAuthority || identity.rootRetirement(at: now) == nil
        else { return nil }
        let end = identity.certificateValidity.upperBound
        return CertificateReminder.daysLeft(until: end, at: now).map { .certificateNotRenewed(days: $0, end: end) }
    }
}

extension DiagnosisFinding {
    /// This system's certificate is due for renewal.
    fileprivate static func certificateNotRenewed(days: Int, end: Date) -> DiagnosisFinding {
        DiagnosisFinding(
            .certificate,
            .warning,
            "This system's certificate expires in \(days) days, at \(end.formatted(.iso8601)). It was not renewed.",
            why: "Other systems refuse a system whose certificate has expired.",
            advice: "The certificate is renewed automatically when this machine connects to the one with the account's "
                + "key: run both on one network, with a host on that machine and a watcher on this one."
        )
    }

    /// This system's certificate expired, and the machine with the account's root key has not renewed it.
    package static func certificateExpired(at end: Date) -> DiagnosisFinding {
        DiagnosisFinding(
            .certificate,
            .problem,
            "This system's certificate expired at \(end.formatted(.iso8601)).",
            why: "Other systems refuse a system whose certificate has expired.",
            advice: "Check this machine's clock. If it is right, join the account again: 'remotesystems account "
                + "invite' on the machine with the account's root key, then 'remotesystems account join' here. This "
                + "machine keeps its id."
        )
    }

    /// This system's certificate became invalid at a time, because the account's root key was replaced.
    package static func rootKeyReplaced(at end: Date) -> DiagnosisFinding {
        DiagnosisFinding(
            .certificate,
            .problem,
            "The account's root key was replaced, so this system's certificate became invalid at "
                + "\(end.formatted(.iso8601)).",
            why: "Other systems of the account refuse certificates of the old root key.",
            advice: "Join the account again: run 'remotesystems account invite' on the machine with the account's root "
                + "key, and 'remotesystems account join' here. This machine keeps its id. Use only an invitation that "
                + "you made yourself: a thief of the old key can have replaced it. If you did not replace it, another "
                + "person has the key: run 'remotesystems account leave' on each machine and make a new account."
        )
    }
}
