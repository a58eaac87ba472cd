// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity

/// The purpose of a pairing. Both machines must have the same purpose.
public enum PairingPurpose: Sendable, Hashable {
    /// One machine joins the other one's account. For machines of one person.
    ///
    /// The machine that holds its account's root key admits the other one. If both hold a root key and neither shares
    /// its account with other systems, the waiting machine admits. With `leavingAccount`, this machine joins even if it
    /// shares its present account with other systems, and never admits. Without it, a machine of an account whose
    /// root key is on another machine cannot pair (``IdentityError/Code/notAuthority``).
    case join(leavingAccount: Bool)
    /// The two accounts are linked. For machines of two persons, which must hold the root keys of their accounts. The
    /// systems of the other account get the `grants`, and this account's systems get what the other person grants.
    case link(grants: Grants)

    /// One machine joins the other one's account, but leaves no account that it shares with other systems.
    public static var join: PairingPurpose { .join(leavingAccount: false) }
}

/// What a person confirms: that the other machine shows the same digits.
public struct PairingPrompt: Sendable, Hashable {
    /// The effect of the pairing, if both persons confirm.
    public enum Effect: String, Sendable, Hashable {
        /// The other machine joins this machine's account.
        case admitsOther
        /// This machine joins the other machine's account.
        case joinsOther
        /// The accounts of the two machines are linked.
        case links
    }

    /// Six decimal digits. Both machines show the same ones, unless a third machine is between them.
    public let digits: String

    /// The digits in two groups, for display.
    public var groupedDigits: String { "\(self.digits.prefix(3)) \(self.digits.suffix(3))" }

    /// The name that the other machine gave itself. It proves nothing.
    ///
    /// At most 128 bytes, without control characters.
    public let name: String

    /// The effect of the pairing, if both persons confirm.
    public let effect: Effect

    package init(digits: String, name: String, effect: Effect) {
        self.digits = digits
        self.name = name
        self.effect = effect
    }
}

/// The result of a pairing.
public enum PairingResult: Sendable {
    /// The other machine joined this machine's account, as this system.
    case admitted(SystemID)
    /// This machine joined the other machine's account.
    case joined(AccountChange)
    /// The accounts are linked.
    case linked(AccountLink)
}

/// Where a machine waits for the other one to pair.
public struct PairingPlace: Sendable, Hashable {
    /// Host names or IP addresses at which the other machine reaches this one, most promising first.
    public let hosts: [String]
    /// The TCP port.
    public let port: Int

    /// The hosts with the port, as `host:port`, with brackets around IPv6.
    public var addresses: [String] {
        self.hosts.map { Invitation.Address(host: $0, port: UInt16(clamping: self.port)).description }
    }
}
