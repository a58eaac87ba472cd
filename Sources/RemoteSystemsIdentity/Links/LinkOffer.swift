// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import ValueSets

/// What each account sends to the other when they are linked.
///
/// Send it only over a connection whose other end a person has confirmed (a compared code). An attacker that reads both
/// offers knows the link's discovery key. The account's newest root key signs the offer for one pairing, so that no
/// system can link an account whose root key it does not hold.
package struct LinkOffer: Sendable, Hashable {
    /// The sender's root keys.
    package let roots: RootChain
    /// The sender's newest revocation list; `nil` if there is none.
    package let revocations: RevocationList?
    /// The name of the sender's account, for the other person.
    package let name: String
    /// The rights that the sender's account grants.
    package let granted: Grants
    /// The number that the sender's list of links has reached.
    let number: UInt64
    /// The sender's half of the link's discovery key.
    let share: [UInt8]

    /// The maximum size of an offer, in bytes.
    package static let maxBytes = 176 << 10

    package var account: AccountID { self.roots.accountID }

    /// Creates an offer. A store makes the offers that are sent (``AccountStore/linkOffer(name:granting:now:)``).
    package init(
        roots: RootChain,
        revocations: RevocationList?,
        name: String,
        granted: Grants,
        number: UInt64,
        share: [UInt8] = DiscoveryKey().bytes
    ) {
        self.roots = roots
        self.revocations = revocations
        self.name = AccountLink.storable(name: name, of: roots.accountID)
        self.granted = granted
        self.number = number
        self.share = share
    }

    /// The discovery key of the link. Both sides get the same key, and neither determines it alone.
    func discoveryKey(with other: LinkOffer) -> DiscoveryKey {
        let (first, second) = self.account < other.account ? (self, other) : (other, self)
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: first.share + second.share),
            info: Array("remote-systems/1 link key".utf8) + first.account.bytes + second.account.bytes,
            outputByteCount: DiscoveryKey.byteCount
        )
        let bytes = unsafe key.withUnsafeBytes { unsafe Array($0) }
        // The key has the requested length.
        return DiscoveryKey(bytes: bytes) ?? DiscoveryKey()
    }

    // MARK: Coding

    private enum Key {
        static let roots = "roots"
        static let revocations = "revocations"
        static let name = "name"
        static let granted = "granted"
        static let number = "number"
        static let share = "share"
    }

    private static let limits = ValueSetLimits(depth: 8, keysPerDictionary: 64, items: 1024, bytes: Self.maxBytes)

    /// The offer as a CBOR map (`Docs/wire/links.md`).
    package func encoded() throws(IdentityError) -> [UInt8] {
        var map: ValueSet = [
            Key.roots: .data(Data(self.roots.bytes)), Key.name: .string(self.name),
            Key.granted: .dictionary(self.granted.value), Key.number: .unsigned(self.number),
            Key.share: .data(Data(self.share)),
        ]
        if let revocations { map[Key.revocations] = .data(Data(revocations.bytes)) }
        do {
            return try map.encoded(limits: Self.limits)
        } catch {
            throw .invalidLink("The offer of a link is too large.")
        }
    }

    /// Reads an offer. Unknown keys are ignored.
    ///
    /// - Throws: ``TrustError/Code/malformed``, or ``TrustError/Code/badSignature`` if the root keys or the revocation
    ///   list are not signed as they must be.
    package init(encoded bytes: [UInt8]) throws(TrustError) {
        guard bytes.count <= Self.maxBytes, let map = try? ValueSet(encoded: bytes, limits: Self.limits),
            let roots = map[Key.roots]?.data, let name = map[Key.name]?.string,
            let granted = Grants(map[Key.granted]?.dictionary), let number = map[Key.number]?.uint64,
            number < UInt64(Int64.max), let share = map[Key.share]?.data, share.count == DiscoveryKey.byteCount
        else { throw TrustError(.malformed, "The other side's offer of a link cannot be read. Nothing was changed.") }
        let chain = try RootChain(Array(roots))
        var revocations: RevocationList?
        if let element = map[Key.revocations] {
            revocations = try RevocationList(Array(element.data ?? Data()), of: chain)
        }
        self.init(
            roots: chain,
            revocations: revocations,
            name: name,
            granted: granted,
            number: number,
            share: Array(share)
        )
    }
}

extension LinkOffer {
    /// The length of an offer's signature, in bytes.
    package static let signatureBytes = RootStatement.signatureBytes

    /// Reads the other side's offer.
    ///
    /// - Parameters:
    ///   - signature: the signature of the newest root key in the offer.
    ///   - pairing: the bytes that identify the pairing (``Pairing/Action/carryOut(_:binding:)``).
    /// - Throws: As ``init(encoded:)``; ``TrustError/Code/badSignature`` if the signature is not that of the newest
    ///   root key for this pairing.
    package init(encoded bytes: [UInt8], signature: [UInt8], in pairing: [UInt8]) throws(TrustError) {
        try self.init(encoded: bytes)
        guard signature.count == Self.signatureBytes else { throw RootStatement.linkOffer.forged }
        let (_, root) = try self.roots.verified(bytes + signature, as: .linkOffer, for: pairing)
        guard root == self.roots.count else { throw RootStatement.linkOffer.forged }
    }
}

extension AccountAuthority {
    /// Signs an encoded offer of this account for one pairing.
    package func signature(of offer: [UInt8], in pairing: [UInt8]) throws(IdentityError) -> [UInt8] {
        let signed = try RootStatement.linkOffer.signed(offer, by: self.accountID, for: pairing, with: self.rootKey)
        return signed.suffix(RootStatement.signatureBytes)
    }
}

extension LinkOffer: CustomStringConvertible, CustomReflectable {
    package var description: String { "LinkOffer(of: \(self.account.short), secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
