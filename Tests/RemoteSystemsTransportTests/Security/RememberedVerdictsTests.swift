// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

/// For how long a verdict about a peer's certificates is used.
@Suite struct RememberedVerdictsTests {
    private let account: TestAccount
    private let now = Date()

    init() throws { self.account = try TestAccount() }

    private func remembered(
        _ peer: SystemIdentity,
        accepting accepted: Set<Standing.Kind> = [.sameAccount]
    ) throws -> (RememberedVerdicts, TrustStore.Presented) {
        let presented = TrustStore.Presented(peer.certificate)
        let trust = try account.system().trustStore()
        var verdicts = RememberedVerdicts()
        verdicts.remember(
            try trust.judge(presented, now: now, accepting: accepted),
            presenting: presented,
            now: now
        )
        return (verdicts, presented)
    }

    @Test func `a peer is remembered by its certificate until that expires`() throws {
        let peer = try account.system(validFrom: -3600, to: 3600)
        let (verdicts, presented) = try remembered(peer)
        func found(_ seconds: TimeInterval) -> SystemID? {
            verdicts.peer(presenting: presented, accepting: [.sameAccount], now: now + seconds)?.systemID
        }
        #expect(found(0) == peer.systemID)
        #expect(found(3590) == peer.systemID)
        #expect(found(3601) == nil)
        // A clock that was set back may be before the certificate's begin.
        #expect(found(-1) == nil)
    }

    @Test func `another certificate of the same peer is not remembered`() throws {
        let peer = try account.system()
        let (verdicts, presented) = try remembered(peer)
        var changed = presented
        changed.certificate[changed.certificate.count - 1] ^= 1
        #expect(verdicts.peer(presenting: changed, accepting: [.sameAccount], now: now) == nil)
        let linked = TrustStore.Presented(presented.certificate, successions: [presented.certificate])
        #expect(verdicts.peer(presenting: linked, accepting: [.sameAccount], now: now) == nil)
    }

    @Test func `a peer is not returned where its standing is not accepted`() throws {
        let (verdicts, presented) = try remembered(account.system())
        #expect(verdicts.peer(presenting: presented, accepting: [.anonymous], now: now) == nil)
    }

    @Test func `an anonymous peer is not remembered`() throws {
        let (verdicts, _) = try remembered(TestAccount().system(), accepting: [.sameAccount, .anonymous])
        #expect(verdicts.count == 0)
    }

    @Test func `all verdicts are forgotten when the trust changes`() throws {
        var (verdicts, presented) = try remembered(account.system())
        let version = verdicts.version
        verdicts.removeAll()
        #expect(verdicts.version != version)
        #expect(verdicts.peer(presenting: presented, accepting: [.sameAccount], now: now) == nil)
    }

    @Test func `the number of verdicts is limited`() throws {
        var (verdicts, presented) = try remembered(account.system())
        let verdict = try account.system().trustStore().judge(presented, now: now)
        for number in 0..<(2 * RememberedVerdicts.maxEntries) {
            let other = TrustStore.Presented(Array("\(number)".utf8))
            verdicts.remember(verdict, presenting: other, now: now)
            #expect(verdicts.count <= RememberedVerdicts.maxEntries)
        }
    }

    @Test func `a system that connected before is refused as soon as it is revoked`() throws {
        let own = try account.system()
        let peer = try account.system()
        let security = try TransportSecurity(identity: own)
        let presented = TrustStore.Presented(peer.certificate)
        #expect(try security.authenticate(presented).systemID == peer.systemID)
        try security.update(identity: own, revocations: account.revoking(peer))
        let error = #expect(throws: TrustError.self) { try security.authenticate(presented) }
        #expect(error?.code == .revoked)
    }
}
