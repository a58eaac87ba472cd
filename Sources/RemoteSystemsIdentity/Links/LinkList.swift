// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials
import ValueSets

/// An account's links with other accounts, signed by the account's root key (`Docs/wire/links.md`).
///
/// Because of the signature, any system of the account may pass the list on to the others. The list is secret: it holds
/// the discovery keys that linked accounts share.
package struct LinkList: Sendable, Hashable {
    /// The list's number. Of two lists that the same root key signed, the one with the greater number is newer.
    package let number: UInt64
    /// The links in ascending order of their accounts, withdrawn ones included.
    package let links: [AccountLink]
    /// The greatest number of a withdrawn link that was dropped. A link with an account that is not in the list is
    /// older than the withdrawal that ended it if its number is not greater. 0 if none was dropped.
    package let droppedNumber: UInt64
    /// The number of the account's root key that signed the list, from 1.
    package let root: Int
    /// The list as stored and sent: the CBOR map, the signature (64 bytes).
    package let bytes: [UInt8]

    /// The maximum number of links in force.
    package static let maxLinks = 24
    /// The maximum number of withdrawn links. The oldest are dropped.
    static let maxWithdrawn = 24
    package static let maxBytes = 256 << 10
    /// The maximum number of a list, and of what is in it: 2⁶³ − 2. So there is a next number for each.
    package static let maxNumber = UInt64(Int64.max) - 1

    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 32_768, bytes: Self.maxBytes)

    private enum Key {
        static let number = "number"
        static let links = "links"
        static let droppedNumber = "dropped-number"
    }

    /// Reads a list and verifies its signature.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    init(_ bytes: [UInt8], of roots: RootChain) throws(TrustError) {
        guard (RootStatement.signatureBytes + 1...Self.maxBytes).contains(bytes.count) else {
            throw .malformedLinks("has an invalid length")
        }
        let (body, root) = try roots.verified(bytes, as: .linkList)
        guard let map = try? ValueSet(encoded: Array(body), limits: Self.limits), let number = map[Key.number]?.uint64,
            number <= Self.maxNumber, let entries = map[Key.links]?.array,
            entries.count <= Self.maxLinks + Self.maxWithdrawn,
            let droppedNumber = map[Key.droppedNumber].map({ $0.uint64 }) ?? 0, droppedNumber <= number
        else { throw .malformedLinks("cannot be read") }
        let links = entries.compactMap { AccountLink($0.dictionary, own: roots) }
        guard links.count == entries.count, zip(links, links.dropFirst()).allSatisfy({ $0.account < $1.account }),
            links.allSatisfy({ $0.number <= number }), links.count(where: { $0.withdrawal == nil }) <= Self.maxLinks
        else { throw .malformedLinks("has an invalid entry") }
        self.number = number
        self.links = links
        self.droppedNumber = droppedNumber
        self.root = root
        self.bytes = bytes
    }

    /// Creates a list and signs it with `key`.
    ///
    /// - Parameter droppedNumber: ``droppedNumber`` of the lists that this one replaces.
    /// - Throws: ``IdentityError/Code/tooManyLinks``.
    init(
        number: UInt64,
        _ links: [AccountLink],
        droppedNumber: UInt64 = 0,
        of account: AccountID,
        root: Int,
        signing key: P256.Signing.PrivateKey
    ) throws(IdentityError) {
        guard links.count(where: { $0.withdrawal == nil }) <= Self.maxLinks else { throw .tooManyLinks }
        let withdrawn = links.filter { $0.withdrawal != nil }.sorted { $0.number > $1.number }
        self.number = number
        self.root = root
        self.links = (links.filter { $0.withdrawal == nil } + withdrawn.prefix(Self.maxWithdrawn))
            .sorted { $0.account < $1.account }
        self.droppedNumber = max(droppedNumber, withdrawn.dropFirst(Self.maxWithdrawn).first?.number ?? 0)
        var map: ValueSet = [
            Key.number: .unsigned(number), Key.links: .array(self.links.map { .dictionary($0.value) }),
        ]
        if self.droppedNumber > 0 { map[Key.droppedNumber] = .unsigned(self.droppedNumber) }
        let body: [UInt8]
        do {
            body = try map.encoded()
        } catch {
            throw .tooManyLinks
        }
        self.bytes = try RootStatement.linkList.signed(body, by: account, with: key)
        guard self.bytes.count <= Self.maxBytes else { throw .tooManyLinks }
    }

    /// Whether the list replaces another list of its account: a newer root key signed it, or the same root key with a
    /// greater number.
    package func isNewer(than other: LinkList) -> Bool { self.position > other.position }

    /// The place of the list in the order of the account's lists.
    var position: TrustPosition { TrustPosition(root: self.root, number: self.number) }

    /// The link with an account, withdrawn or not.
    package subscript(account: AccountID) -> AccountLink? { self.links.first { $0.account == account } }

    /// Whether the list has nothing to learn from an entry of another list: it has one that was changed later, or has
    /// dropped a later withdrawal of the link.
    package func supersedes(_ link: AccountLink) -> Bool {
        link.number <= self[link.account]?.number ?? self.droppedNumber
    }

    /// Returns the links of both lists: of each account the entry that was changed last.
    func merged(with other: LinkList) -> [AccountLink] {
        self.links.filter { $0.number >= other[$0.account]?.number ?? other.droppedNumber + 1 }
            + other.links.filter { !self.supersedes($0) }
    }
}

extension AccountAuthority {
    /// Creates and signs a list of links that replaces every list with a lower number.
    ///
    /// - Parameters:
    ///   - number: The result of ``nextNumber(after:now:)``.
    ///   - droppedNumber: ``LinkList/droppedNumber`` of the lists that this one replaces.
    func linkList(of links: [AccountLink], number: UInt64, droppedNumber: UInt64) throws(IdentityError) -> LinkList {
        try LinkList(
            number: number,
            links,
            droppedNumber: droppedNumber,
            of: self.accountID,
            root: self.roots.count,
            signing: self.rootKey
        )
    }

    /// The number of the list of links that follows `list`: at least the clock's milliseconds since 1970, so that two
    /// machines with the account's root key do not use the same number twice. Numbers of lists that an older root key
    /// signed do not count: a thief of that key may have used the greatest.
    func nextNumber(after list: LinkList?, now: Date) throws(IdentityError) -> UInt64 {
        let clock = UInt64(min(max(now.timeIntervalSince1970 * 1000, 0), 1e15))
        guard let list, list.root == self.roots.count else { return clock }
        guard list.number < LinkList.maxNumber else {
            throw .invalidLink(
                """
                The list of linked accounts has the greatest possible number, which this software does not use. \
                Another person may have the account's root key: replace it \
                ('remotesystems account rotate-root-key --stolen').
                """
            )
        }
        return max(list.number + 1, clock)
    }

    func withdrawal(of account: AccountID, number: UInt64) throws(IdentityError) -> LinkWithdrawal {
        try LinkWithdrawal(
            number: number,
            by: self.accountID,
            of: account,
            root: self.roots.count,
            signing: self.rootKey
        )
    }
}

extension TrustedAccount {
    /// Reads a list of links that another system of the account sent.
    ///
    /// - Throws: ``TrustError/Code/malformed``; ``TrustError/Code/badSignature``; ``TrustError/Code/retiredRoot`` if
    ///   the root key that signed it is retired.
    package func linkList(_ bytes: [UInt8], now: Date) throws(TrustError) -> LinkList {
        let list = try LinkList(bytes, of: self.roots)
        guard !self.roots.isRetired(list.root, at: now) else { throw RootStatement.linkList.retired }
        return list
    }
}

extension TrustError {
    static func malformedLinks(_ what: String) -> TrustError {
        TrustError(.malformed, "A list of linked accounts \(what). Nothing was changed.")
    }
}

extension IdentityError {
    static func invalidLink(_ text: String) -> IdentityError {
        IdentityError(.invalidLink, "\(text) Nothing was changed.")
    }

    static var tooManyLinks: IdentityError {
        IdentityError(
            .tooManyLinks,
            """
            An account has at most \(LinkList.maxLinks) links, with \(LinkList.maxBytes >> 10) KiB of grants and keys \
            in all. Nothing was changed. Withdraw a link first ('remotesystems account unlink').
            """
        )
    }
}
