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
    /// The number of the account's root key that signed the list, from 1.
    package let root: Int
    /// The list as stored and sent: the CBOR map, the signature (64 bytes).
    package let bytes: [UInt8]

    /// The maximum number of links in force.
    package static let maxLinks = 24
    /// The maximum number of withdrawn links. The oldest are dropped.
    static let maxWithdrawn = 24
    package static let maxBytes = 256 << 10

    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 32_768, bytes: Self.maxBytes)

    private enum Key {
        static let number = "number"
        static let links = "links"
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
            let entries = map[Key.links]?.array, entries.count <= Self.maxLinks + Self.maxWithdrawn
        else { throw .malformedLinks("cannot be read") }
        let links = entries.compactMap { AccountLink($0.dictionary, own: roots) }
        guard links.count == entries.count, zip(links, links.dropFirst()).allSatisfy({ $0.account < $1.account }),
            links.allSatisfy({ $0.number <= number }), links.count(where: { $0.withdrawal == nil }) <= Self.maxLinks
        else { throw .malformedLinks("has an invalid entry") }
        self.number = number
        self.links = links
        self.root = root
        self.bytes = bytes
    }

    /// Creates a list and signs it with `key`.
    ///
    /// - Throws: ``IdentityError/Code/tooManyLinks``.
    init(
        number: UInt64,
        _ links: [AccountLink],
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
        let map: ValueSet = [
            Key.number: .unsigned(number), Key.links: .array(self.links.map { .dictionary($0.value) }),
        ]
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
    package func isNewer(than other: LinkList) -> Bool { (self.root, self.number) > (other.root, other.number) }

    /// The link with an account, withdrawn or not.
    package subscript(account: AccountID) -> AccountLink? { self.links.first { $0.account == account } }

    /// Returns the links of both lists: of each account the entry that was changed last.
    func merged(with other: LinkList) -> [AccountLink] {
        var links = Dictionary(self.links.map { ($0.account, $0) }) { first, _ in first }
        links.merge(other.links.map { ($0.account, $0) }) { $0.number >= $1.number ? $0 : $1 }
        return Array(links.values)
    }
}

extension AccountAuthority {
    /// Creates and signs a list of links that replaces every list with a lower number.
    ///
    /// - Parameter number: The result of ``nextNumber(after:now:)``.
    func linkList(of links: [AccountLink], number: UInt64) throws(IdentityError) -> LinkList {
        try LinkList(number: number, links, of: self.accountID, root: self.roots.count, signing: self.rootKey)
    }

    /// The number of the list of links that follows `list`: at least the clock's milliseconds since 1970, so that two
    /// machines with the account's root key do not use the same number twice.
    func nextNumber(after list: LinkList?, now: Date) throws(IdentityError) -> UInt64 {
        let clock = UInt64(min(max(now.timeIntervalSince1970 * 1000, 0), 1e15))
        guard let list else { return clock }
        guard list.number < UInt64(Int64.max) else {
            throw .invalidLink("The list of linked accounts has the highest possible number.")
        }
        return max(list.number + 1, clock)
    }

    func withdrawal(of account: AccountID, number: UInt64) throws(IdentityError) -> LinkWithdrawal {
        try LinkWithdrawal(number: number, by: self.accountID, of: account, signing: self.rootKey)
    }
}

extension TrustedAccount {
    /// Reads a list of links that another system of the account sent.
    ///
    /// - Throws: ``TrustError/Code/malformed``; ``TrustError/Code/badSignature``; ``TrustError/Code/retiredRoot`` if
    ///   the root key that signed it is retired.
    package func linkList(_ bytes: [UInt8], now: Date) throws(TrustError) -> LinkList {
        let list = try LinkList(bytes, of: self.roots)
        guard !self.isRetired(list.root, at: now) else {
            throw TrustError(
                .retiredRoot,
                """
                A list of linked accounts was signed by a root key that the account has replaced. Nothing was changed.
                """
            )
        }
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
