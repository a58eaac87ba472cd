// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import Testing

/// The findings about avahi-daemon's configuration and limits.
@Suite struct AvahiFindingsTests {
    static let wired = InterfaceFacts(name: "eth0", isLoopback: false, canMulticast: true, addresses: ["192.0.2.1"])
    static let wireless = InterfaceFacts(name: "wlan0", isLoopback: false, canMulticast: true, addresses: ["192.0.2.2"])

    static func findings(
        _ text: String,
        backend: AvahiDiscovery.Selection.Backend = .daemon,
        interfaces: [InterfaceFacts] = [wired, wireless],
        advertisements: Int = 0
    ) -> [DiscoveryFinding] {
        AvahiFindings(
            selection: AvahiDiscovery.Selection(backend: backend, reason: "of a test", version: "avahi 0.8"),
            settings: AvahiDaemonSettings(text),
            interfaces: interfaces,
            advertisements: advertisements
        ).all
    }

    @Test(arguments: [
        ("", [DiscoveryFinding.Status.ok]),
        ("[server]\nuse-ipv4=yes\nuse-ipv6=no\n#disable-publishing=yes", [.ok]),
        ("[publish]\ndisable-publishing=yes", [.problem]),
        ("[publish]\n disable-user-service-publishing = yes \n", [.problem]),
        // The option has no effect in another section.
        ("[server]\ndisable-publishing=yes", [.ok]),
        ("[server]\nuse-ipv4=no\nuse-ipv6=no", [.problem]),
        ("[server]\nallow-interfaces=eth0, wlan0", [.ok]),
        ("[server]\nallow-interfaces=eth0", [.warning]),
        ("[server]\nallow-interfaces=eth1", [.problem]),
        ("[server]\ndeny-interfaces=eth0,wlan0", [.problem]),
        ("[server]\ndeny-interfaces=wlan0\n[publish]\ndisable-publishing=yes", [.problem, .warning]),
    ])
    func `every disabled feature of the daemon is a finding`(text: String, statuses: [DiscoveryFinding.Status]) {
        let findings = Self.findings(text).filter { $0.code == AvahiFindings.configurationCode }
        #expect(findings.map(\.status) == statuses)
        for finding in findings where finding.status != .ok {
            #expect(finding.what.contains("/etc/avahi/avahi-daemon.conf"))
            #expect(finding.advice?.contains("restart avahi-daemon") == true)
        }
        #expect(!Self.findings(text, backend: .embedded).contains { $0.code == AvahiFindings.configurationCode })
    }

    @Test(arguments: [
        ("", 100, DiscoveryFinding.Status.ok), ("", 819, .ok), ("", 820, .warning),
        ("[server]\ncache-entries-max=20000", 1300, .ok),
        ("[server]\ncache-entries-max=200", 60, .warning),
    ])
    func `limits are reported before systems are left out`(
        text: String,
        advertisements: Int,
        status: DiscoveryFinding.Status
    ) {
        let limits = Self.findings(text, advertisements: advertisements).first { $0.code == AvahiFindings.limitsCode }
        #expect(limits?.status == status)
    }

    @Test func `the embedded stack's cache holds every instance in a browse`() {
        let limits = Self.findings("", backend: .embedded, advertisements: DiscoveryLimits.hints)
            .first { $0.code == AvahiFindings.limitsCode }
        #expect(limits?.status == .ok)
        #expect(limits?.what.contains("about 5120 ") == true)
    }

    @Test func `an interface with more addresses than one advertisement takes is reported`() {
        let many = InterfaceFacts(
            name: "eth0",
            isLoopback: false,
            canMulticast: true,
            addresses: (1...30).map { "192.0.2.\($0)" }
        )
        let limits = Self.findings("", interfaces: [many]).first { $0.code == AvahiFindings.limitsCode }
        #expect(limits?.status == .warning)
        #expect(limits?.advice?.contains("entries-per-entry-group-max") == true)
    }

    @Test func `the daemon's version is reported`() {
        #expect(Self.findings("").first?.what.contains("avahi 0.8") == true)
    }
}
