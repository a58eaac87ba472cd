// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// What a host logs about peers that attack it.
@Suite struct IncidentTests {
    private static func lines(_ host: LoopbackHost, about event: String) -> [String] {
        host.log.all.filter { $0.contains(event) }
    }

    @Test func `a flood of broken connections is logged three times, then counted`() async throws {
        try await LoopbackHost.with(summarizingIncidentsEvery: .seconds(3)) { host in
            let start = ContinuousClock.now
            let peer = try host.account.system()
            for _ in 0..<40 {
                let raw = try await host.openRaw(as: peer)
                raw.send([0, 0, 0, 0])
                try await raw.waitUntilClosed()
            }
            let summary = try await eventually("a summary") {
                Self.lines(host, about: "protocol-broken").first { $0.contains("count") }
            }
            #expect(summary.contains("further events"))
            let lines = Self.lines(host, about: "protocol-broken")
            #expect(lines.first?.contains("127.0.0.1") == true)
            #expect(lines.first?.contains("reason") == true)
            let single = lines.filter { !$0.contains("count") }
            // A slow machine needs several periods. One with few connections has no summary.
            let periods = Int((ContinuousClock.now - start) / .seconds(3)) + 2
            #expect(single.count <= 3 * periods)
        }
    }

    @Test func `a flood of refused certificates is logged three times`() async throws {
        try await LoopbackHost.with { host in
            let stranger = try TestAccount().system()
            for _ in 0..<20 {
                let raw = try await host.connectRaw(as: stranger)
                #expect(try await raw.refusal()?.status == .notAuthorized)
            }
            let lines = Self.lines(host, about: "certificate-refused")
            #expect(lines.count == 3)
            #expect(lines.allSatisfy { $0.contains("127.0.0.1") && $0.contains("account") })
        }
    }

    @Test func `connections that send nothing are counted`() async throws {
        try await LoopbackHost.with(limits: .patient { $0.helloTimeout = .milliseconds(50) }) { host in
            for _ in 0..<8 {
                let raw = try await RawPeer.connect(port: host.listener.port, tls: nil)
                try await raw.waitUntilClosed()
            }
            #expect(Self.lines(host, about: "handshake-failed").count == 3)
        }
    }
}
