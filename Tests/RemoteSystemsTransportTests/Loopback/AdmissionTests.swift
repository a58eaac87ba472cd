// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// The limits of connections over TLS, from loopback addresses other than 127.0.0.1, which is exempt. The clock of the
/// limits stands still, except under a flood.
@Suite struct AdmissionTests {
    private static let address = "127.0.0.2"

    @Test func `connections that break in the TLS handshake count, and the next one is closed before its own`()
        async throws
    {
        try await LoopbackHost.with(time: TimeSource(manual: ManualClock())) { host in
            var tls = try TLSConfiguration.raw(as: host.account.system())
            tls.minimumTLSVersion = .tlsv12
            tls.maximumTLSVersion = .tlsv12
            // One more, because the client may see the end before the host has counted it.
            for _ in 0...Int(AdmissionGate.failures) {
                let peer = try await RawPeer.connect(port: host.listener.port, tls: tls, from: Self.address)
                try await peer.waitUntilClosed()
            }
            // Without a limit, the host would wait for its first bytes.
            let peer = try await RawPeer.connect(port: host.listener.port, tls: nil, from: Self.address)
            try await peer.waitUntilClosed()
            let refused = host.log.all.filter { $0.contains("Too many of them have failed.") }
            #expect(refused.count == 1 || refused.count == 2)
            // Other addresses are not affected.
            let other = try await host.openRaw(from: "127.0.0.3")
            other.close()
            #expect(try await host.isServing())
        }
    }

    @Test func `connections that send nothing do not count, so others with their address still connect`() async throws {
        let limits = ConnectionLimits.patient { $0.helloTimeout = .milliseconds(500) }
        try await LoopbackHost.with(limits: limits, time: TimeSource(manual: ManualClock())) { host in
            var silent: [RawPeer] = []
            for _ in 0..<(2 * Int(AdmissionGate.failures)) {
                silent.append(try await RawPeer.connect(port: host.listener.port, tls: nil, from: Self.address))
            }
            for peer in silent { try await peer.waitUntilClosed() }
            // On a busy machine, a handshake may exceed the timeout, and is tried again.
            try await eventually("a connection from the same address") {
                guard let peer = try? await host.openRaw(from: Self.address) else { return false }
                peer.close()
                return true
            }
        }
    }

    @Test func `a system that opens connections and closes them properly is refused when it does so too often`()
        async throws
    {
        try await LoopbackHost.with(time: TimeSource(manual: ManualClock())) { host in
            let member = try host.account.system()
            for _ in 0..<Int(AdmissionGate.openings) {
                let peer = try await host.openRaw(as: member, from: Self.address)
                try peer.send(.close(.completed, nil))
                _ = try await peer.remainingFrames()
            }
            let peer = try await host.connectRaw(as: member, from: Self.address)
            try peer.send(.hello(.test))
            let refusal = try await peer.refusal()
            #expect(refusal?.status == .remoteSystemUnavailable)
            #expect(refusal?.failure.canRetry == true)
            #expect(host.hellos.value == Int(AdmissionGate.openings))
            // Another system at the same address is not affected.
            let other = try await host.openRaw(from: Self.address)
            other.close()
        }
    }

    /// The address of a stranger.
    private static func stranger(_ number: Int) -> String { "127.1.\(number / 200 % 200).\(number % 200 + 1)" }

    /// Opens silent connections, each from an address of its own, until it is cancelled.
    ///
    /// - Parameter lost: counts those that the host has closed.
    private static func flood(_ port: Int, lost: Counter) -> Task<Void, Never> {
        Task {
            var peers: [RawPeer] = []
            var number = 0
            while !Task.isCancelled {
                number += 1
                let address = Self.stranger(number)
                if let peer = try? await RawPeer.connect(port: port, tls: nil, from: address) { peers.append(peer) }
                let count = peers.count
                peers.removeAll { $0.isClosed }
                for _ in peers.count..<count { lost.increase() }
                // The rate of the attack, not a wait for something.
                try? await Task.sleep(for: .milliseconds(2))
            }
            for peer in peers { peer.close() }
        }
    }

    @Test func `systems connect while silent connections from many addresses keep arriving, and open ones continue`()
        async throws
    {
        // Nothing but the limit of places closes a silent connection during the test.
        try await LoopbackHost.with(limits: .patient { $0.helloTimeout = .minutes(10) }) { host in
            let open = try await host.connect()
            let lost = Counter()
            let attack = Self.flood(host.listener.port, lost: lost)
            defer { attack.cancel() }
            // A connection is replaced only when all places are taken.
            try await eventually("a replaced connection") {
                host.log.all.contains { $0.contains("another one has got its place") }
            }
            // A busy machine may need more than its guaranteed time, and tries again. Each address is new to the host.
            let attempts = Counter()
            for _ in 1...10 {
                try await eventually("a connection while the attack goes on at the limit") {
                    let before = lost.value
                    attempts.increase()
                    let address = "127.2.\(attempts.value / 200 % 200).\(attempts.value % 200 + 1)"
                    guard let peer = try? await host.openRaw(from: address) else { return false }
                    peer.close()
                    return lost.value > before
                }
            }
            #expect(try await open.send(["a": 1], timeout: .seconds(20)).message == ["a": 1])
            await open.close()
            attack.cancel()
            await attack.value
        }
    }

    @Test func `a system that has connected before connects while strangers with many addresses hold all other places`()
        async throws
    {
        // The clock stands still, so that the strangers' guaranteed times never end: as if they came at any rate.
        let limits = ConnectionLimits.patient { $0.helloTimeout = .minutes(10) }
        try await LoopbackHost.with(limits: limits, time: TimeSource(manual: ManualClock())) { host in
            let before = try await host.openRaw(from: Self.address)
            before.close()
            var strangers: [RawPeer] = []
            for number in 0..<(UnauthenticatedSlots.maxConnections + 8) {
                let peer = try await RawPeer.connect(
                    port: host.listener.port,
                    tls: nil,
                    from: Self.stranger(number)
                )
                // The first byte of TLS.
                peer.send([0x16])
                strangers.append(peer)
            }
            try await eventually("the end of those without a place") { strangers.count { $0.isClosed } == 8 }
            let unknown = try await RawPeer.connect(port: host.listener.port, tls: nil, from: "127.0.0.3")
            try await unknown.waitUntilClosed()
            for _ in 1...10 {
                let peer = try await host.openRaw(from: Self.address)
                peer.close()
            }
            #expect(strangers.count { $0.isClosed } == 8)
            for peer in strangers { peer.close() }
        }
    }

    @Test func `streams that break do not count, because this host has offered each of them`() async throws {
        try await LoopbackHost.with(time: TimeSource(manual: ManualClock())) { host in
            let member = try host.account.system()
            for _ in 0...Int(AdmissionGate.failures) {
                let (peer, stream) = try await host.openRawStream(as: member, from: Self.address)
                peer.close()
                let error = await streamError { _ = try await stream.read() }
                #expect(error?.code == .truncated)
            }
            let peer = try await host.openRaw(as: member, from: Self.address)
            peer.close()
        }
    }
}
