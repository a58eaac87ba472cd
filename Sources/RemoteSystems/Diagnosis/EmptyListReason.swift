// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import ValueSets

/// The most likely reason why a list is empty, or has this system alone, derived from what the watcher has seen.
struct EmptyListReason: Sendable {
    var unlisted: RemoteSystemWatcher.Unlisted
    var interfaces: [InterfaceFacts]
    var network: RemoteSystemsConfiguration.Network
    /// The number of systems that are listed, all of them this one.
    var listed = 0
    /// Whether this account is linked with another one.
    var hasLinks = false
    /// Whether only systems of linked accounts are to be listed.
    var listsOnlyLinked = false

    /// The first reason that applies, in decreasing order of certainty.
    var finding: DiagnosisFinding {
        self.noLinkedSystem ?? self.filters ?? self.interfacesDown ?? self.serviceInstances.authentication
            ?? self.hampered ?? self.serviceInstances.refused ?? self.unreachable ?? self.serviceInstances.otherVersions
            ?? self.otherAccounts ?? self.nothingFound
    }

    private var serviceInstances: DiscoveryFindings {
        DiscoveryFindings(
            listed: self.listed,
            unlisted: self.unlisted,
            network: self.network,
            hasLinks: self.hasLinks
        )
    }

    /// Systems of this account, and others that are seen, say nothing about systems of linked accounts.
    private var noLinkedSystem: DiagnosisFinding? {
        guard self.listsOnlyLinked, !self.unlisted.excluded.contains(where: { $0.authorizationKind == .linked }) else {
            return nil
        }
        if let certain = self.interfacesDown ?? self.serviceInstances.authentication ?? self.hampered { return certain }
        guard self.hasLinks else {
            return DiagnosisFinding(
                .systems,
                .warning,
                "This account is linked with no other one.",
                why: "Systems of another account are listed only while the accounts are linked.",
                advice: "Link the accounts: 'remotesystems pair --link' on both machines."
            )
        }
        return DiagnosisFinding(
            .systems,
            .warning,
            "No system of a linked account is reachable.",
            why: "Systems of a linked account are listed while the link is in force, and only if their account grants "
                + "this one anything.",
            advice: "If the accounts were just linked, or a host has just started, list again: both take some seconds. "
                + "On a machine of the other account, a host must run ('remotesystems serve'). 'remotesystems doctor "
                + "ADDRESS', with its address, shows whether its account has withdrawn the link."
        )
    }

    private var filters: DiagnosisFinding? {
        let excluded = self.unlisted.excluded
        guard !excluded.isEmpty else { return nil }
        let names =
            excluded.prefix(5).map { "\($0.id.short) \($0.displayName.quoted) (\("\($0.kind)".quotedUnlessPlain))" }
            + (excluded.count > 5 ? ["…"] : [])
        return DiagnosisFinding(
            .filters,
            .warning,
            "The filters exclude "
                + (excluded.count == 1 ? "the only system that is" : "all \(excluded.count) systems that are")
                + " there: \(names.joined(separator: ", ")).",
            why: "A system must match one filter of each sort.",
            advice: "List again without filters, or with different ones."
        )
    }

    private var interfacesDown: DiagnosisFinding? {
        let finding = NetworkFindings.interfaces(self.interfaces, self.network)
        return finding.status == .problem ? finding : nil
    }

    private var hampered: DiagnosisFinding? {
        guard let error = self.unlisted.errors.first else { return nil }
        return DiagnosisFinding(
            .discovery,
            .problem,
            "Discovery does not work: \(error.message)",
            why: "Systems find each other by discovery.",
            advice: "Run 'remotesystems doctor' to find the cause."
        )
    }

    private var unreachable: DiagnosisFinding? {
        self.unlisted.unreachable.isEmpty ? nil : self.serviceInstances.systems
    }

    private var otherAccounts: DiagnosisFinding? {
        self.unlisted.otherAccounts == 0 ? nil : self.serviceInstances.otherAccounts
    }

    private var nothingFound: DiagnosisFinding {
        let interfaces = NetworkFindings.interfaces(self.interfaces, self.network)
        return interfaces.status == .ok ? self.serviceInstances.nothingFound : interfaces
    }
}
