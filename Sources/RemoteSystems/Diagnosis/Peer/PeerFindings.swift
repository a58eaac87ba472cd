// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Findings about the way between this system and another.
struct PeerFindings: Sendable {
    var facts: PeerFacts

    var all: [DiagnosisFinding] {
        [self.peer, self.version, self.clock, self.connectsBack, self.multicast].compactMap { $0 }
    }

    private var peer: DiagnosisFinding {
        let why = "What cannot be connected to is not listed and cannot be talked to."
        switch self.facts.way {
        case .open, .cannotHelp:
            let place = self.facts.address.map { " at \($0)" } ?? ""
            let what = self.facts.isThisSystem ? ", which is this system itself" : ""
            return DiagnosisFinding(.peer, .ok, "\(self.facts.name) answers\(place)\(what).", why: why)
        case .noAccount:
            return DiagnosisFinding(
                .peer,
                .problem,
                "\(self.facts.name) was not asked: there is no account here yet.",
                why: "Systems answer others of their account only.",
                advice:
                    "Join the other's account: 'remotesystems account invite' there, 'remotesystems account join' here."
            )
        case .failed(let error):
            return DiagnosisFinding(.peer, .problem, error.message, why: why, advice: self.advice(error))
        }
    }

    private func advice(_ error: TransportError) -> String {
        switch error.code {
        case .unreachable:
            let listens = "See that a host runs there ('remotesystems serve') and that its firewall lets the port in"
            switch BackConnection(error) {
            case .refused: return "\(listens): that machine is there, and nobody listens or a firewall says no."
            case _ where self.facts.isNeighbour == true:
                return
                    "\(listens). If it does, the network keeps its own machines apart: switch off client (access point) "
                    + "isolation, or a guest network's."
            default:
                return "\(listens), and that there is a route to its network."
            }
        case .peerNotTrusted, .refused:
            return DiscoveryFindings.trustAdvice
        case .incompatibleVersion: return "Bring both machines to the same version of RemoteSystems."
        default: return "Try again, and see what the log there says."
        }
    }

    private var version: DiagnosisFinding? {
        let why = "Versions that differ in the first number cannot talk; newer ones know more."
        let advice = "Bring both machines to the same version of RemoteSystems."
        if case .failed(let error) = self.facts.way, error.code == .incompatibleVersion {
            return DiagnosisFinding(.peerVersion, .problem, error.message, why: why, advice: advice)
        }
        if case .cannotHelp = self.facts.way {
            return DiagnosisFinding(
                .peerVersion,
                .warning,
                "\(self.facts.name) runs a version that cannot help with a diagnosis.",
                why: "So the way back, its clock and what it sees stay unknown.",
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
            "\(self.facts.name) runs \(software) with protocol \(version.text); this is \(SoftwareVersion.current) with "
                + "protocol \(own.text).",
            why: why,
            advice: isSame ? nil : advice
        )
    }

    /// Certificates are good for weeks; half a minute shows that a clock is not kept right.
    private static let maxSeconds = 30.0

    private var clock: DiagnosisFinding? {
        guard let ahead = self.facts.clockAhead else { return nil }
        let why =
            "Certificates have a beginning and an end, and so have invitations: with clocks apart, trust ends early."
        let isWrong = abs(ahead) - self.facts.clockDoubt > Self.maxSeconds
        let direction = ahead < 0 ? "behind" : "ahead of"
        let amount = abs(ahead) < 120 ? Int(abs(ahead)).of("second") : Int(abs(ahead) / 60).of("minute")
        return DiagnosisFinding(
            .peerClock,
            isWrong ? .warning : .ok,
            isWrong ? "The clock of \(self.facts.name) is \(amount) \(direction) this one." : "The two clocks agree.",
            why: why,
            advice: isWrong
                ? "Set the one that is wrong: 'timedatectl' shows it, 'timedatectl set-ntp true' keeps it right." : nil
        )
    }

    private var connectsBack: DiagnosisFinding? {
        guard let outcome = self.facts.connectsBack else { return nil }
        let why = "Each of the two must reach the other to list it."
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
                "is refused at \(port) of this system",
                "A firewall here, or between the two, rejects it: let TCP \(port) in. 'sudo nft list ruleset' shows the rules."
            )
        case .silent:
            problem = (
                "gets no answer from \(port) of this system",
                "A firewall here, or between the two, drops it: let TCP \(port) in. 'sudo nft list ruleset' shows the rules."
            )
        case .unreachable:
            problem = (
                "has no way back to this system",
                "See whether there is a route back, and no address translation between."
            )
        case .other where self.facts.isPortTaken:
            return DiagnosisFinding(
                .peerConnectsBack,
                .warning,
                "\(self.facts.name) reaches \(port) of this machine, which another program has that is not of this system.",
                why: why,
                advice:
                    "It may be another user's host. Give this system's host a port of its own, and name that: '--port'. 'ss -ltnp' "
                    + "shows who listens."
            )
        case .other:
            problem = (
                "finds somebody else at \(port) of the address that it sees this system at",
                "The two are joined by address translation (NAT), a proxy or a VPN: use addresses that lead to the machine itself."
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
        let why = "Systems find each other by multicast DNS; without it they must be named by address."
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
                "\(name) sees this system's announcement and makes none of its own.",
                why: "So it is not found here.",
                advice: "It was started without discovery; reach it by its address."
            )
        case (true?, false):
            return finding(
                "Multicast passes one way only: \(name) does not see this system's announcement.",
                "Let incoming UDP port 5353 through the firewall of \(name), and outgoing through this machine's. Run "
                    + "'remotesystems doctor' there, too."
            )
        case (false?, true):
            return finding(
                "Multicast passes one way only: this system does not see the announcement of \(name).",
                "Let incoming UDP port 5353 through this machine's firewall."
            )
        case (_, false):
            if self.facts.isNeighbour == false {
                return finding(
                    "Neither system sees the other's announcement, since a router lies between them.",
                    "Multicast DNS stays on its own network: name systems by address, or have the router repeat it (an mDNS "
                        + "reflector)."
                )
            }
            return finding(
                "Neither system sees the other's announcement, though each is reached by its address.",
                "Something between filters multicast: switch off client (access point) isolation and \"multicast "
                    + "filtering\" there, see to IGMP snooping on switches, and to UDP port 5353 in both firewalls."
            )
        }
    }
}

extension ProtocolVersion {
    fileprivate var text: String { "\(self.major).\(self.minor)" }
}
