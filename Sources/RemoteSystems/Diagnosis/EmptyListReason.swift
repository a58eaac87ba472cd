// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// The most likely reason why a list is empty, or has this system alone, derived from what the watcher has seen.
struct EmptyListReason: Sendable {
    var unlisted: RemoteSystemWatcher.Unlisted
    var interfaces: [InterfaceFacts]
    var network: RemoteSystemsConfiguration.Network
    /// The number of systems that are listed, all of them this one.
    var listed = 0
    /// Whether this account is linked with another one.
    var hasLinks = false

    /// The first reason that applies, in decreasing order of certainty.
    var finding: DiagnosisFinding {
        self.filters ?? self.interfacesDown ?? self.serviceInstances.authentication ?? self.hampered
            ?? self.serviceInstances.refused ?? self.unreachable ?? self.serviceInstances.otherVersions ?? self
            .otherAccounts
            ?? self.nothingFound
    }

    private var serviceInstances: DiscoveryFindings {
        DiscoveryFindings(
            listed: self.listed,
            unlisted: self.unlisted,
            network: self.network,
            hasLinks: self.hasLinks
        )
    }

    private var filters: DiagnosisFinding? {
        let excluded = self.unlisted.excluded
        guard !excluded.isEmpty else { return nil }
        let names =
            excluded.prefix(5).map { "\($0.displayName) (\($0.kind), \($0.id.short))" }
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
