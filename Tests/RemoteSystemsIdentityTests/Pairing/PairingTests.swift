// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import RemoteSystemsIdentity

/// The state machine of pairing: two sides in memory, and attackers between them.
@Suite struct PairingTests {
    private static let start = ContinuousClock.now

    private static func key(_ number: UInt8) -> KeyFingerprint {
        KeyFingerprint(bytes: [UInt8](repeating: number, count: 32))
            ?? KeyFingerprint(of: P256.Signing.PrivateKey().publicKey)
    }

    private static let own = PairingIntention.Purpose.ownAccount(admits: true, joins: true)

    /// One side with what its driver would do.
    private struct Side {
        var pairing: Pairing
        var sent: [PairingMessage] = []
        var comparison: PairingComparison?
        var plan: PairingPlan?
        var binding: [UInt8]?
        /// What the driver had to do, in order.
        var performed: [String] = []

        init(
            _ role: Pairing.Role,
            _ purpose: PairingIntention.Purpose = PairingTests.own,
            key: UInt8,
            peer: UInt8,
            name: String = "machine",
            nonce: [UInt8]? = nil
        ) throws {
            self.pairing = Pairing(
                role,
                try PairingIntention(purpose, name: name),
                ownKey: PairingTests.key(key),
                peerKey: PairingTests.key(peer),
                nonce: nonce
            )
        }

        mutating func perform(_ actions: [Pairing.Action]) {
            for action in actions {
                switch action {
                case .send(let message):
                    self.sent.append(message)
                    self.performed.append("\(message)")
                case .compare(let comparison):
                    self.comparison = comparison
                    self.performed.append("compare")
                case .carryOut(let plan, let binding): (self.plan, self.binding) = (plan, binding)
                }
            }
        }

        mutating func start() throws { self.perform(try self.pairing.start()) }
        mutating func receive(_ message: PairingMessage, after time: Duration = .zero) throws {
            self.perform(try self.pairing.receive(message, at: PairingTests.start + time))
        }
        mutating func answer(_ isSame: Bool, after time: Duration = .zero) throws {
            self.perform(try self.pairing.answer(isSame, at: PairingTests.start + time))
        }
        var last: PairingMessage { get throws { try #require(self.sent.last) } }
    }

    /// Two sides that show their digits.
    private static func compared(
        connecting: PairingIntention.Purpose = own,
        waiting: PairingIntention.Purpose = own
    ) throws -> (Side, Side) {
        var first = try Side(.connecting, connecting, key: 1, peer: 2, name: "first")
        var second = try Side(.waiting, waiting, key: 2, peer: 1, name: "second")
        try second.start()
        try first.receive(second.last)
        try second.receive(first.last)
        try first.receive(second.last)
        return (first, second)
    }

    private static func stop(_ body: () throws -> Void) -> PairingStop? {
        do {
            try body()
            return nil
        } catch {
            return error as? PairingStop
        }
    }

    @Test func `both sides show the same six digits and each other's names`() throws {
        let (first, second) = try Self.compared()
        let digits = try #require(first.comparison?.digits)
        #expect(digits.count == 6 && digits.allSatisfy { ("0"..."9").contains($0) })
        #expect(second.comparison?.digits == digits)
        #expect(first.comparison?.name == "second" && second.comparison?.name == "first")
        #expect(first.comparison?.plan == .join && second.comparison?.plan == .admit)
    }

    @Test func `each pairing has other digits`() throws {
        let digits = try Set((1...20).map { _ in try Self.compared().0.comparison?.digits })
        #expect(digits.count > 10)
    }

    @Test(arguments: [true, false])
    func `nothing happens before both sides have confirmed`(connectingFirst: Bool) throws {
        var (first, second) = try Self.compared()
        if !connectingFirst { swap(&first, &second) }
        try first.answer(true)
        #expect(first.plan == nil)
        try second.receive(first.last)
        #expect(second.plan == nil)
        try second.answer(true)
        #expect(second.plan != nil)
        try first.receive(second.last)
        #expect(first.plan != nil)
        // What follows can be bound to this pairing.
        #expect(first.binding?.count == 32 && first.binding == second.binding)
    }

    @Test func `no two pairings have the same binding`() throws {
        let bindings = try Set(
            (1...5).map { _ in
                var (first, second) = try Self.compared()
                try first.answer(true)
                try second.receive(first.last)
                try second.answer(true)
                return try #require(second.binding)
            }
        )
        #expect(bindings.count == 5)
    }

    @Test(arguments: [
        (true, true, true, true, PairingPlan.join), (true, true, true, false, .join), (true, false, true, true, .admit),
        (false, true, true, false, .join), (true, true, false, true, .admit),
    ])
    func `the side with a root key and other systems admits`(
        admits: Bool,
        joins: Bool,
        peerAdmits: Bool,
        peerJoins: Bool,
        plan: PairingPlan
    ) throws {
        let (first, second) = try Self.compared(
            connecting: .ownAccount(admits: admits, joins: joins),
            waiting: .ownAccount(admits: peerAdmits, joins: peerJoins)
        )
        #expect(first.comparison?.plan == plan)
        #expect(second.comparison?.plan == (plan == .join ? .admit : .join))
    }

    @Test func `two links fit each other`() throws {
        let (first, second) = try Self.compared(connecting: .link, waiting: .link)
        #expect(first.comparison?.plan == .link && second.comparison?.plan == .link)
    }

    @Test(arguments: [
        (PairingIntention.Purpose.link, own), (own, .link),
        (.ownAccount(admits: true, joins: false), .ownAccount(admits: true, joins: false)),
        (.ownAccount(admits: false, joins: true), .ownAccount(admits: false, joins: true)),
        (.ownAccount(admits: false, joins: false), own),
    ])
    func `intentions that do not fit each other are refused before any digits`(
        own: PairingIntention.Purpose,
        peer: PairingIntention.Purpose
    ) throws {
        let stop = Self.stop { _ = try Self.compared(connecting: own, waiting: peer) }
        #expect(stop?.refusal == .purpose && stop?.error.code == .pairingMismatch)
        #expect(stop?.isFailedComparison == false)
    }

    @Test func `two machines that both leave their accounts are advised that only one of them does`() {
        let leaving = PairingIntention.Purpose.ownAccount(admits: false, joins: true)
        let stop = Self.stop { _ = try Self.compared(connecting: leaving, waiting: leaving) }
        #expect(stop?.error.message.contains("'--leave-account' on one machine only") == true)
        #expect(stop?.error.message.contains("root key") == false)
    }

    /// Two machines with the root key do not recognise each other before they have merged what they revoked.
    @Test func `two machines with root keys are asked first whether they have one account`() throws {
        let shared = PairingIntention.Purpose.ownAccount(admits: true, joins: false)
        let stop = Self.stop { _ = try Self.compared(connecting: shared, waiting: shared) }
        let message = try #require(stop?.error.message)
        let same = try #require(message.firstRange(of: "prints the same account on both"))
        let leaving = try #require(message.firstRange(of: "--leave-account"))
        #expect(same.upperBound < leaving.lowerBound)
    }

    // MARK: Attackers

    @Test func `a man in the middle makes the two sides show different digits`() throws {
        // It relays every message unchanged, but has keys of its own towards each side.
        var same = 0
        for _ in 1...8 {
            var first = try Side(.connecting, key: 1, peer: 9)
            var second = try Side(.waiting, key: 2, peer: 8)
            try second.start()
            try first.receive(second.last)
            try second.receive(first.last)
            // The commitment names the key, so the relay fails even before the connecting side shows digits.
            #expect(Self.stop { try first.receive(second.last) }?.refusal == .malformed && first.comparison == nil)

            // It uses a nonce and a commitment of its own towards the connecting side instead.
            var victim = try Side(.connecting, key: 1, peer: 9)
            var toVictim = try Side(.waiting, key: 9, peer: 1)
            try toVictim.start()
            try victim.receive(toVictim.last)
            try toVictim.receive(victim.last)
            try victim.receive(toVictim.last)
            if victim.comparison?.digits == second.comparison?.digits { same += 1 }
        }
        #expect(same == 0)
    }

    @Test func `a waiting side cannot change its nonce after it has seen the other one's`() throws {
        var second = try Side(.waiting, key: 2, peer: 1, nonce: [UInt8](repeating: 1, count: 32))
        var first = try Side(.connecting, key: 1, peer: 2)
        try second.start()
        try first.receive(second.last)
        let other = PairingMessage.reveal(
            nonce: [UInt8](repeating: 2, count: 32),
            intention: try PairingIntention(Self.own, name: "machine").bytes
        )
        let stop = Self.stop { try first.receive(other) }
        #expect(stop?.refusal == .malformed && first.comparison == nil)
    }

    @Test func `a waiting side cannot change its intention after it has committed to it`() throws {
        let nonce = [UInt8](repeating: 1, count: 32)
        var second = try Side(.waiting, key: 2, peer: 1, nonce: nonce)
        var first = try Side(.connecting, key: 1, peer: 2)
        try second.start()
        try first.receive(second.last)
        let other = try PairingIntention(.ownAccount(admits: true, joins: false), name: "machine").bytes
        #expect(Self.stop { try first.receive(.reveal(nonce: nonce, intention: other)) }?.refusal == .malformed)
    }

    @Test func `a commitment that was recorded in another pairing is refused (CVE-2025-32898)`() throws {
        var recorded = try Side(.waiting, key: 2, peer: 1)
        try recorded.start()
        let commitment = try recorded.last
        try recorded.receive(
            .answer(nonce: [UInt8](repeating: 1, count: 32), intention: PairingIntention(Self.own, name: "x").bytes)
        )
        // The attacker has another key.
        var first = try Side(.connecting, key: 1, peer: 9)
        try first.receive(commitment)
        let reveal = try recorded.last
        #expect(Self.stop { try first.receive(reveal) }?.refusal == .malformed && first.comparison == nil)
    }

    @Test func `the waiting side shows the digits before the other side can know them`() throws {
        let (first, second) = try Self.compared()
        #expect(second.performed == ["commitment", "compare", "reveal"])
        #expect(first.performed == ["answer", "compare"])
    }

    @Test func `the digits depend on the nonces, the keys and the intentions of both sides`() throws {
        let part = PairingTranscript.Part(
            key: Self.key(1),
            nonce: [UInt8](repeating: 1, count: 32),
            intention: [1, 2, 3]
        )
        var other = part
        other.key = Self.key(2)
        let digits = PairingTranscript(connecting: part, waiting: other).digits
        var changed: [String] = [PairingTranscript(connecting: other, waiting: part).digits]
        for change: (inout PairingTranscript.Part) -> Void in [
            { $0.key = Self.key(3) }, { $0.nonce[31] ^= 1 }, { $0.intention[2] ^= 1 }, { $0.intention.append(0) },
        ] {
            var (first, second) = (part, other)
            change(&first)
            change(&second)
            changed.append(PairingTranscript(connecting: first, waiting: other).digits)
            changed.append(PairingTranscript(connecting: part, waiting: second).digits)
        }
        #expect(!changed.contains(digits))
    }

    @Test func `a confirmation cannot be sent back to its sender`() throws {
        var (first, _) = try Self.compared()
        try first.answer(true)
        let own = try first.last
        #expect(Self.stop { try first.receive(own) }?.refusal == .malformed)
        #expect(first.plan == nil)
    }

    @Test func `a wrong confirmation ends the pairing`() throws {
        var (first, _) = try Self.compared()
        try first.answer(true)
        let wrong = PairingMessage.confirmed(code: [UInt8](repeating: 0, count: 32))
        #expect(Self.stop { try first.receive(wrong) }?.refusal == .malformed)
        #expect(first.plan == nil)
    }

    @Test func `one key on both sides is refused`() throws {
        var first = try Side(.connecting, key: 1, peer: 1)
        #expect(Self.stop { try first.receive(.commitment([UInt8](repeating: 0, count: 32))) }?.reason == .malformed)
        var second = try Side(.waiting, key: 1, peer: 1)
        #expect(Self.stop { try second.start() }?.reason == .malformed)
    }

    // MARK: Answers and times

    @Test func `a no ends the pairing, is sent, and counts`() throws {
        var (first, second) = try Self.compared()
        let stop = try #require(Self.stop { try first.answer(false) })
        #expect(stop.refusal == .denied && stop.isFailedComparison && stop.error.code == .pairingDenied)
        let refused = try #require(Self.stop { try second.receive(.refused(.denied)) })
        #expect(refused.refusal == nil && !refused.isFailedComparison && refused.error.code == .pairingRefused)
        #expect(Self.stop { try second.answer(true) } != nil && second.plan == nil)
    }

    @Test func `the other side's stop is reported with its name, and counts at neither side`() throws {
        var (first, second) = try Self.compared()
        let stopped = try #require(Self.stop { try first.receive(.refused(.cancelled)) })
        #expect(stopped.error.code == .pairingRefused && !stopped.isFailedComparison && stopped.refusal == nil)
        // The other side has not been authenticated.
        let report = "The other machine, which calls itself 'second', reports that the pairing was stopped there"
        #expect(stopped.error.message.hasPrefix(report))
        #expect(stopped.error.message.contains("If both machines showed the same digits, start it again there."))
        try second.answer(true)
        let there = try #require(Self.stop { try second.receive(.refused(.cancelled)) })
        #expect(there.error.message.contains("which calls itself 'first'") && !there.isFailedComparison)
        // A side that stops before it has sent a name.
        var early = try Side(.waiting, key: 2, peer: 1)
        try early.start()
        let unnamed = try #require(Self.stop { try early.receive(.refused(.cancelled)) })
        #expect(unnamed.error.message.hasPrefix("The other machine reports that the pairing was stopped there before"))
    }

    @Test func `an answer after thirty seconds is too late`() throws {
        var (first, _) = try Self.compared()
        try first.pairing.expire(at: Self.start + .milliseconds(29_999))
        let stop = try #require(Self.stop { try first.answer(true, after: .seconds(30)) })
        #expect(stop.refusal == .timedOut && stop.isFailedComparison)
    }

    @Test func `a missing answer counts, and that of the other person does not`() throws {
        var (first, second) = try Self.compared()
        try first.answer(true)
        let there = try #require(Self.stop { try first.pairing.expire(at: Self.start + .seconds(30)) })
        #expect(there.reason == .unansweredThere && !there.isFailedComparison)
        let here = try #require(Self.stop { try second.pairing.expire(at: Self.start + .seconds(30)) })
        #expect(here.reason == .unansweredHere && here.isFailedComparison)
    }

    @Test func `a confirmation after thirty seconds is too late`() throws {
        var (first, second) = try Self.compared()
        try first.answer(true)
        let message = try first.last
        #expect(Self.stop { try second.receive(message, after: .seconds(30)) }?.refusal == .timedOut)
    }

    // MARK: Broken rules

    @Test(arguments: [
        PairingMessage.answer(nonce: [], intention: []), .reveal(nonce: [], intention: []), .confirmed(code: []),
        .welcome(roots: []), .request([]), .offer([], signature: []), .done,
        .accepted(AccountAdmission(certificate: [], discoveryKey: [])), .commitment([1]),
    ])
    func `the connecting side accepts only a commitment first`(message: PairingMessage) throws {
        var side = try Side(.connecting, key: 1, peer: 2)
        #expect(Self.stop { try side.receive(message) }?.refusal == .malformed)
        #expect(Self.stop { try side.receive(.commitment([UInt8](repeating: 0, count: 32))) } != nil)
    }

    @Test(arguments: [
        PairingMessage.commitment([UInt8](repeating: 0, count: 32)), .reveal(nonce: [], intention: []),
        .confirmed(code: []), .welcome(roots: []), .request([]), .offer([], signature: []), .done,
    ])
    func `the waiting side accepts only an answer first, and only after its commitment`(
        message: PairingMessage
    ) throws {
        var side = try Side(.waiting, key: 2, peer: 1)
        try side.start()
        #expect(Self.stop { try side.receive(message) }?.refusal == .malformed)
        var early = try Side(.waiting, key: 2, peer: 1)
        let answer = PairingMessage.answer(
            nonce: [UInt8](repeating: 1, count: 32),
            intention: try PairingIntention(Self.own, name: "machine").bytes
        )
        #expect(Self.stop { try early.receive(answer) }?.refusal == .malformed && early.comparison == nil)
    }

    @Test func `an answer with a short nonce, or without an intention, is refused`() throws {
        let nonce = [UInt8](repeating: 1, count: 32)
        let intention = try PairingIntention(Self.own, name: "machine").bytes
        for message in [
            PairingMessage.answer(nonce: [1], intention: intention), .answer(nonce: nonce, intention: [0xFF]),
            .answer(nonce: nonce, intention: []),
        ] {
            var side = try Side(.waiting, key: 2, peer: 1)
            try side.start()
            #expect(Self.stop { try side.receive(message) }?.refusal == .malformed)
        }
    }

    @Test func `a message that is sent twice is refused`() throws {
        var (first, second) = try Self.compared()
        try first.answer(true)
        let message = try first.last
        try second.receive(message)
        #expect(Self.stop { try second.receive(message) }?.refusal == .malformed)
        #expect(Self.stop { try second.answer(true) } != nil && second.plan == nil)
    }

    /// Who has confirmed the digits when the other side sends more than it may.
    enum Confirmed: CaseIterable { case neither, here, there }

    @Test(
        arguments: [
            PairingMessage.offer([1], signature: []), .welcome(roots: [1]), .request([1]), .done,
            .accepted(AccountAdmission(certificate: [1], discoveryKey: [UInt8](repeating: 1, count: 32))),
        ],
        Confirmed.allCases
    )
    func `neither an offer nor a certificate is accepted before the confirmations`(
        message: PairingMessage,
        confirmed: Confirmed
    ) throws {
        for isConnecting in [true, false] {
            var (side, other) = try Self.compared()
            if !isConnecting { swap(&side, &other) }
            switch confirmed {
            case .neither: break
            case .here: try side.answer(true)
            case .there:
                try other.answer(true)
                try side.receive(other.last)
            }
            #expect(Self.stop { try side.receive(message) }?.refusal == .malformed)
            // Neither confirmation has an effect afterwards.
            #expect(Self.stop { try side.answer(true) } != nil)
            if confirmed != .there {
                try other.answer(true)
                let confirmation = try other.last
                #expect(Self.stop { try side.receive(confirmation) } != nil)
            }
            #expect(side.plan == nil && side.binding == nil)
        }
    }

    @Test func `a name is shown without control characters and cut`() throws {
        let intention = try PairingIntention(.link, name: "Ada\u{1B}[31m\u{202E}" + String(repeating: "x", count: 300))
        let read = try #require(PairingIntention(bytes: intention.bytes))
        #expect(read == intention && read.name.hasPrefix("Ada [31m") && read.name.utf8.count <= 128)
        #expect(try PairingIntention(.link, name: "\u{7}").name == "unnamed")
    }
}

/// The lock after failed comparisons.
@Suite struct PairingAttemptsTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test func `three failures within an hour lock pairing for an hour`() {
        var attempts = PairingAttempts()
        for minute in [0.0, 20, 40] {
            #expect(attempts.locked(at: Self.now + minute * 60) == nil)
            attempts.fail(at: Self.now + minute * 60)
        }
        for minute in [41.0, 61, 99] {
            #expect(attempts.locked(at: Self.now + minute * 60) == Self.now + 100 * 60)
        }
        #expect(attempts.locked(at: Self.now + 100 * 60) == nil)
        #expect(PairingAttempts(text: attempts.text) == attempts)
    }

    @Test func `failures that are an hour apart lock nothing`() {
        var attempts = PairingAttempts()
        for hour in 0..<8 { attempts.fail(at: Self.now + Double(hour) * 3600) }
        #expect(attempts.locked(at: Self.now + 7 * 3600) == nil)
    }

    @Test func `a clock that was set back does not lock for longer than an hour`() throws {
        var attempts = PairingAttempts()
        for _ in 1...3 { attempts.fail(at: Self.now) }
        let end = try #require(attempts.locked(at: Self.now - 1800))
        #expect(end <= Self.now + 1800)
        #expect(attempts.locked(at: Self.now - 86_400) == nil)
    }

    @Test func `a damaged file locks nothing`() {
        #expect(PairingAttempts(text: "x\n-1\n99999999999999999999\n").locked(at: Self.now) == nil)
    }

    @Test func `the lock is stored, and ends with a success`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "attempts-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = AccountStore(directory: directory)
        try store.checkPairing(now: Self.now)
        for _ in 1...3 { try AccountStore(directory: directory).recordPairingFailure(now: Self.now) }
        #expect(throws: IdentityError.self) { try store.checkPairing(now: Self.now) }
        try store.checkPairing(now: Self.now + 3601)
        try store.forgetPairingFailures()
        try store.checkPairing(now: Self.now)
    }
}
