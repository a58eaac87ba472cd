// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import X509

/// The root keys that an account has had, oldest first.
///
/// The account's id is the id of the first key. Each further key has a certificate that its predecessor signed, a
/// *succession* (`Docs/wire-protocol.md`, section 2). A system that knows the first part of a chain can therefore
/// verify the rest. A value of this type holds verified successions only.
package struct RootChain: Sendable {
    /// The maximum number of root keys in an account's life.
    package static let maxRoots = 16
    /// The maximum size of all certificates of a chain together, in bytes. A joining message can hold this many.
    package static let maxBytes = 7168

    /// The roots' certificates in DER. The first one is self-signed; only its bytes are used.
    package private(set) var certificates: [[UInt8]]
    private var roots: [Root]

    private struct Root {
        var id: KeyFingerprint
        var key: P256.Signing.PublicKey
        /// The time from which the key's signatures of certificates and revocation lists are invalid; `nil` for the
        /// newest.
        var retirement: Date?
        /// Whether the key was stolen when its successor replaced it.
        var wasStolen = false
    }

    /// Creates the chain of an account whose root key was never replaced.
    ///
    /// - Throws: ``TrustError/Code/malformed`` unless `der` is one certificate of a P-256 key.
    init(first der: [UInt8]) throws(TrustError) {
        guard let key = (try? Certificate(boundedDER: der))?.p256Key else {
            throw TrustError(.malformed, "The account's root certificate is invalid. Trying again will not help.")
        }
        self.certificates = [der]
        self.roots = [Root(id: KeyFingerprint(of: key), key: key)]
    }

    /// Reads a chain from ``bytes``.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    package init(_ bytes: [UInt8]) throws(TrustError) {
        guard bytes.count <= Self.maxBytes, let certificates = Self.split(bytes), let first = certificates.first else {
            throw TrustError(.malformed, "The account's root certificates are damaged. Trying again will not help.")
        }
        try self.init(first: first)
        for succession in certificates.dropFirst() { try self.append(succession) }
    }

    /// The account's id, which is the id of its first root key. Computed, because its alignment would make a chain
    /// expensive to keep in an asynchronous function's frame.
    package var accountID: AccountID { AccountID(self.roots[0].id) }

    /// The concatenated certificates, the first root's first. For an account whose root key was never replaced, this is
    /// one certificate.
    package var bytes: [UInt8] { Array(self.certificates.joined()) }

    /// The number of root keys.
    package var count: Int { self.roots.count }

    /// The certificates of all roots but the first, newest first, which is the order of a TLS handshake.
    package var successions: [[UInt8]] { self.certificates.dropFirst().reversed() }

    var newestKey: P256.Signing.PublicKey { self.roots[self.roots.count - 1].key }

    /// The number of the root with this key, from 1; `nil` if the account has no such root.
    func number(of key: P256.Signing.PublicKey) -> Int? { self.number(of: KeyFingerprint(of: key)) }

    /// The id of the root with this number, from 1; `nil` if the chain does not have it.
    package func id(of number: Int) -> KeyFingerprint? { self.hasRoot(number) ? self.roots[number - 1].id : nil }

    /// The number of the root with this id, from 1; `nil` if the chain does not have it.
    func number(of id: KeyFingerprint) -> Int? { self.roots.firstIndex { $0.id == id }.map { $0 + 1 } }

    /// Whether the chain has a root with this number, from 1. A chain that replaced a longer one may not.
    func hasRoot(_ number: Int) -> Bool { (1...self.count).contains(number) }

    /// Returns the time at which the root with this number, from 1, was or will be retired; `nil` for the newest, and
    /// for a number that the chain does not have.
    func retirement(of number: Int) -> Date? { self.hasRoot(number) ? self.roots[number - 1].retirement : nil }

    /// Whether the root with this number, from 1, is retired, or is not a root of the account any more. Its signatures
    /// are then invalid, except those of successions. A stolen one is retired whatever the clock says, which may be
    /// behind.
    func isRetired(_ number: Int, at now: Date) -> Bool {
        guard self.hasRoot(number), !self.isStolen(number) else { return true }
        return self.retirement(of: number).map { $0 <= now } ?? false
    }

    /// Whether the root with this id is retired, or is not a root of the account any more.
    func isRetired(_ id: KeyFingerprint, at now: Date) -> Bool {
        self.number(of: id).map { self.isRetired($0, at: now) } ?? true
    }

    /// Whether the key of the root with this number, from 1, or a later one was stolen: what it signed may be a
    /// thief's.
    func isStolen(_ number: Int) -> Bool { self.isStolen(number, before: self.count) }

    /// Whether the key of the root with this number, from 1, or a later one was stolen before the root `other` replaced
    /// it.
    func isStolen(_ number: Int, before other: Int) -> Bool {
        guard number >= 1, number < other, other <= self.count else { return false }
        return self.roots[(number - 1)..<(other - 1)].contains { $0.wasStolen }
    }

    /// The number, from 1, of the newest root for whose key `verify` returns true.
    func signer(_ verify: (P256.Signing.PublicKey) -> Bool) -> Int? {
        self.roots.lastIndex { verify($0.key) }.map { $0 + 1 }
    }

    // MARK: Growing

    /// Appends a root key that the newest root has signed.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    mutating func append(_ der: [UInt8]) throws(TrustError) {
        guard self.count < Self.maxRoots, self.certificates.reduce(der.count, { $0 + $1.count }) <= Self.maxBytes else {
            throw .malformedRoots("are more than an account can have")
        }
        let succession = try RootSuccession(der)
        guard succession.accountID == self.accountID else { throw .malformedRoots("name another account") }
        guard succession.number == self.count + 1 else { throw .malformedRoots("are not in order") }
        guard succession.isSigned(by: self.newestKey) else { throw .forgedRoots }
        let id = KeyFingerprint(of: succession.key)
        guard !self.roots.contains(where: { $0.id == id }) else { throw .malformedRoots("hold one key twice") }
        // A root is not valid for longer than a later one. So a stolen key ends what earlier ones signed, too.
        for index in self.roots.indices {
            let earlier = self.roots[index].retirement ?? succession.retirement
            self.roots[index].retirement = min(earlier, succession.retirement)
        }
        self.roots[self.count - 1].wasStolen = succession.retiresAtOnce
        self.roots.append(Root(id: id, key: succession.key))
        self.certificates.append(der)
    }

    /// Returns this chain, extended by the unknown roots that a peer presents after its certificate.
    ///
    /// The known roots stay as they are. The chain is extended if the peer's chain begins with it.
    ///
    /// - Parameter successions: The certificates of all the peer's roots but the first, newest first. Empty for a peer
    ///   that knows one root.
    /// - Throws: ``TrustError/Code/conflictingRoots`` if a known root signed two successors and the peer presents the
    ///   one that is not known here; ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    package func extended(by successions: [[UInt8]]) throws(TrustError) -> RootChain {
        guard successions.count < Self.maxRoots else { throw .malformedRoots("are more than an account can have") }
        var chain = self
        for (index, der) in successions.reversed().enumerated() {
            let number = index + 2
            guard number <= chain.count else {
                try chain.append(der)
                continue
            }
            guard der != chain.certificates[number - 1] else { continue }
            let succession = try RootSuccession(der)
            guard succession.accountID == self.accountID, succession.number == number else {
                throw .malformedRoots("are not in order, or name another account")
            }
            guard succession.isSigned(by: chain.roots[number - 2].key) else { throw .forgedRoots }
            // Another certificate of the same successor changes nothing: the first one learned stays.
            guard chain.roots[number - 1].id == KeyFingerprint(of: succession.key) else { throw .conflictingRoots }
        }
        return chain
    }

    /// Returns the longer of two chains of an account, one of which begins with the other.
    ///
    /// - Throws: As ``extended(by:)``; ``TrustError/Code/notOurAccount`` for the chain of another account.
    package func extended(by other: RootChain) throws(TrustError) -> RootChain {
        guard other.accountID == self.accountID else { throw .notOurAccount }
        return try self.extended(by: other.successions)
    }

    /// The account that a chain names, without verifying any signature; `nil` if it is damaged.
    static func account(ofUnverified bytes: [UInt8]) -> AccountID? {
        guard bytes.count <= Self.maxBytes, let first = Self.split(bytes)?.first else { return nil }
        return (try? RootChain(first: first))?.accountID
    }

    /// Splits concatenated certificates; `nil` unless they are complete DER sequences.
    private static func split(_ bytes: [UInt8]) -> [[UInt8]]? {
        var rest = bytes[...]
        var parts: [[UInt8]] = []
        while !rest.isEmpty {
            guard let length = Self.lengthOfSequence(rest), length <= rest.count, parts.count < Self.maxRoots else {
                return nil
            }
            parts.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return parts
    }

    /// The size in bytes of the DER sequence at the beginning, including its tag and length.
    private static func lengthOfSequence(_ bytes: ArraySlice<UInt8>) -> Int? {
        let head = Array(bytes.prefix(4))
        guard head.count == 4, head[0] == 0x30 else { return nil }
        return switch head[1] {
        case 0..<0x80: 2 + Int(head[1])
        case 0x81: 3 + Int(head[2])
        case 0x82: 4 + Int(head[2]) << 8 + Int(head[3])
        default: nil
        }
    }
}

extension RootChain: Hashable {
    /// Returns whether two chains have the same keys.
    package static func == (one: RootChain, other: RootChain) -> Bool {
        one.roots.map(\.id) == other.roots.map(\.id)
    }

    package func hash(into hasher: inout Hasher) {
        for root in self.roots { hasher.combine(root.id) }
    }
}

extension TrustError {
    static func malformedRoots(_ what: String) -> TrustError {
        TrustError(.malformed, "The account's root certificates \(what). Trying again will not help.")
    }

    fileprivate static var forgedRoots: TrustError {
        TrustError(
            .badSignature,
            """
            The account's newer root key was not signed by the one before it. The other system is faulty or hostile; \
            trying again will not help.
            """
        )
    }

    fileprivate static var conflictingRoots: TrustError {
        TrustError(
            .conflictingRoots,
            """
            The account's root key was replaced twice, by two different keys. This system follows the one that it \
            received first, and does not trust systems that follow the other. If that is the wrong one, run \
            'remotesystems account leave --force' on this machine, then join the account again.
            """,
            toPeer: """
                The account's root key was replaced twice, by two different keys, and the other side follows another \
                one than your system. On the machine that follows the wrong one, run 'remotesystems account leave \
                --force', then join the account again.
                """
        )
    }
}
