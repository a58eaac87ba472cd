// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Findings from another system's report, without that system.
@Suite struct PeerFindingsTests {
    static func open(_ change: (inout PeerFacts) -> Void = { _ in }) -> PeerFacts {
        var facts = PeerFacts(name: "beta", way: .open)
        facts.address = "10.0.0.5"
        facts.isNeighbour = true
        facts.version = .current
        facts.software = SoftwareVersion.current
        facts.clockAhead = 0
        facts.port = 47_474
        facts.connectsBack = .reached
        facts.weSeeIt = true
        facts.itSeesUs = true
        change(&facts)
        return facts
    }

    static func finding(_ code: DiagnosisFinding.Code, _ facts: PeerFacts) -> DiagnosisFinding? {
        PeerFindings(facts: facts).all.first { $0.code == code }
    }

    @Test func `two systems that see and reach each other have no problems`() {
        let findings = PeerFindings(facts: Self.open()).all
        #expect(findings.map(\.code) == [.peer, .peerVersion, .peerClock, .peerConnectsBack, .peerMulticast])
        #expect(findings.allSatisfy { $0.status == .ok && $0.advice == nil })
    }

    @Test(
        arguments: [
            (true, true, true, DiagnosisFinding.Status.ok, "Each system"),
            (false, false, true, .problem, "client (access point) isolation"),
            (false, false, false, .problem, "mDNS reflector"),
            (true, false, true, .problem, "firewall of beta"),
            (false, true, true, .problem, "this machine's firewall"),
            (nil, true, true, .warning, "without discovery"),
            (nil, false, true, .problem, "isolation"),
        ] as [(Bool?, Bool, Bool, DiagnosisFinding.Status, String)]
    )
    func `which side sees the other shows where multicast is lost`(
        weSeeIt: Bool?,
        itSeesUs: Bool,
        isNeighbour: Bool,
        status: DiagnosisFinding.Status,
        text: String
    ) throws {
        let finding = try #require(
            Self.finding(
                .peerMulticast,
                Self.open {
                    $0.weSeeIt = weSeeIt
                    $0.itSeesUs = itSeesUs
                    $0.isNeighbour = isNeighbour
                }
            )
        )
        #expect(finding.status == status)
        #expect("\(finding.what) \(finding.advice ?? "")".contains(text))
    }

    @Test(arguments: [
        (BackConnection.reached, DiagnosisFinding.Status.ok, "47474"), (.refused, .problem, "rejects"),
        (.silent, .problem, "drops"), (.unreachable, .problem, "route back"), (.other, .problem, "NAT"),
    ])
    func `the way back is reported by the outcome of the connection`(
        outcome: BackConnection,
        status: DiagnosisFinding.Status,
        text: String
    ) throws {
        let finding = try #require(Self.finding(.peerConnectsBack, Self.open { $0.connectsBack = outcome }))
        #expect(finding.status == status)
        #expect("\(finding.what) \(finding.advice ?? "")".contains(text))
    }

    @Test(arguments: [
        (0.0, 0.1, DiagnosisFinding.Status.ok), (29, 0.1, .ok), (-31, 0.1, .warning), (3600, 0.1, .warning),
        (31, 5, .ok),
    ])
    func `a difference between the clocks is a warning`(ahead: Double, probe: Double, status: DiagnosisFinding.Status) {
        let finding = Self.finding(
            .peerClock,
            Self.open {
                $0.clockAhead = ahead
                $0.clockDoubt = probe
            }
        )
        #expect(finding?.status == status)
        if ahead < -30 { #expect(finding?.what.contains("31 seconds behind") == true) }
        if ahead > 3000 { #expect(finding?.what.contains("60 minutes ahead") == true) }
    }

    @Test func `different versions are reported`() {
        let newer = Self.finding(.peerVersion, Self.open { $0.version = ProtocolVersion(major: 1, minor: 9) })
        #expect(newer?.status == .warning && newer?.what.contains("1.9") == true)
        let older = PeerFindings(facts: PeerFacts(name: "beta", way: .cannotHelp)).all
        #expect(older.map(\.code) == [.peer, .peerVersion])
        #expect(older.map(\.status) == [.ok, .warning])
        let error = TransportError(.incompatibleVersion, "Nothing in common.", side: .remote)
        let apart = PeerFindings(facts: PeerFacts(name: "beta", way: .failed(error))).all
        #expect(apart.map(\.status) == [.problem, .problem])
    }

    @Test(arguments: [(true, "isolation"), (false, "route")])
    func `an unreachable address is reported by its network`(isNeighbour: Bool, text: String) {
        let error = TransportError(.unreachable, "No connection.", side: .network)
        var facts = PeerFacts(name: "10.0.0.5:47474", way: .failed(error))
        facts.isNeighbour = isNeighbour
        let findings = PeerFindings(facts: facts).all
        #expect(findings.map(\.code) == [.peer])
        #expect(findings.first?.status == .problem)
        #expect(findings.first?.advice?.contains(text) == true)
    }

    @Test func `a system of a linked account is not to be invited`() {
        let error = TransportError(.peerNotTrusted, "Linked.", side: .remote, cause: TrustError.linkedAccount)
        let findings = PeerFindings(facts: PeerFacts(name: "beta", way: .failed(error))).all
        #expect(findings.map(\.status) == [.problem])
        #expect(findings.first?.advice?.contains("invite") == false)
    }

    @Test(
        arguments: [
            (.certificateExpired, nil), (.linkWithdrawn, "pair --link"), (.revoked, "invite"),
        ] as [(FailureCode, String?)]
    )
    func `advice for a system that is not trusted does not contradict the reason`(code: FailureCode, advice: String?) {
        let error = TransportError(.peerNotTrusted, "No.", side: .remote, failureCode: code.rawValue)
        let finding = PeerFindings(facts: PeerFacts(name: "beta", way: .failed(error))).all.first
        #expect(finding?.status == .problem)
        if let advice {
            #expect(finding?.advice?.contains(advice) == true)
        } else {
            #expect(finding?.advice == nil)
        }
    }

    @Test func `without an account no system is contacted`() {
        let findings = PeerFindings(facts: PeerFacts(name: "beta", way: .noAccount)).all
        #expect(findings.map(\.status) == [.problem])
        #expect(findings.first?.advice?.contains("account join") == true)
    }
}
