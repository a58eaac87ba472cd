// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Findings about the connection between this system and another.
struct PeerFindings: Sendable {
    var facts: PeerFacts

    var all: [DiagnosisFinding] {
        [self.peer, self.version, self.clock, self.connectsBack, self.multicast].compactMap { $0 }
    }

    private var peer: DiagnosisFinding {
        let why = "A system that cannot be connected to is not listed."
        switch self.facts.way {
        case .open, .cannotHelp:
            let place = self.facts.address.map { " at \($0)" } ?? ""
            let what = self.facts.isThisSystem ? ", and is this system itself" : ""
            return DiagnosisFinding(.peer, .ok, "\(self.facts.name) responds\(place)\(what).", why: why)
        case .noAccount:
            return DiagnosisFinding(
                .peer,
                .problem,
                "\(self.facts.name) was not contacted: this system has no account yet.",
                why: "Systems respond only to systems of their account.",
                advice:
                    "Join the other system's account: run 'remotesystems account invite' there and "
                    + "'remotesystems account join' here."
            )
        case .failed(let error):
            return DiagnosisFinding(.peer, .problem, error.message, why: why, advice: self.advice(error))
        }
    }

    private func advice(_ error: TransportError) -> String? {
        switch error.code {
        case .unreachable:
            let listens = "Check that a host runs there ('remotesystems serve') and that its firewall allows the port"
            switch BackConnection(error) {
            case .refused:
                return "\(listens). The machine is reachable, but no program listens there, or a firewall rejects it."
            case _ where self.facts.isNeighbour == true:
                return
                    "\(listens). If so, the network isolates its clients from each other: disable client (access "
                    + "point) isolation, also that of a guest network."
            default:
                return "\(listens), and that there is a route to its network."
            }
        case .peerNotTrusted where (error.cause as? TrustError) == .linkedAccount:
            return "This check is for systems of this account. It says nothing about the link between the accounts."
        case .peerNotTrusted, .refused:
            return DiscoveryFindings.trustAdvice(error.failureCode)
        case .incompatibleVersion: return "Install the same version of RemoteSystems on both machines."
        default: return "Try again, and check the log of the other system."
        }
    }

    private var version: DiagnosisFinding? {
        let why = "Protocol versions with different major numbers are incompatible; newer versions have more features."
        let advice = "Install the same version of RemoteSystems on both machines."
        if case .failed(let error) = self.facts.way, error.code == .incompatibleVersion {
            return DiagnosisFinding(.peerVersion, .problem, error.message, why: why, advice: advice)
        }
        if case .cannotHelp = self.facts.way {
            return DiagnosisFinding(
                .peerVersion,
                .warning,
                "\(self.facts.name) runs a version that cannot help with a diagnosis.",
                why: "The connection back, the other clock and what the other system sees cannot be checked.",
                advice: advice
            )
        }
        guard let version = self.facts.version else { return nil }
        let own = ProtocolVersion.current
        let software = self.facts.software.map { "version \($0)" } ?? "an unknown version"
        let isSame = version == own && self.facts.software == SoftwareVersion.current
        return DiagnosisFinding(
            .peerVersion,
            isSame ? .ok : .warning,
            "\(self.facts.name) runs \(software) with protocol \(version.text). This system runs version "
                + "\(SoftwareVersion.current) with protocol \(own.text).",
            why: why,
            advice: isSame ? nil : advice
        )
    }

    /// The maximum accepted difference between the clocks, in seconds. Certificates are valid for weeks, but a larger
    /// difference shows that a clock is not synchronized.
    private static let maxSeconds = 30.0

    private var clock: DiagnosisFinding? {
        guard let ahead = self.facts.clockAhead else { return nil }
        let why =
            "Certificates and invitations are valid for a limited time. If the clocks differ, they expire too early."
        let isWrong = abs(ahead) - self.facts.clockDoubt > Self.maxSeconds
        let direction = ahead < 0 ? "behind" : "ahead of"
        let amount = abs(ahead) < 120 ? Int(abs(ahead)).of("second") : Int(abs(ahead) / 60).of("minute")
        return DiagnosisFinding(
            .peerClock,
            isWrong ? .warning : .ok,
            isWrong ? "The clock of \(self.facts.name) is \(amount) \(direction) this one." : "The two clocks agree.",
            why: why,
            advice: isWrong
                ? "Set the wrong clock: 'timedatectl' shows it, 'timedatectl set-ntp true' synchronizes it." : nil
        )
    }

    private var connectsBack: DiagnosisFinding? {
        guard let outcome = self.facts.connectsBack else { return nil }
        let why = "A system lists another one only if it can connect to it."
        let port = "port \(self.facts.port)"
        let problem: (what: String, advice: String)
        switch outcome {
        case .reached:
            return DiagnosisFinding(
                .peerConnectsBack,
                .ok,
                "\(self.facts.name) can connect to \(port) of this system.",
                why: why
            )
        case .refused:
            problem = (
                "cannot connect to \(port) of this system: the connection is refused",
                "A firewall on this machine, or between the two, rejects it: allow incoming TCP \(port). "
                    + "'sudo nft list ruleset' shows the rules."
            )
        case .silent:
            problem = (
                "gets no answer from \(port) of this system",
                "A firewall on this machine, or between the two, drops it: allow incoming TCP \(port). "
                    + "'sudo nft list ruleset' shows the rules."
            )
        case .unreachable:
            problem = (
                "has no route to this system",
                "Check that there is a route back, and no address translation (NAT) in between."
            )
        case .other where self.facts.isPortTaken:
            return DiagnosisFinding(
                .peerConnectsBack,
                .warning,
                "\(self.facts.name) reaches \(port) of this machine, but another program, which does not belong to "
                    + "this system, listens on it.",
                why: why,
                advice:
                    "The program may be another user's host. Use a different port for this system's host, and name it "
                    + "with '--port'. 'ss -ltnp' shows which program listens."
            )
        case .other:
            problem = (
                "reaches a different system or program at \(port) of this system's address",
                "Address translation (NAT), a proxy or a VPN is between the two: use addresses that lead to the "
                    + "machine itself."
            )
        }
        return DiagnosisFinding(
            .peerConnectsBack,
            .problem,
            "\(self.facts.name) \(problem.what).",
            why: why,
            advice: problem.advice
        )
    }

    private var multicast: DiagnosisFinding? {
        guard let itSeesUs = self.facts.itSeesUs else { return nil }
        let why = "Systems find each other by multicast DNS. Without it they must be named by address."
        let name = self.facts.name
        func finding(_ what: String, _ advice: String) -> DiagnosisFinding {
            DiagnosisFinding(.peerMulticast, .problem, what, why: why, advice: advice)
        }
        switch (self.facts.weSeeIt, itSeesUs) {
        case (true?, true):
            return DiagnosisFinding(.peerMulticast, .ok, "Each system sees the other's announcement.", why: why)
        case (nil, true):
            return DiagnosisFinding(
                .peerMulticast,
                .warning,
                "\(name) sees this system's announcement but does not announce itself.",
                why: "This system cannot find it.",
                advice: "It was started without discovery. Reach it by its address."
            )
        case (true?, false):
            return finding(
                "Multicast passes one way only: \(name) does not see this system's announcement.",
                "Allow incoming UDP port 5353 in the firewall of \(name), and outgoing UDP port 5353 in this "
                    + "machine's. Run 'remotesystems doctor' there, too."
            )
        case (false?, true):
            return finding(
                "Multicast passes one way only: this system does not see the announcement of \(name).",
                "Allow incoming UDP port 5353 in this machine's firewall."
            )
        case (_, false):
            if self.facts.isNeighbour == false {
                return finding(
                    "Neither system sees the other's announcement, because a router is between them.",
                    "Multicast DNS does not leave its own network: name systems by address, or let the router forward "
                        + "it (an mDNS reflector)."
                )
            }
            return finding(
                "Neither system sees the other's announcement, although each is reachable by its address.",
                "A device between the two filters multicast: disable client (access point) isolation and \"multicast "
                    + "filtering\" there, and check IGMP snooping on switches, and UDP port 5353 in both firewalls."
            )
        }
    }
}

extension ProtocolVersion {
    fileprivate var text: String { "\(self.major).\(self.minor)" }
}
