// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import ValueSets

/// A link of this account with another person's account.
///
/// A link applies to all systems of both accounts. Each account decides alone which rights it grants to the other.
public struct AccountLink: Sendable, Hashable {
    /// The other account.
    public let account: AccountID

    /// A person-readable name of the other account, which it stated when the link was made. It proves nothing.
    ///
    /// At most 128 bytes, without control characters.
    public let name: String

    /// The rights that this account grants to the other account's systems.
    public internal(set) var granted: Grants

    /// The rights that the other account stated to grant when the link was made. For display only: the other account
    /// can change them without notice.
    public let received: Grants

    /// The time at which the link was made.
    public let created: Date

    /// Whether the link is in force.
    public var state: State {
        if self.withdrawal != nil { return .withdrawn }
        return self.withdrawalByOther == nil ? .active : .withdrawnByOther
    }

    /// Whether a link is in force.
    public enum State: String, Sendable, Hashable {
        /// Both accounts have the link.
        case active
        /// This account has withdrawn the link.
        case withdrawn
        /// The other account has withdrawn the link, so this account grants nothing to it either.
        case withdrawnByOther
    }

    /// The other account's root keys.
    package internal(set) var roots: RootChain
    /// The newest known revocation list of the other account; `nil` if none is known.
    package internal(set) var revocations: RevocationList?
    /// The key for the tags by which the two accounts recognise each other's announcements. No other account has it.
    package let discoveryKey: DiscoveryKey
    /// The number of the list of links in which the link was last changed.
    package internal(set) var number: UInt64
    /// The number that the other account had reached when the link was made. Its earlier withdrawals are for earlier
    /// links.
    package let otherNumber: UInt64
    /// The notice by which this account withdrew the link; `nil` unless it did.
    package internal(set) var withdrawal: LinkWithdrawal?
    /// The notice by which the other account withdrew the link; `nil` unless it did.
    package internal(set) var withdrawalByOther: LinkWithdrawal?

    /// The maximum size of a name, in bytes.
    package static let maxNameBytes = 128

    /// Returns a name in the form in which it is stored: without control characters and surrounding spaces, and cut at
    /// ``maxNameBytes``. An empty name is replaced by the short id of the account.
    package static func storable(name: String, of account: AccountID) -> String {
        let short = name.shortened(to: Self.maxNameBytes)
        return short.isEmpty ? "account \(account.short)" : short
    }
}

extension AccountLink {
    /// The other account as the trust store holds it; `nil` unless the link is in force.
    package var linkedAccount: LinkedAccount? {
        guard self.state == .active else { return nil }
        return LinkedAccount(
            TrustedAccount(roots: self.roots, revocations: self.revocations, discoveryKey: self.discoveryKey),
            grants: self.granted,
            name: self.name
        )
    }

    /// Makes a link from the two offers.
    ///
    /// - Parameters:
    ///   - own: The offer of this account.
    ///   - roots: The other account's root keys. Defaults to those of its offer.
    ///   - number: The number of the list that will hold the link. The number of this account's offer is the minimum.
    package init(
        _ own: LinkOffer,
        with other: LinkOffer,
        roots: RootChain? = nil,
        number: UInt64,
        now: Date
    ) {
        self.init(
            account: other.account,
            name: other.name,
            granted: own.granted,
            received: other.granted,
            created: Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down)),
            roots: roots ?? other.roots,
            discoveryKey: own.discoveryKey(with: other),
            number: max(number, own.number),
            otherNumber: other.number
        )
    }

    // MARK: Coding

    private enum Key {
        static let roots = "roots"
        static let name = "name"
        static let granted = "granted"
        static let received = "received"
        static let created = "created"
        static let discoveryKey = "discovery-key"
        static let number = "number"
        static let otherNumber = "other-number"
        static let withdrawal = "withdrawal"
    }

    /// The link as an entry of a list. The other account's revocation list and withdrawal are not part of it: they are
    /// signed by the other account.
    var value: ValueSet {
        var set: ValueSet = [
            Key.roots: .data(Data(self.roots.bytes)), Key.name: .string(self.name),
            Key.granted: .dictionary(self.granted.value), Key.received: .dictionary(self.received.value),
            Key.created: .date(self.created), Key.discoveryKey: .data(Data(self.discoveryKey.bytes)),
            Key.number: .unsigned(self.number), Key.otherNumber: .unsigned(self.otherNumber),
        ]
        if let withdrawal { set[Key.withdrawal] = .data(Data(withdrawal.bytes)) }
        return set
    }

    /// Reads an entry of a list; `nil` if it breaks a rule. Unknown keys are ignored.
    ///
    /// - Parameter own: The root keys of the account that signed the list.
    init?(_ value: ValueSet?, own: RootChain) {
        guard let value, let bytes = value[Key.roots]?.data, let roots = try? RootChain(Array(bytes)),
            roots.accountID != own.accountID,
            let name = value[Key.name]?.string, name == Self.storable(name: name, of: roots.accountID),
            let granted = Grants(value[Key.granted]?.dictionary),
            let received = Grants(value[Key.received]?.dictionary),
            let created = value[Key.created]?.date, let key = value[Key.discoveryKey]?.data,
            let discoveryKey = DiscoveryKey(bytes: Array(key)),
            let number = value[Key.number]?.uint64, let otherNumber = value[Key.otherNumber]?.uint64
        else { return nil }
        self.init(
            account: roots.accountID,
            name: name,
            granted: granted,
            received: received,
            created: created,
            roots: roots,
            discoveryKey: discoveryKey,
            number: number,
            otherNumber: otherNumber
        )
        if let element = value[Key.withdrawal] {
            guard let bytes = element.data,
                let withdrawal = try? LinkWithdrawal(Array(bytes), by: own, of: roots.accountID)
            else { return nil }
            self.withdrawal = withdrawal
        }
    }
}

extension String {
    /// The text in one line, without control characters and surplus spaces, cut at `maxBytes`.
    func shortened(to maxBytes: Int) -> String {
        // A long text is cut before it is examined.
        let text = String(String.UnicodeScalarView(self.unicodeScalars.prefix(4 * maxBytes))).withoutControlCharacters
        let words = text.split(separator: " ").joined(separator: " ")
        var short = ""
        for character in words {
            guard short.utf8.count + character.utf8.count <= maxBytes else { break }
            short.append(character)
        }
        return short
    }
}
