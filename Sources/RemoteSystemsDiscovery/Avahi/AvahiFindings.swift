// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Findings about the Avahi in use.
package struct AvahiFindings: Sendable {
    var selection: AvahiDiscovery.Selection
    /// What the daemon's configuration says, where it can be read.
    var settings: AvahiDaemonSettings?
    /// The interfaces that may be used, are up and have addresses.
    var interfaces: [InterfaceFacts]
    /// How many instances of our service type are announced here.
    var advertisements: Int

    package static let useCode = "avahi"
    package static let configurationCode = "avahi-configuration"
    package static let limitsCode = "avahi-limits"

    package init(
        selection: AvahiDiscovery.Selection,
        settings: AvahiDaemonSettings?,
        interfaces: [InterfaceFacts],
        advertisements: Int
    ) {
        self.selection = selection
        self.settings = settings
        self.interfaces = interfaces
        self.advertisements = advertisements
    }

    package var all: [DiscoveryFinding] {
        [self.use] + self.configuration + [self.limits]
    }

    private var use: DiscoveryFinding {
        let version = self.selection.version.map { " (\($0))" } ?? ""
        return DiscoveryFinding(
            Self.useCode,
            .ok,
            "In use: \(self.selection.backend.rawValue)\(version), because \(self.selection.reason).",
            why: "It speaks mDNS for this machine."
        )
    }

    private var isDaemon: Bool { self.selection.backend == .daemon }

    /// What the daemon was told not to do; nothing where there is nothing to say.
    private var configuration: [DiscoveryFinding] {
        guard self.isDaemon, let settings = self.settings else { return [] }
        var findings: [DiscoveryFinding] = []
        func add(_ status: DiscoveryFinding.Status, _ what: String, _ why: String, _ change: String) {
            findings.append(
                DiscoveryFinding(
                    Self.configurationCode,
                    status,
                    "\(what) (\(AvahiDaemonSettings.path)).",
                    why: why,
                    advice: "\(change), then 'systemctl restart avahi-daemon'."
                )
            )
        }
        let hides = "Nobody can find this machine."
        if !settings.publishes {
            add(.problem, "avahi-daemon publishes nothing: disable-publishing=yes", hides, "Set disable-publishing=no")
        } else if !settings.publishesForUsers {
            add(
                .problem,
                "avahi-daemon publishes nothing for programs: disable-user-service-publishing=yes",
                hides,
                "Set disable-user-service-publishing=no"
            )
        }
        if !settings.usesIPv4, !settings.usesIPv6 {
            add(.problem, "avahi-daemon uses neither IPv4 nor IPv6", "Nothing is found.", "Set use-ipv4=yes")
        }
        let network = self.interfaces.filter { !$0.isLoopback }
        let left = network.filter { !settings.uses($0.name) }.map(\.name)
        if !left.isEmpty {
            let names = left.joined(separator: ", ")
            add(
                left.count == network.count ? .problem : .warning,
                "avahi-daemon does not use \(names): allow-interfaces or deny-interfaces leaves \(left.count == 1 ? "it" : "them") out",
                "Systems beyond are not found and do not find this one.",
                "Take it out of deny-interfaces, and into allow-interfaces if that is set"
            )
        }
        if findings.isEmpty {
            findings.append(
                DiscoveryFinding(
                    Self.configurationCode,
                    .ok,
                    "\(AvahiDaemonSettings.path) keeps avahi-daemon from nothing that is needed.",
                    why: "It can forbid to publish, or leave out interfaces."
                )
            )
        }
        return findings
    }

    /// Each instance takes three records of what a host remembers for an interface and protocol: a pointer, a service and its text.
    private static let recordsPerInstance = 3

    private var limits: DiscoveryFinding {
        let why = "Beyond what Avahi remembers systems are left out without any error."
        let settings = self.settings ?? AvahiDaemonSettings()
        let entries = self.isDaemon ? settings.cacheEntries : AvahiDaemonSettings().cacheEntries
        let most = entries / Self.recordsPerInstance
        if self.isDaemon,
            let many = self.interfaces.first(where: {
                $0.addresses.count + Self.recordsPerInstance + 1 > settings.entriesPerGroup
            })
        {
            return DiscoveryFinding(
                Self.limitsCode,
                .warning,
                "The interface \(many.name) has \(many.addresses.count) addresses, near what avahi-daemon takes for one "
                    + "announcement (\(settings.entriesPerGroup) records).",
                why: "An announcement with more is refused, and nobody can find this machine.",
                advice:
                    "Raise entries-per-entry-group-max in \(AvahiDaemonSettings.path), or name the interfaces to use."
            )
        }
        let seen = "\(self.advertisements) announcement\(self.advertisements == 1 ? "" : "s")"
        let what = "\(seen) of about \(most) that Avahi remembers for each interface."
        guard self.advertisements * 5 > most * 4 else { return DiscoveryFinding(Self.limitsCode, .ok, what, why: why) }
        return DiscoveryFinding(
            Self.limitsCode,
            .warning,
            what,
            why: why,
            advice: self.isDaemon
                ? "Raise cache-entries-max in \(AvahiDaemonSettings.path) (20000 is enough for 6 000), then 'systemctl "
                    + "restart avahi-daemon'."
                : "Run avahi-daemon with cache-entries-max=20000 in \(AvahiDaemonSettings.path): the embedded stack keeps the "
                    + "default."
        )
    }
}
