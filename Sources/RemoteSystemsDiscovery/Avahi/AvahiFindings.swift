// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Findings about the Avahi in use.
package struct AvahiFindings: Sendable {
    var selection: AvahiDiscovery.Selection
    /// The daemon's configuration, if it can be read.
    var settings: AvahiDaemonSettings?
    /// The interfaces that may be used, are up and have addresses.
    var interfaces: [InterfaceFacts]
    /// The number of instances of our service type that are advertised here.
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
            why: "It is the mDNS stack that finds and advertises systems."
        )
    }

    private var isDaemon: Bool { self.selection.backend == .daemon }

    /// The findings about settings of the daemon that restrict discovery. Empty for the embedded stack, or if the
    /// configuration cannot be read.
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
        let hides = "Other systems cannot find this machine."
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
                "avahi-daemon does not use \(names): allow-interfaces or deny-interfaces excludes "
                    + "\(left.count == 1 ? "it" : "them")",
                "Systems on these networks are not found and do not find this one.",
                "Remove it from deny-interfaces, and add it to allow-interfaces if that is set"
            )
        }
        if findings.isEmpty {
            findings.append(
                DiscoveryFinding(
                    Self.configurationCode,
                    .ok,
                    "\(AvahiDaemonSettings.path) restricts nothing that is needed.",
                    why: "It can disable publishing, or exclude interfaces."
                )
            )
        }
        return findings
    }

    private var limits: DiscoveryFinding {
        let why = "When Avahi's cache is full, further systems are missing without any error."
        let settings = self.settings ?? AvahiDaemonSettings()
        let entries = self.isDaemon ? settings.cacheEntries : EmbeddedConnection.cachedRecords
        let most = entries / ServiceType.recordsPerService
        if self.isDaemon,
            let many = self.interfaces.first(where: {
                $0.addresses.count + ServiceType.recordsPerService > settings.entriesPerGroup
            })
        {
            return DiscoveryFinding(
                Self.limitsCode,
                .warning,
                "The interface \(many.name) has \(many.addresses.count) addresses, near avahi-daemon's limit for one "
                    + "advertisement (\(settings.entriesPerGroup) records).",
                why: "An advertisement with more is refused, and other systems cannot find this machine.",
                advice: "Raise entries-per-entry-group-max in \(AvahiDaemonSettings.path), "
                    + "or select the interfaces to use."
            )
        }
        let seen = "\(self.advertisements) advertisement\(self.advertisements == 1 ? "" : "s")"
        let what = "\(seen) of about \(most) that Avahi's cache holds for each interface."
        // The embedded stack's cache holds more advertisements than a browse reports.
        guard self.isDaemon, self.advertisements * 5 > most * 4 else {
            return DiscoveryFinding(Self.limitsCode, .ok, what, why: why)
        }
        return DiscoveryFinding(
            Self.limitsCode,
            .warning,
            what,
            why: why,
            advice: "Raise cache-entries-max in \(AvahiDaemonSettings.path) (20000 is enough for 5 000), then "
                + "'systemctl restart avahi-daemon'."
        )
    }
}
