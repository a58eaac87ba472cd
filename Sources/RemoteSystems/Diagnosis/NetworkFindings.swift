// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// Findings about the network.
enum NetworkFindings {
    static func interfaces(
        _ all: [InterfaceFacts],
        _ network: RemoteSystemsConfiguration.Network
    ) -> DiagnosisFinding {
        let why = "Systems are found and reached over the interfaces that the configuration allows."
        if case .interfaces(let names) = network.kind {
            let missing = names.filter { name in !all.contains { $0.name == name } }
            guard missing.isEmpty else {
                return DiagnosisFinding(
                    .interfaces,
                    .problem,
                    "There is no interface \(missing.joined(separator: ", ")) that is up.",
                    why: why,
                    advice: "'ip -brief address' lists the interfaces. An interface is used as soon as it is up."
                )
            }
        }
        let used = Self.used(all, network).filter { !$0.addresses.isEmpty }
        guard !used.isEmpty else {
            return DiagnosisFinding(
                .interfaces,
                .problem,
                "No interface that may be used is up and has an address.",
                why: why,
                advice: "Connect this machine to a network. 'ip -brief address' shows the state of its interfaces."
            )
        }
        let list = used.map { "\($0.name) (\($0.addresses.prefix(2).joined(separator: ", ")))" }
        let isAlone = network != .loopback && used.allSatisfy(\.isLoopback)
        return DiagnosisFinding(
            .interfaces,
            isAlone ? .warning : .ok,
            "In use: \(list.prefix(8).joined(separator: ", ")).",
            why: isAlone ? "Only the loopback interface is in use, so only this machine can be found." : why,
            advice: isAlone
                ? "Connect this machine to a network. 'ip -brief address' shows the state of its interfaces." : nil
        )
    }

    static func multicast(
        _ all: [InterfaceFacts],
        _ network: RemoteSystemsConfiguration.Network
    ) -> DiagnosisFinding? {
        let used = Self.used(all, network).filter { !$0.addresses.isEmpty && !$0.isLoopback }
        guard !used.isEmpty else { return nil }
        let why = "Systems find each other by mDNS, which needs multicast."
        let deaf = used.filter { !$0.canMulticast }.map(\.name)
        if deaf.count == used.count {
            return DiagnosisFinding(
                .multicast,
                .problem,
                "None of the interfaces in use carries multicast: \(deaf.joined(separator: ", ")).",
                why: why,
                advice:
                    "Enable multicast ('ip link set DEVICE multicast on') if the network carries it, or name systems "
                    + "by their addresses."
            )
        }
        if !deaf.isEmpty {
            return DiagnosisFinding(
                .multicast,
                .warning,
                "Interfaces without multicast: \(deaf.joined(separator: ", ")).",
                why: why,
                advice: "Systems on these networks can be reached only by their addresses."
            )
        }
        return DiagnosisFinding(
            .multicast,
            .ok,
            "The interfaces in use carry multicast. Whether switches and access points forward it cannot be "
                + "checked here.",
            why: why
        )
    }

    static func vpn(_ route: RouteFacts) -> DiagnosisFinding {
        let why = "Most VPNs do not carry multicast, and some block access to the local network."
        guard let interface = route.defaultInterface else {
            return DiagnosisFinding(.vpn, .ok, "This machine has no default route, so no VPN uses it.", why: why)
        }
        guard route.isTunnel else {
            return DiagnosisFinding(
                .vpn,
                .ok,
                "The default route leads through \(interface), which is not a tunnel.",
                why: why
            )
        }
        return DiagnosisFinding(
            .vpn,
            .warning,
            "The default route leads through a VPN: \(interface).",
            why: why,
            advice:
                "If systems on the local network are not found, allow the local network in the VPN's settings (\"local "
                + "network sharing\", \"allow LAN\", no kill switch), or disconnect the VPN. Systems behind the VPN "
                + "can be reached by their addresses."
        )
    }

    /// Problems with which discovery works for some systems.
    private static let partial: Set<DiscoveryProblem.Code> = [
        .nameCollision, .cacheLimit, .announcementFlood, .tooManyHints,
    ]

    static func discovery(_ troubles: [DiscoveryProblem]) -> [DiagnosisFinding] {
        let why = "Systems find each other by discovery."
        guard !troubles.isEmpty else {
            return [DiagnosisFinding(.discovery, .ok, "Discovery works.", why: why)]
        }
        return troubles.map { trouble in
            DiagnosisFinding(
                .discovery,
                Self.partial.contains(trouble.code) ? .warning : .problem,
                "\(trouble.message) (\(trouble.code))",
                why: why,
                advice: trouble.advice
            )
        }
    }

    static func responders(_ sockets: MulticastSockets) -> DiagnosisFinding {
        let why = "Two mDNS stacks on one machine work, but may respond twice and conflict over the host name."
        switch sockets.owners.count {
        case 0:
            return DiagnosisFinding(.responders, .ok, "No other program on this machine uses mDNS.", why: why)
        case 1:
            return DiagnosisFinding(
                .responders,
                .ok,
                "One program on this machine uses mDNS: \(sockets.owners.joined()).",
                why: why
            )
        default:
            return DiagnosisFinding(
                .responders,
                .warning,
                "Several programs on this machine use mDNS: \(sockets.owners.joined(separator: ", ")).",
                why: why,
                advice:
                    "Keep only one. For systemd-resolved: 'MulticastDNS=no' in /etc/systemd/resolved.conf. Web "
                    + "browsers only listen and cause no conflict."
            )
        }
    }

    /// Returns the finding about the port on which a host listens or would listen.
    ///
    /// - Parameter holder: the application of this system that listens on the port.
    static func port(_ port: Int, _ trouble: String?, holder: String? = nil) -> DiagnosisFinding {
        let why = "A host listens on this port for other systems of the account."
        if let holder {
            return DiagnosisFinding(.port, .ok, "\(holder) of this system listens on port \(port).", why: why)
        }
        guard let trouble else {
            let what = port == 0 ? "A host can listen on a free port." : "A host can listen on port \(port)."
            return DiagnosisFinding(.port, .ok, what, why: why)
        }
        return DiagnosisFinding(
            .port,
            .warning,
            trouble,
            why: why,
            advice: "No program of this system uses the port. 'ss -ltnp' shows which program listens on it."
        )
    }

    static func used(
        _ all: [InterfaceFacts],
        _ network: RemoteSystemsConfiguration.Network
    ) -> [InterfaceFacts] {
        switch network.kind {
        case .all: all
        case .loopback: all.filter(\.isLoopback)
        case .interfaces(let names): all.filter { names.contains($0.name) }
        }
    }
}
