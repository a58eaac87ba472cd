// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// Why a list is empty, most likely, from what was really seen.
struct EmptyListReason: Sendable {
    var unlisted: RemoteSystemWatcher.Unlisted
    var interfaces: [InterfaceFacts]
    var network: RemoteSystemsConfiguration.Network

    /// The first that holds, the surest first.
    var finding: DiagnosisFinding {
        self.filters ?? self.interfacesDown ?? self.authentication ?? self.hampered ?? self.unreachable
            ?? SightingsFindings(unlisted: self.unlisted).otherVersions ?? self.otherAccounts ?? self.nobody
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
            "The filters exclude the \(excluded.count.of("system")) that \(excluded.count == 1 ? "is" : "are") there: "
                + "\(names.joined(separator: ", ")).",
            why: "Filters of one sort widen each other, those of different sorts narrow each other.",
            advice: "Look again without filters, or with others."
        )
    }

    private var interfacesDown: DiagnosisFinding? {
        let finding = NetworkFindings.interfaces(self.interfaces, self.network)
        return finding.status == .problem ? finding : nil
    }

    private var authentication: DiagnosisFinding? {
        guard let error = self.unlisted.errors.first(where: { $0.code == .authenticationError }) else { return nil }
        return DiagnosisFinding(
            .systems,
            .problem,
            "Something is announced as of this account and could not prove it, or refused us: \(error.message)",
            why: "Only systems that prove who they are get listed.",
            advice: "If it is yours, look at its clock and certificate: run 'remotesystems doctor' there."
        )
    }

    private var hampered: DiagnosisFinding? {
        guard let error = self.unlisted.errors.first else { return nil }
        return DiagnosisFinding(
            .discovery,
            .problem,
            "Looking for systems does not work: \(error.message)",
            why: "It is how systems find each other.",
            advice: "'remotesystems doctor' looks for causes."
        )
    }

    private var unreachable: DiagnosisFinding? {
        let finding = SightingsFindings(unlisted: self.unlisted).systems
        return self.unlisted.unreachable.isEmpty ? nil : finding
    }

    private var otherAccounts: DiagnosisFinding? {
        guard self.unlisted.otherAccounts > 0 else { return nil }
        return SightingsFindings(unlisted: self.unlisted).otherAccounts
    }

    private var nobody: DiagnosisFinding {
        if self.network == .loopback {
            return DiagnosisFinding(
                .systems,
                .warning,
                "No program on this machine announces itself on the loopback interface.",
                why: "With loopback alone only programs on this machine are found, and only those that use it, too.",
                advice: "Start one ('remotesystems serve --loopback'), or look on the network."
            )
        }
        let finding = NetworkFindings.interfaces(self.interfaces, self.network)
        if finding.status != .ok { return finding }
        return SightingsFindings(unlisted: self.unlisted).nobody
    }
}
