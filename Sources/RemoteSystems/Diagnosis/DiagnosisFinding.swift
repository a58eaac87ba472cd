// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// Something that a diagnosis looked at: how it is, why that matters, and what to do.
public struct DiagnosisFinding: Sendable, Hashable, Codable {
    /// What was looked at. Codes are stable; later versions may add some.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The code's name.
        public var rawValue: String
        /// A code with this name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's name.
        public var description: String { self.rawValue }

        /// The machine's clock.
        public static let clock = Code(rawValue: "clock")
        /// The account and this system's place in it.
        public static let account = Code(rawValue: "account")
        /// How long this system's certificate lives.
        public static let certificate = Code(rawValue: "certificate")
        /// The network interfaces that may be used.
        public static let interfaces = Code(rawValue: "interfaces")
        /// Whether they carry multicast.
        public static let multicast = Code(rawValue: "multicast")
        /// Which Avahi is used.
        public static let avahi = Code(rawValue: "avahi")
        /// Whether looking for systems works.
        public static let discovery = Code(rawValue: "discovery")
        /// Whether several programs answer mDNS on this machine.
        public static let responders = Code(rawValue: "responders")
        /// Whether the port can be listened on.
        public static let port = Code(rawValue: "port")
        /// What avahi-daemon is configured not to do.
        public static let avahiConfiguration = Code(rawValue: "avahi-configuration")
        /// How near Avahi is to where it leaves systems out without a word.
        public static let avahiLimits = Code(rawValue: "avahi-limits")
        /// Whether this machine's packet filter lets mDNS and connections in.
        public static let firewall = Code(rawValue: "firewall")
        /// Whether a VPN takes this machine's traffic.
        public static let vpn = Code(rawValue: "vpn")
        /// The systems of the account that answer, and those that are announced and do not.
        public static let systems = Code(rawValue: "systems")
        /// Systems of other accounts nearby. They are counted, and not told apart.
        public static let otherAccounts = Code(rawValue: "other-accounts")
        /// Systems nearby that speak another version of the protocol.
        public static let otherVersions = Code(rawValue: "other-versions")
        /// Filters that leave out systems that are there.
        public static let filters = Code(rawValue: "filters")
        /// Whether the other system can be connected to from here.
        public static let peer = Code(rawValue: "peer")
        /// Whether the other system can connect to this one.
        public static let peerConnectsBack = Code(rawValue: "peer-connects-back")
        /// Whether each of the two systems sees the other's announcement.
        public static let peerMulticast = Code(rawValue: "peer-multicast")
        /// Whether the two clocks agree.
        public static let peerClock = Code(rawValue: "peer-clock")
        /// Whether the two speak the same version.
        public static let peerVersion = Code(rawValue: "peer-version")

        /// Every code that this version knows; `Docs/troubleshooting.md` has a line for each.
        public static let known: [Code] = [
            .clock, .account, .certificate, .interfaces, .multicast, .vpn, .firewall, .avahi, .avahiConfiguration,
            .avahiLimits, .discovery, .responders, .port, .systems, .otherAccounts, .otherVersions, .filters, .peer,
            .peerVersion, .peerClock, .peerConnectsBack, .peerMulticast,
        ]
    }

    /// How bad it is.
    public enum Status: String, Sendable, Hashable, Codable {
        /// As it should be.
        case ok
        /// It works, or most of it, and will not for ever or not for everybody.
        case warning
        /// Something does not work.
        case problem
        /// It could not be looked at.
        case unknown
    }

    /// What was looked at.
    public var code: Code
    /// How bad it is.
    public var status: Status
    /// What was found.
    public var what: String
    /// Why it matters.
    public var why: String
    /// What to do; `nil` when there is nothing to do.
    public var advice: String?

    /// Creates a finding.
    public init(_ code: Code, _ status: Status, _ what: String, why: String, advice: String? = nil) {
        self.code = code
        self.status = status
        self.what = what
        self.why = why
        self.advice = advice
    }
}

extension DiagnosisFinding {
    /// What a discovery source reports of itself.
    init(_ finding: DiscoveryFinding) {
        let status: Status =
            switch finding.status {
            case .ok: .ok
            case .warning: .warning
            case .problem: .problem
            }
        self.init(Code(rawValue: finding.code), status, finding.what, why: finding.why, advice: finding.advice)
    }
}
