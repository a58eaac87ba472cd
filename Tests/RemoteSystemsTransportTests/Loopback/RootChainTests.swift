// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import NIOCore
import NIOSSL
import RemoteSystemsIdentity
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Real TLS handshakes of systems that know different parts of one account's chain of root keys.
@Suite struct RootChainTests {
    /// An account at three points of its life.
    private struct Rotated {
        let first: TestAccount
        let second: TestAccount
        let third: TestAccount

        init(retiring retirement: Date = Date().addingTimeInterval(3600)) throws {
            self.first = try TestAccount()
            self.second = try TestAccount(after: self.first, retiring: retirement)
            self.third = try TestAccount(after: self.second, retiring: retirement)
        }
    }

    @Test func `systems of an old and of a new root key trust each other, and the old one learns the chain`()
        async throws
    {
        let account = try Rotated()
        let kept = Mutex<[Int]>([])
        let security = try TransportSecurity(
            identity: account.first.system(),
            learned: { roots in
                kept.withLock { $0.append(roots.count) }
            }
        )
        try await LoopbackHost.with(account: account.first, security: security) { host in
            let caller = try TransportSecurity(identity: account.third.system())
            for _ in 0..<2 {
                let connection = try await host.connect(with: caller)
                #expect(try await connection.send(["a": 1], timeout: .seconds(20)).message == ["a": 1])
            }
            #expect(security.trust.own.roots == account.third.authority.roots)
            #expect(kept.withLock { $0 } == [3])
            // It presents the chain that it has learned, though its own certificate is of the first root.
            let other = try TransportSecurity(identity: account.first.system())
            _ = try await host.connect(with: other)
            #expect(other.trust.own.roots.count == 3)
        }
    }

    @Test func `a caller learns a new root key from its host`() async throws {
        let account = try Rotated()
        try await LoopbackHost.with(account: account.third) { host in
            let caller = try TransportSecurity(identity: account.first.system())
            _ = try await host.connect(with: caller)
            #expect(caller.trust.own.roots == account.third.authority.roots)
        }
    }

    @Test func `a forged chain, one of another account and a conflicting one are refused`() async throws {
        let account = try Rotated()
        let rival = try TestAccount(after: account.first, retiring: Date().addingTimeInterval(3600))
        let other = try Rotated()
        try await LoopbackHost.with(account: account.third) { host in
            let stranger = try TestAccount().system()
            let identity = try account.third.system()
            let links = account.third.authority.roots.successions
            let cases: [(links: [[UInt8]], code: FailureCode)] = [
                (Array(links.reversed()), .certificateInvalid),
                (other.third.authority.roots.successions, .certificateInvalid),
                ([stranger.certificate], .certificateInvalid),
                (Array(repeating: links[0], count: 40), .certificateInvalid),
                (rival.authority.roots.successions, .certificateInvalid),
            ]
            for (links, code) in cases {
                var tls = try TLSConfiguration.raw(as: identity)
                tls.certificateChain = try ([identity.certificate] + links).map {
                    .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
                }
                let peer = try await RawPeer.connect(port: host.listener.port, tls: tls)
                guard case .refuse(let status, let failure)? = try await peer.nextFrame() else {
                    Issue.record("It was not refused.")
                    continue
                }
                #expect(status == .notAuthorized && failure.code == code.rawValue)
            }
            #expect(try await host.isServing())
        }
    }

    @Test func `connections of a root key's systems end when the key proves to be retired`() async throws {
        let account = try Rotated(retiring: Date())
        try await LoopbackHost.with(account: account.first) { host in
            let old = try await host.connect(as: account.first.system())
            // A system of the new root connects, so that the host learns the new root.
            _ = try? await host.connect(as: account.third.system())
            #expect(await old.waitUntilClosed() == .unknown)
            let error = await #expect(throws: TransportError.self) {
                _ = try await host.connect(as: account.first.system())
            }
            #expect(error?.failureCode == FailureCode.certificateExpired.rawValue || error?.code == .peerNotTrusted)
        }
    }

    @Test(arguments: [true, false])
    func `connections of a root key's systems end when it is retired later`(isOpenBefore: Bool) async throws {
        // Certificates keep whole seconds.
        let retirement = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 3600).rounded())
        let account = try Rotated(retiring: retirement)
        try await LoopbackHost.with(account: account.first) { host in
            // Both cases: the host knows the newer keys when the connection opens, or learns them later.
            let before = isOpenBefore ? try await host.connect(as: account.first.system()) : nil
            let new = try await host.connect(as: account.third.system())
            let old = if let before { before } else { try await host.connect(as: account.first.system()) }
            for step: TimeInterval in [-365 * 86_400, -1] { host.security.closeExpired(at: retirement + step) }
            let response = try await old.send(["still": true], timeout: .seconds(20))
            #expect(response.message == ["still": true])
            host.security.closeExpired(at: retirement)
            #expect(await old.waitUntilClosed() == .unknown)
            #expect(try await new.send(["a": 1], timeout: .seconds(20)).message == ["a": 1])
        }
    }
}
