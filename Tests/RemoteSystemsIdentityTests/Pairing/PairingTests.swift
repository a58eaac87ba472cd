// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import RemoteSystemsIdentity

/// The state machine of pairing: two sides in memory. Attackers between them are in `PairingAttackTests.swift`.
@Suite struct PairingTests {
    static let start = ContinuousClock.now

    static func key(_ number: UInt8) -> KeyFingerprint {
        KeyFingerprint(bytes: [UInt8](repeating: number, count: 32))
            ?? KeyFingerprint(of: P256.Signing.PrivateKey().publicKey)
    }

    static let own = PairingIntention.Purpose.ownAccount(admits: true, joins: true)

    /// One side with what its driver would do.
    struct Side {
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
    static func compared(
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

    static func stop(_ body: () throws -> Void) -> PairingStop? {
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
        let report = "The other machine, which calls itself “second”, reports that the pairing was stopped there"
        #expect(stopped.error.message.hasPrefix(report))
        #expect(stopped.error.message.contains("If both machines showed the same digits, start it again there."))
        try second.answer(true)
        let there = try #require(Self.stop { try second.receive(.refused(.cancelled)) })
        #expect(there.error.message.contains("which calls itself “first”") && !there.isFailedComparison)
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

    @Test func `a name is shown without control characters and cut`() throws {
        let intention = try PairingIntention(.link, name: "Ada\u{1B}[31m\u{202E}" + String(repeating: "x", count: 300))
        let read = try #require(PairingIntention(bytes: intention.bytes))
        #expect(read == intention && read.name.hasPrefix("Ada [31m") && read.name.utf8.count <= 128)
        #expect(try PairingIntention(.link, name: "\u{7}").name == "unnamed")
    }
}
