// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsIdentity

/// Attackers between the two sides of a pairing, and sides that break its rules.
extension PairingTests {
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

    @Test func `a confirmation that was recorded in an earlier pairing of the same machines is refused`() throws {
        for isWaiting in [true, false] {
            var (first, second) = try Self.compared()
            if isWaiting { swap(&first, &second) }
            try second.answer(true)
            let recorded = try second.last
            var (again, _) = try Self.compared()
            if isWaiting { (_, again) = try Self.compared() }
            try again.answer(true)
            #expect(Self.stop { try again.receive(recorded) }?.refusal == .malformed)
            #expect(again.plan == nil)
            // In its own pairing it counts.
            try first.answer(true)
            try first.receive(recorded)
            #expect(first.plan != nil)
        }
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
}
