// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// Pairings of systems of one account, which end before the digits.
@Suite struct PairingAccountTests {
    private let id = AccountID(of: P256.Signing.PrivateKey().publicKey)
    private let key = DiscoveryKey()
    private let keys = (1...4).map { _ in KeyFingerprint(of: P256.Signing.PrivateKey().publicKey) }

    private var account: PairingAccount { PairingAccount(self.id, self.key) }

    private static func intention(
        _ purpose: PairingIntention.Purpose = .ownAccount(admits: true, joins: true)
    ) throws -> PairingIntention {
        try PairingIntention(purpose, name: "machine")
    }

    /// The connecting side's answer. Its key is the first one, and it sees the second one.
    private func answer(
        _ account: PairingAccount?,
        _ purpose: PairingIntention.Purpose = .ownAccount(admits: true, joins: true)
    ) throws -> PairingMessage {
        var connecting = Pairing(
            .connecting,
            try Self.intention(purpose),
            account: account,
            ownKey: self.keys[0],
            peerKey: self.keys[1]
        )
        let commitment = PairingMessage.commitment([UInt8](repeating: 0, count: 32))
        guard case .send(let answer)? = try connecting.receive(commitment, at: .now).first else {
            throw PairingStop.broken
        }
        return answer
    }

    /// What the waiting side does with an answer: `nil` if it shows digits.
    ///
    /// - Parameters:
    ///   - own: The index of its key.
    ///   - peer: The index of the key that it sees.
    private func stop(
        of account: PairingAccount?,
        at answer: PairingMessage,
        own: Int = 1,
        peer: Int = 0
    ) throws -> PairingStop? {
        var waiting = Pairing(
            .waiting,
            try Self.intention(),
            account: account,
            ownKey: self.keys[own],
            peerKey: self.keys[peer]
        )
        _ = try waiting.start()
        let actions: [Pairing.Action]
        do throws(PairingStop) {
            actions = try waiting.receive(answer, at: .now)
        } catch {
            return error
        }
        #expect(actions.count == 2)
        return nil
    }

    @Test func `a proof of one account ends the attempt before the digits, and nothing else is taken for one`() throws {
        let answer = try self.answer(self.account)
        let stop = try #require(try self.stop(of: self.account, at: answer))
        #expect(stop.reason == .sameAccount(self.id) && stop.refusal == .sameAccount && !stop.isFailedComparison)
        #expect(stop.error.code == .accountInUse && stop.error.message.contains("account \(self.id.short) already"))

        #expect(try self.stop(of: nil, at: answer) == nil)
        #expect(try self.stop(of: PairingAccount(self.id, DiscoveryKey()), at: answer) == nil)
        let unproven = try self.answer(nil)
        #expect(try self.stop(of: self.account, at: unproven) == nil)
        // Of an earlier version.
        let early = PairingMessage.answer(nonce: JoinLimit.randomNonce(), intention: try Self.intention().bytes)
        #expect(try self.stop(of: self.account, at: early) == nil)
        // Passed on by a machine in the middle, which has keys of its own towards each side.
        #expect(try self.stop(of: self.account, at: answer, own: 2, peer: 3) == nil)
        #expect(try self.stop(of: self.account, at: answer, own: 1, peer: 3) == nil)
        #expect(try self.stop(of: self.account, at: answer, own: 2, peer: 0) == nil)
    }

    @Test func `two machines of one account learn that, whatever they want of each other`() throws {
        for purpose in [PairingIntention.Purpose.link, .ownAccount(admits: false, joins: true)] {
            let answer = try self.answer(self.account, purpose)
            #expect(try self.stop(of: self.account, at: answer)?.reason == .sameAccount(self.id))
        }
    }

    @Test func `a proof has other bytes in each attempt`() {
        let proofs = [(0, 1), (1, 0), (2, 1), (0, 2)].map { connecting, waiting in
            self.account.proof(connecting: self.keys[connecting], waiting: self.keys[waiting])
        }
        #expect(Set(proofs).count == 4 && proofs.allSatisfy { $0.count == 32 })
    }

    @Test func `a stranger cannot see whether an answer has a proof`() throws {
        let accounts: [PairingAccount?] = [self.account, nil, nil]
        let proofs = try accounts.map { account -> [UInt8]? in
            guard case .answer(_, _, let proof) = try self.answer(account) else { return nil }
            return proof
        }
        #expect(Set(proofs).count == 3 && proofs.allSatisfy { $0?.count == 32 })
    }

    @Test func `what the other machine reports is not stated as a fact`() {
        let stop = PairingStop.refused(.sameAccount)
        #expect(stop.error.code == .accountInUse && stop.error.message.hasPrefix("The other machine reports that"))
        #expect(!stop.isFailedComparison && stop.isCausedByPeer && stop.refusal == nil)
    }

    @Test func `a system that may join its account again gives no proof`() throws {
        let (temporary, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        #expect(try other.store.pairingAccount(now: noon) == nil)
        let founder = try temporary.store.identity(now: noon)
        #expect(try temporary.store.pairingAccount(now: noon)?.id == founder.accountID)
        let member = try SystemIdentity.member(of: temporary.store.authority(), founder.discoveryKey)
        _ = try other.store.adopt(member, now: noon)
        #expect(try other.store.pairingAccount(now: noon)?.id == founder.accountID)
        let later = noon.addingTimeInterval(365 * day)
        #expect(try other.store.pairingAccount(now: later) == nil)
        #expect(try temporary.store.pairingAccount(now: later) != nil)
    }
}
