// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsDiscovery
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

@Suite struct NetworkFindingsTests {
    private static func interface(_ name: String, multicast: Bool = true, addresses: [String] = ["192.0.2.1"])
        -> InterfaceFacts
    {
        InterfaceFacts(name: name, isLoopback: name == "lo", canMulticast: multicast, addresses: addresses)
    }

    @Test(arguments: [
        ([interface("lo"), interface("eth0")], RemoteSystemsConfiguration.Network.all, DiagnosisFinding.Status.ok),
        ([interface("lo")], .all, .warning),
        ([interface("lo")], .loopback, .ok),
        ([interface("lo"), interface("eth0")], .interfaces(["eth0"]), .ok),
        ([interface("lo"), interface("eth0")], .interfaces(["eth0", "eth1"]), .problem),
        ([interface("eth0", addresses: [])], .interfaces(["eth0"]), .problem),
        ([], .all, .problem),
    ])
    func `interfaces are rated by those that may be used`(
        interfaces: [InterfaceFacts],
        network: RemoteSystemsConfiguration.Network,
        status: DiagnosisFinding.Status
    ) {
        let finding = NetworkFindings.interfaces(interfaces, network)
        #expect(finding.status == status)
        #expect((finding.advice == nil) == (status == .ok))
    }

    @Test(arguments: [
        ([interface("eth0")], DiagnosisFinding.Status.ok),
        ([interface("eth0"), interface("tun0", multicast: false)], .warning),
        ([interface("tun0", multicast: false)], .problem),
    ])
    func `at least one interface must support multicast`(
        interfaces: [InterfaceFacts],
        status: DiagnosisFinding.Status
    ) throws {
        let finding = try #require(NetworkFindings.multicast(interfaces, .all))
        #expect(finding.status == status)
    }

    @Test(arguments: [
        (DiscoveryProblem.Code.announcementFlood, DiagnosisFinding.Status.warning), (.cacheLimit, .warning),
        (.tooManyHints, .warning), (.nameCollision, .warning), (.stackUnavailable, .problem), (.browseFailed, .problem),
    ])
    func `a flood of announcements is a warning with advice, a discovery that does not work is a problem`(
        code: DiscoveryProblem.Code,
        status: DiagnosisFinding.Status
    ) throws {
        let trouble = DiscoveryProblem(code: code, message: "It was noticed.", advice: "Act.", recoversByItself: true)
        let findings = NetworkFindings.discovery([trouble])
        #expect(findings.map(\.code) == [.discovery])
        #expect(findings.map(\.status) == [status])
        #expect(findings.first?.what == "It was noticed. (\(code))")
        #expect(findings.first?.advice == "Act.")
        #expect(NetworkFindings.discovery([]).map(\.status) == [.ok])
    }

    @Test func `a diagnosis observes a crowd of advertisements longer, so that it notices a flood`() {
        func hint(_ number: Int) -> DiscoveryHint {
            DiscoveryHint(id: "\(number)", instance: "\(number)", endpoints: [], properties: [:])
        }
        var few = RemoteSystemsDiagnosis.Seen()
        _ = few.note(.appeared(hint(1)))
        let isDone = few.note(.settled)
        #expect(isDone)
        var crowd = RemoteSystemsDiagnosis.Seen()
        for number in 0..<RemoteSystemsDiagnosis.Seen.crowd {
            _ = crowd.note(.appeared(hint(number)))
            _ = crowd.note(.vanished("\(number)"))
        }
        let isCrowdDone = crowd.note(.settled)
        #expect(!isCrowdDone)
        _ = crowd.note(
            .trouble(DiscoveryProblem(code: .announcementFlood, message: "", advice: "", recoversByItself: true))
        )
        #expect(crowd.troubles.map(\.code) == [.announcementFlood])
        _ = crowd.note(.recovered(.announcementFlood))
        #expect(crowd.troubles.isEmpty)
    }

    @Test func `several programs that use mDNS are reported, one is no warning`() {
        #expect(NetworkFindings.responders(MulticastSockets(owners: ["avahi-daemon"])).status == .ok)
        let two = NetworkFindings.responders(MulticastSockets(owners: ["avahi-daemon", "systemd-resolve"]))
        #expect(two.status == .warning)
        #expect(two.what.contains("avahi-daemon") && two.what.contains("systemd-resolve"))
    }

    @Test func `sockets at port 5353 are read from the kernel's table`() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  \
              timeout inode ref pointer drops
             1036: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000   107        0 14526 2 0000 0
             2000: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 14527 2 0000 0
             garbage
            """
        #expect(MulticastSockets.sockets(in: table) == [MulticastSockets.Socket(user: 107, inode: 14526)])
    }

    @Test func `an unavailable port is reported with the reason`() {
        #expect(NetworkFindings.port(1, nil).status == .ok)
        let own = NetworkFindings.port(1, nil, holder: "remote-systems.host")
        #expect(own.status == .ok && own.what == "remote-systems.host of this system listens on port 1.")
        let finding = NetworkFindings.port(1, "Cannot listen on port 1: another program uses it.")
        #expect(finding.status == .warning)
        #expect(finding.what.contains("another program"))
    }
}

@Suite struct IdentityFindingsTests {
    private static func facts(_ directory: String) throws -> (SystemIdentity, IdentityFacts) {
        let identity = try AccountStore(directory: directory).identity()
        return (identity, .usable(identity, directory: directory))
    }

    private static func status(_ code: DiagnosisFinding.Code, _ findings: IdentityFindings) -> DiagnosisFinding.Status?
    {
        findings.all.first { $0.code == code }?.status
    }

    @Test func `a certificate is rated by the clock`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "findings-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (identity, facts) = try Self.facts(directory)
        let day: TimeInterval = 86_400
        let table: [(Date, DiagnosisFinding.Status, DiagnosisFinding.Status)] = [
            (Date(), .ok, .ok),
            (identity.renewalDate.addingTimeInterval(day), .ok, .warning),
            (identity.certificateValidity.upperBound, .ok, .problem),
            (identity.certificateValidity.lowerBound.addingTimeInterval(-1), .problem, .problem),
            (Date(timeIntervalSince1970: 0), .problem, .problem),
        ]
        for (now, clock, certificate) in table {
            let findings = IdentityFindings(now: now, facts: facts)
            #expect(Self.status(.clock, findings) == clock, "\(now)")
            #expect(Self.status(.certificate, findings) == certificate, "\(now)")
        }
    }

    @Test func `a diagnosis creates no account`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "findings-\(UUID())").path
        var configuration = RemoteSystemsConfiguration(applicationID: "test", network: .loopback, discovery: [])
        configuration.stateDirectory = directory
        let findings = await RemoteSystemsDiagnosis(configuration).run()
        #expect(findings.first { $0.code == .account }?.status == .ok)
        #expect(!findings.contains { $0.code == .certificate })
        #expect(!FileManager.default.fileExists(atPath: directory))
    }

    /// A source of another package that reports findings about itself.
    private struct CarefulSource: DiscoverySource {
        var name: String { "careful" }

        func browse() -> DiscoveryEvents {
            let (events, feed) = DiscoveryEvents.makeStream()
            let endpoint = DiscoveryEndpoint(address: "192.0.2.1", port: 1)
            feed.yield(.appeared(DiscoveryHint(id: "a", instance: "a", endpoints: [endpoint])))
            feed.yield(.settled)
            return events
        }

        func advertise(_ advertisement: DiscoveryAdvertisement) async throws {}

        func diagnose(advertisements: Int) async -> [DiscoveryFinding] {
            [
                DiscoveryFinding("careful", .warning, "\(advertisements) seen.", why: "It fills.", advice: "Wait."),
                DiscoveryFinding("careful-limits", .problem, "Full.", why: "It is."),
            ]
        }
    }

    @Test func `the findings of a discovery source are included`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "findings-\(UUID())").path
        var configuration = RemoteSystemsConfiguration(applicationID: "test", network: .loopback)
        configuration.discovery.sources = [CarefulSource()]
        configuration.stateDirectory = directory
        let findings = await RemoteSystemsDiagnosis(configuration).run()
        let expected = [
            DiagnosisFinding(.init(rawValue: "careful"), .warning, "1 seen.", why: "It fills.", advice: "Wait."),
            DiagnosisFinding(.init(rawValue: "careful-limits"), .problem, "Full.", why: "It is."),
        ]
        #expect(findings.filter { $0.code.rawValue.hasPrefix("careful") } == expected)
    }

    @Test func `a damaged account is a problem with advice`() throws {
        let error = IdentityError(.damaged, "The file is damaged; bring it back.")
        let findings = IdentityFindings(now: Date(), facts: .unusable(error)).all
        let account = try #require(findings.first { $0.code == .account })
        #expect(account.status == .problem)
        #expect(account.advice == error.message)
    }

    @Test func `a damaged list of links is a problem with advice`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "findings-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var configuration = RemoteSystemsConfiguration(applicationID: "test", network: .loopback, discovery: [])
        configuration.stateDirectory = directory
        _ = try RemoteSystemsAccount(configuration).identity()
        let path = directory + "/account/links.pem"
        try Data("-----BEGIN".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let facts = IdentityFacts.read(ApplicationContext(configuration))
        let findings = IdentityFindings(now: Date(), facts: facts).all
        let account = try #require(findings.first { $0.code == .account })
        #expect(account.status == .problem && account.advice?.contains("links.pem") == true)
    }

    @Test(arguments: [true, false])
    func `a lost or restored revocation list is a problem with advice`(isDeleted: Bool) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "findings-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var configuration = RemoteSystemsConfiguration(applicationID: "test", network: .loopback, discovery: [])
        configuration.stateDirectory = directory
        let account = RemoteSystemsAccount(configuration)
        _ = try account.identity()
        func revoke(_ number: UInt8) throws {
            try account.revoke(try #require(SystemID(bytes: [UInt8](repeating: number, count: 32))))
        }
        func finding() -> DiagnosisFinding? {
            let facts = IdentityFacts.read(ApplicationContext(configuration))
            return IdentityFindings(now: Date(), facts: facts).all.first { $0.code == .account }
        }
        let path = directory + "/account/revoked-systems.pem"
        try revoke(1)
        let older = try Data(contentsOf: URL(filePath: path))
        try revoke(2)
        #expect(finding()?.status == .ok)
        if isDeleted {
            try FileManager.default.removeItem(atPath: path)
        } else {
            try older.write(to: URL(filePath: path))
        }
        let lost = try #require(finding())
        #expect(lost.status == .problem)
        #expect(lost.what.contains("revocation list") && lost.what.contains("revocationsLost"))
        #expect(lost.advice?.contains("--lost-list") == true)
    }
}
