// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Runs a pairing with messages of the input and with genuine messages that the input may change, and persons who
/// confirm only digits that are the same.
func fuzzPairing(_ input: [UInt8]) {
    var pairing = FuzzedPairing()
    for command in Script(input).commands.prefix(32) { pairing.perform(command) }
}

private struct FuzzedPairing {
    private struct Side {
        var pairing: Pairing
        /// What the side has sent and the other one has not received yet.
        var sent: [PairingMessage] = []
        var received: [PairingMessage] = []
        var comparison: PairingComparison?
        var isConfirmed = false
        var plan: PairingPlan?
        var binding: [UInt8]?
    }

    private static let start = ContinuousClock.now

    private var sides: [Side]
    private var now = Self.start
    private var history: [[PairingMessage]] = [[], []]

    init() {
        let keys = [Account.joinerKey, Account.inviter.systemKey].map { KeyFingerprint(of: $0.publicKey) }
        let purpose = PairingIntention.Purpose.ownAccount(admits: true, joins: true)
        self.sides = [Pairing.Role.connecting, .waiting].enumerated().map { index, role in
            Side(
                pairing: Pairing(
                    role,
                    made { try PairingIntention(purpose, name: "side \(index)") },
                    ownKey: keys[index],
                    peerKey: keys[1 - index],
                    nonce: [UInt8](repeating: UInt8(index), count: 32)
                )
            )
        }
        self.apply(1) { try $0.start() }
    }

    mutating func perform(_ command: Command) {
        let side = Int(command.kind & 1)
        switch command.kind >> 1 & 3 {
        case 0:
            if let message = PairingMessage.read(command.payload) { self.receive(message, side) }
        case 1:
            guard !self.sides[1 - side].sent.isEmpty else { return }
            let message = self.sides[1 - side].sent.removeFirst()
            if let message = message.changed(by: command.payload) { self.receive(message, side) }
        case 2:
            guard let digits = self.sides[side].comparison?.digits else { return }
            // The person compares. Nothing else confirms.
            let isSame = digits == self.sides[1 - side].comparison?.digits
            let now = self.now
            self.apply(side) { try $0.answer(isSame, at: now) }
            self.sides[side].isConfirmed = isSame
        default:
            self.now += .seconds(Int(command.argument))
            let now = self.now
            for index in 0...1 {
                self.apply(index) {
                    try $0.expire(at: now)
                    return []
                }
            }
        }
    }

    private mutating func apply(_ side: Int, _ body: (inout Pairing) throws -> [Pairing.Action]) {
        guard let actions = try? body(&self.sides[side].pairing) else { return }
        for action in actions {
            switch action {
            case .send(let message):
                if case .reveal = message {
                    require(self.sides[side].comparison != nil, "the other side knows the digits first")
                }
                self.sides[side].sent.append(message)
                self.history[side].append(message)
                if case .confirmed = message {
                    require(self.sides[side].comparison != nil, "a side confirmed without digits")
                }
            case .compare(let comparison):
                require(self.sides[side].comparison == nil, "a side showed two sets of digits")
                require(
                    comparison.digits.count == 6 && comparison.digits.allSatisfy { ("0"..."9").contains($0) },
                    "digits of another form"
                )
                require(comparison.name.utf8.count <= 128, "a long name")
                self.sides[side].comparison = comparison
            case .carryOut(let plan, let binding):
                require(self.sides[side].plan == nil, "a side carried out two plans")
                require(self.sides[0].comparison?.digits == self.sides[1].comparison?.digits, "different digits")
                self.sides[side].plan = plan
                self.sides[side].binding = binding
                let other = self.sides[1 - side].binding
                require(other == nil || other == binding, "two bindings of one pairing")
                // The received messages are those that the other side has sent.
                let genuine = self.history[1 - side].prefix(self.sides[side].received.count)
                require(
                    genuine.map(\.inTranscript) == self.sides[side].received.map(\.inTranscript),
                    "a side accepted a message that was changed"
                )
            }
        }
    }

    private mutating func receive(_ message: PairingMessage, _ side: Int) {
        self.sides[side].received.append(message)
        let now = self.now
        self.apply(side) { try $0.receive(message, at: now) }
    }
}

extension PairingMessage {
    /// What both sides must have in common. The proof of an account is not part of it: it can only end a pairing
    /// within one account before the digits are shown.
    fileprivate var inTranscript: Self {
        if case .answer(let nonce, let intention, _) = self {
            .answer(nonce: nonce, intention: intention, account: nil)
        } else {
            self
        }
    }
}
