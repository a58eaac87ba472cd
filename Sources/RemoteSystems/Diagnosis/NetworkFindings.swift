// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// Findings about the network, from facts.
enum NetworkFindings {
    static func interfaces(
        _ all: [InterfaceFacts],
        _ network: RemoteSystemsConfiguration.Network
    ) -> DiagnosisFinding {
        let why = "Systems are found, and reached, over the interfaces that may be used."
        if case .interfaces(let names) = network.kind {
            let missing = names.filter { name in !all.contains { $0.name == name } }
            guard missing.isEmpty else {
                return DiagnosisFinding(
                    .interfaces,
                    .problem,
                    "There is no interface \(missing.joined(separator: ", ")) that is up.",
                    why: why,
                    advice: "'ip -brief address' lists what there is. It is used as soon as it is up."
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
                advice: "Connect this machine to a network; 'ip -brief address' shows how it stands."
            )
        }
        let list = used.map { "\($0.name) (\($0.addresses.prefix(2).joined(separator: ", ")))" }
        let isAlone = network != .loopback && used.allSatisfy(\.isLoopback)
        return DiagnosisFinding(
            .interfaces,
            isAlone ? .warning : .ok,
            "In use: \(list.prefix(8).joined(separator: ", ")).",
            why: isAlone ? "That is the loopback interface alone, so only this machine can be found." : why,
            advice: isAlone ? "Connect this machine to a network; 'ip -brief address' shows how it stands." : nil
        )
    }

    static func multicast(
        _ all: [InterfaceFacts],
        _ network: RemoteSystemsConfiguration.Network
    ) -> DiagnosisFinding? {
        let used = Self.used(all, network).filter { !$0.addresses.isEmpty && !$0.isLoopback }
        guard !used.isEmpty else { return nil }
        let why = "mDNS, by which systems find each other, is multicast."
        let deaf = used.filter { !$0.canMulticast }.map(\.name)
        if deaf.count == used.count {
            return DiagnosisFinding(
                .multicast,
                .problem,
                "None of the interfaces in use carries multicast: \(deaf.joined(separator: ", ")).",
                why: why,
                advice:
                    "Switch it on ('ip link set DEVICE multicast on') if the network carries it, or reach systems by "
                    + "their addresses."
            )
        }
        if !deaf.isEmpty {
            return DiagnosisFinding(
                .multicast,
                .warning,
                "No multicast on \(deaf.joined(separator: ", ")).",
                why: why,
                advice: "Systems beyond it can be reached by their addresses only."
            )
        }
        return DiagnosisFinding(
            .multicast,
            .ok,
            "The interfaces in use carry multicast. Whether switches and access points pass it on cannot be seen here.",
            why: why
        )
    }

    static func vpn(_ route: RouteFacts) -> DiagnosisFinding {
        let why = "Multicast does not pass through most VPNs, and some keep programs from the network next door."
        guard let interface = route.defaultInterface else {
            return DiagnosisFinding(.vpn, .ok, "This machine has no default route, so no VPN has it.", why: why)
        }
        guard route.isTunnel else {
            return DiagnosisFinding(
                .vpn,
                .ok,
                "The default route is through \(interface), which is no tunnel.",
                why: why
            )
        }
        return DiagnosisFinding(
            .vpn,
            .warning,
            "A VPN has the default route: \(interface).",
            why: why,
            advice:
                "If systems next door are not found, allow the local network in the VPN's settings (\"local network "
                + "sharing\", \"allow LAN\", no kill switch), or leave the VPN. Systems behind the VPN are reached by their addresses."
        )
    }

    static func discovery(_ troubles: [DiscoveryProblem]) -> [DiagnosisFinding] {
        let why = "It is how systems find each other."
        guard !troubles.isEmpty else {
            return [DiagnosisFinding(.discovery, .ok, "Looking for systems works.", why: why)]
        }
        return troubles.map { trouble in
            DiagnosisFinding(
                .discovery,
                trouble.code == .nameCollision || trouble.code == .cacheLimit ? .warning : .problem,
                "\(trouble.message) (\(trouble.code))",
                why: why,
                advice: trouble.advice
            )
        }
    }

    static func responders(_ sockets: MulticastSockets) -> DiagnosisFinding {
        let why = "Two mDNS stacks on one machine work, but may answer twice, and fight over the host's name."
        switch sockets.owners.count {
        case 0:
            return DiagnosisFinding(.responders, .ok, "No other program on this machine speaks mDNS.", why: why)
        case 1:
            return DiagnosisFinding(
                .responders,
                .ok,
                "One program on this machine speaks mDNS: \(sockets.owners.joined()).",
                why: why
            )
        default:
            return DiagnosisFinding(
                .responders,
                .warning,
                "Several programs on this machine speak mDNS: \(sockets.owners.joined(separator: ", ")).",
                why: why,
                advice:
                    "Keep one. For systemd-resolved: 'MulticastDNS=no' in /etc/systemd/resolved.conf. Browsers only "
                    + "listen and do no harm."
            )
        }
    }

    /// - Parameter holder: the application of this system that has the port.
    static func port(_ port: Int, _ trouble: String?, holder: String? = nil) -> DiagnosisFinding {
        let why = "A host listens there for others of the account."
        if let holder {
            return DiagnosisFinding(.port, .ok, "\(holder) of this system listens on port \(port).", why: why)
        }
        guard let trouble else {
            let what = port == 0 ? "Ports can be listened on." : "Port \(port) can be listened on."
            return DiagnosisFinding(.port, .ok, what, why: why)
        }
        return DiagnosisFinding(
            .port,
            .warning,
            trouble,
            why: why,
            advice: "Nothing of this system has it. 'ss -ltnp' shows who listens."
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
