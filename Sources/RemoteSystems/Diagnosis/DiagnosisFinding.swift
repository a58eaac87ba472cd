// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// One result of a diagnosis: what was found, why it matters, and what to do.
public struct DiagnosisFinding: Sendable, Hashable, Codable {
    /// The subject of a finding: the question that the diagnosis examines. ``DiagnosisFinding/status`` holds the
    /// result.
    ///
    /// Codes are stable; later versions may add codes.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The code's name, in lower case with hyphens.
        public var rawValue: String
        /// Creates a code with a name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's name, as in ``rawValue``.
        public var description: String { self.rawValue }

        /// Whether the machine's clock can be right.
        public static let clock = Code(rawValue: "clock")
        /// Whether the account can be used, and whether this system belongs to it.
        public static let account = Code(rawValue: "account")
        /// Whether this system's certificate is valid, and for how long.
        public static let certificate = Code(rawValue: "certificate")
        /// Whether the network interfaces that the configuration allows are up.
        public static let interfaces = Code(rawValue: "interfaces")
        /// Whether the allowed network interfaces carry multicast.
        public static let multicast = Code(rawValue: "multicast")
        /// Which Avahi implementation is used, and why.
        public static let avahi = Code(rawValue: "avahi")
        /// Whether the discovery sources work.
        public static let discovery = Code(rawValue: "discovery")
        /// Whether several mDNS responders run on this machine.
        public static let responders = Code(rawValue: "responders")
        /// Whether a host can listen on the port of the diagnosis.
        public static let port = Code(rawValue: "port")
        /// Whether settings of avahi-daemon restrict discovery.
        public static let avahiConfiguration = Code(rawValue: "avahi-configuration")
        /// How close Avahi is to its limits. Avahi silently omits systems beyond them.
        public static let avahiLimits = Code(rawValue: "avahi-limits")
        /// Whether this machine's packet filter accepts mDNS and connections.
        public static let firewall = Code(rawValue: "firewall")
        /// Whether the default route leads through a VPN.
        public static let vpn = Code(rawValue: "vpn")
        /// Which systems of the account respond, and how many are advertised but do not respond.
        public static let systems = Code(rawValue: "systems")
        /// How many programs of other accounts are nearby. They cannot be identified.
        public static let otherAccounts = Code(rawValue: "other-accounts")
        /// How many nearby programs have another protocol version.
        public static let otherVersions = Code(rawValue: "other-versions")
        /// Whether filters exclude available systems.
        public static let filters = Code(rawValue: "filters")
        /// Whether this system can connect to the other system.
        public static let peer = Code(rawValue: "peer")
        /// Whether the other system can connect to this one.
        public static let peerConnectsBack = Code(rawValue: "peer-connects-back")
        /// Whether each of the two systems sees the other's advertisement.
        public static let peerMulticast = Code(rawValue: "peer-multicast")
        /// Whether the clocks of this system and of the other system agree.
        public static let peerClock = Code(rawValue: "peer-clock")
        /// Whether this system and the other system run the same version of the software.
        public static let peerVersion = Code(rawValue: "peer-version")

        /// Whether applications that are not signed hand activities over. Only `remotesystems doctor` reports it.
        public static let developerMode = Code(rawValue: "developer-mode")
        /// Whether notifications are shown, and what waits was kept. Only the command checks it.
        public static let notifications = Code(rawValue: "notifications")

        /// Every code that this version knows. `Docs/troubleshooting.md` has a line for each.
        public static let known: [Code] = [
            .clock, .account, .certificate, .interfaces, .multicast, .vpn, .firewall, .avahi, .avahiConfiguration,
            .avahiLimits, .discovery, .responders, .port, .systems, .otherAccounts, .otherVersions, .filters, .peer,
            .peerVersion, .peerClock, .peerConnectsBack, .peerMulticast,
            .developerMode, .notifications,
        ]
    }

    /// The severity of a finding.
    public enum Status: String, Sendable, Hashable, Codable {
        /// No problem was found.
        case ok
        /// The subject works now, but not completely, or not permanently.
        case warning
        /// The subject does not work.
        case problem
        /// The subject could not be checked.
        case unknown
    }

    /// The subject of the finding.
    public var code: Code
    /// The severity of the finding.
    public var status: Status
    /// The description of what was found, in a sentence.
    public var what: String
    /// The reason why the finding matters, in a sentence.
    public var why: String
    /// The advice for a person, in a sentence; `nil` when there is nothing to do.
    public var advice: String?

    /// Creates a finding of a diagnosis.
    ///
    /// - Parameters:
    ///   - code: the subject of the finding.
    ///   - status: the severity of the finding.
    ///   - what: what was found, in a sentence.
    ///   - why: why it matters, in a sentence.
    ///   - advice: what to do, in a sentence. Defaults to `nil`: there is nothing to do.
    public init(_ code: Code, _ status: Status, _ what: String, why: String, advice: String? = nil) {
        self.code = code
        self.status = status
        self.what = what
        self.why = why
        self.advice = advice
    }
}

extension DiagnosisFinding {
    /// Creates a finding from one that a discovery source reports.
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
