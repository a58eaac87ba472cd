// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

/// What one side of a pairing wants, and the name that it shows to the person at the other side.
package struct PairingIntention: Hashable, Sendable {
    /// What the side wants.
    package enum Purpose: Hashable, Sendable {
        /// To have both systems in one account. `admits` states whether this side can admit the other one to its
        /// account, `joins` whether it can join the other one's account.
        case ownAccount(admits: Bool, joins: Bool)
        /// To link two accounts.
        case link
    }

    package let purpose: Purpose
    /// The name, without control characters. It proves nothing.
    package let name: String
    /// The intention as it is sent. The digits depend on these bytes.
    package let bytes: [UInt8]

    /// The maximum size of an intention, in bytes.
    package static let maxBytes = 512
    private static let limits = ValueSetLimits(depth: 4, keysPerDictionary: 16, items: 64, bytes: Self.maxBytes)

    private enum Key {
        static let purpose = "purpose"
        static let name = "name"
        static let admits = "admits"
        static let joins = "joins"
    }

    private enum PurposeName {
        static let ownAccount = "own-account"
        static let link = "link"
    }

    /// Creates an intention to send.
    ///
    /// - Parameter name: The name for the other person. Stored without control characters and cut at 128 bytes.
    package init(_ purpose: Purpose, name: String) throws(IdentityError) {
        let name = Self.shown(name)
        var map: ValueSet = [Key.name: .string(name)]
        switch purpose {
        case .ownAccount(let admits, let joins):
            map[Key.purpose] = .string(PurposeName.ownAccount)
            map[Key.admits] = .bool(admits)
            map[Key.joins] = .bool(joins)
        case .link:
            map[Key.purpose] = .string(PurposeName.link)
        }
        do {
            self.bytes = try map.encoded(limits: Self.limits)
        } catch {
            throw IdentityError(.pairingFailed, "The name for pairing cannot be sent. Choose a shorter one.")
        }
        self.purpose = purpose
        self.name = name
    }

    /// Reads the other side's intention; `nil` if it breaks a rule. Unknown keys are ignored.
    package init?(bytes: [UInt8]) {
        guard bytes.count <= Self.maxBytes, let map = try? ValueSet(encoded: bytes, limits: Self.limits),
            let name = map[Key.name]?.string
        else { return nil }
        switch map[Key.purpose]?.string {
        case PurposeName.ownAccount:
            guard let admits = map[Key.admits]?.bool, let joins = map[Key.joins]?.bool else { return nil }
            self.purpose = .ownAccount(admits: admits, joins: joins)
        case PurposeName.link:
            self.purpose = .link
        default:
            return nil
        }
        self.name = Self.shown(name)
        self.bytes = bytes
    }

    private static func shown(_ name: String) -> String {
        let name = name.shortened(to: AccountLink.maxNameBytes)
        return name.isEmpty ? "unnamed" : name
    }
}

/// What two sides do after both have confirmed.
package enum PairingPlan: Hashable, Sendable {
    /// This side admits the other one to its account.
    case admit
    /// This side joins the other one's account.
    case join
    /// Both sides link their accounts.
    case link

    /// Decides what a side does; `nil` if the intentions do not fit each other.
    ///
    /// If each side could join the other's account, the connecting side joins.
    init?(_ role: Pairing.Role, own: PairingIntention.Purpose, peer: PairingIntention.Purpose) {
        switch (own, peer) {
        case (.link, .link): self = .link
        case (.ownAccount(let admits, let joins), .ownAccount(let peerAdmits, let peerJoins)):
            let (canAdmit, canJoin) = (admits && peerJoins, joins && peerAdmits)
            switch (canAdmit, canJoin) {
            case (true, true): self = role == .waiting ? .admit : .join
            case (true, false): self = .admit
            case (false, true): self = .join
            case (false, false): return nil
            }
        case (.link, .ownAccount), (.ownAccount, .link): return nil
        }
    }
}

/// What a person compares: the digits that both sides show, and what will happen.
package struct PairingComparison: Hashable, Sendable {
    /// Six decimal digits.
    package let digits: String
    /// The name that the other side gave itself. It proves nothing.
    package let name: String
    package let plan: PairingPlan
}
