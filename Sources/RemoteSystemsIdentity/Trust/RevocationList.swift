// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The systems that were revoked from an account, signed by the account's root key (`Docs/wire/revocation.md`).
///
/// Because of the signature, any system may pass the list on. Lists only grow. A revoked system that is invited again
/// has a new key, and so another id.
package struct RevocationList: Hashable, Sendable {
    /// The list's number. Of two lists that the same root key signed, the one with the greater number is newer.
    package let number: UInt64

    /// The revoked systems, in ascending order.
    package let systems: [SystemID]

    /// The list as stored and sent: the number (8 bytes, big-endian), the ids (32 bytes each), the signature (64
    /// bytes).
    package let bytes: [UInt8]

    /// The number of the account's root key that signed the list, from 1.
    package let root: Int

    /// Older lists of the same root key that name systems which this list lacks, the newest first. Empty unless two
    /// machines with the account's root key revoked systems without knowing of each other. The systems on these lists
    /// stay revoked until a machine with the root key signs one list of all (``merging(_:)``).
    package private(set) var older: [RevocationList] = []

    /// The maximum number of systems in a list: 4096, which is 128 KiB of ids.
    package static let maxSystems = 4096
    /// The length of a list without systems.
    package static let minBytes = UInt64.byteCount + RootStatement.signatureBytes
    package static let maxBytes = Self.minBytes + Self.maxSystems * KeyFingerprint.byteCount

    /// The maximum number of ``older`` lists.
    package static let maxOlder = 3

    /// Reads a list and verifies its signature.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    init(_ bytes: [UInt8], of roots: RootChain) throws(TrustError) {
        guard Self.canHave(length: bytes.count) else {
            throw TrustError(.malformed, "A revocation list has an invalid length.")
        }
        let (body, root) = try roots.verified(bytes, as: .revocationList)
        let systems = Self.systems(body)
        guard zip(systems, systems.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw TrustError(.malformed, "A revocation list is not in order.")
        }
        self.root = root
        self.number = UInt64(bigEndianBytes: body)
        self.systems = systems
        self.bytes = bytes
    }

    /// The number of a list whose signature is not verified yet; `nil` if the length is not that of a list.
    package static func number(in bytes: [UInt8]) -> UInt64? {
        Self.canHave(length: bytes.count) ? UInt64(bigEndianBytes: bytes[...]) : nil
    }

    private static func canHave(length: Int) -> Bool {
        (Self.minBytes...Self.maxBytes).contains(length)
            && (length - Self.minBytes).isMultiple(of: KeyFingerprint.byteCount)
    }

    /// Creates a list and signs it with `key`.
    init(
        number: UInt64,
        _ systems: Set<SystemID>,
        of account: AccountID,
        root: Int = 1,
        signing key: P256.Signing.PrivateKey
    ) throws(IdentityError) {
        guard systems.count <= Self.maxSystems else {
            throw IdentityError(
                .tooManySystems,
                """
                \(Self.maxSystems) systems were revoked from this account, which is the maximum. Create another \
                account for the remaining systems.
                """
            )
        }
        self.root = root
        self.number = number
        self.systems = systems.sorted()
        self.bytes = try RootStatement.revocationList.signed(
            number.bigEndianBytes + self.systems.flatMap(\.bytes),
            by: account,
            with: key
        )
    }

    /// Whether the list replaces another list of its account: a newer root key signed it, or the same root key with a
    /// greater number. So a thief of a retired root key cannot block new lists by using the highest number.
    package func isNewer(than other: RevocationList) -> Bool { self.position > other.position }

    /// The place of the list in the order of the account's lists.
    package var position: TrustPosition { TrustPosition(root: self.root, number: self.number) }

    /// All systems that are revoked: those on the list and those on the ``older`` ones, in ascending order.
    package var allSystems: [SystemID] {
        guard !self.older.isEmpty else { return self.systems }
        return self.older.reduce(into: Set(self.systems)) { $0.formUnion($1.systems) }.sorted()
    }

    /// The bytes of this list and of the ``older`` ones.
    package var allBytes: [[UInt8]] { [self.bytes] + self.older.map(\.bytes) }

    /// Returns the newest of the lists, with those of the others that name further systems.
    ///
    /// Only lists of the newest root key among them count. A thief of a replaced root key could otherwise keep systems
    /// revoked. The order of merging does not matter.
    package func merging(_ list: RevocationList) -> RevocationList {
        let all = [self, list].flatMap { [$0.alone] + $0.older }
        let root = max(self.root, list.root)
        var rest = all.filter { $0.root == root }.sorted { $1.precedes($0) }[...]
        guard var newest = rest.popFirst() else { return self }
        var kept: [Set<SystemID>] = [Set(newest.systems)]
        for one in rest where newest.older.count < Self.maxOlder {
            let systems = Set(one.systems)
            guard !kept.contains(where: { $0.isSuperset(of: systems) }) else { continue }
            kept.append(systems)
            newest.older.append(one)
        }
        return newest
    }

    /// Whether merging another list changes more than the number of the newest list: a newer root key signed the other
    /// list, or it names further systems, or it replaces several lists by fewer.
    package func gains(from list: RevocationList) -> Bool {
        let merged = self.merging(list)
        return merged.root > self.root || merged.older.count < self.older.count
            || !merged.allSystems.allSatisfy(self.contains)
    }

    /// The list without the ``older`` ones.
    package var alone: RevocationList {
        var list = self
        list.older = []
        return list
    }

    /// A total order. Two lists have the same number if two machines signed them in the same millisecond.
    private func precedes(_ other: RevocationList) -> Bool {
        self.position == other.position
            ? self.bytes.lexicographicallyPrecedes(other.bytes) : self.position < other.position
    }

    /// The systems in a list whose signature is not verified; `nil` if the length is not that of a list.
    package static func systems(in bytes: [UInt8]) -> [SystemID]? {
        Self.canHave(length: bytes.count) ? Self.systems(bytes.dropLast(RootStatement.signatureBytes)) : nil
    }

    private static func systems(_ body: ArraySlice<UInt8>) -> [SystemID] {
        let ids = body.dropFirst(UInt64.byteCount)
        return stride(from: ids.startIndex, to: ids.endIndex, by: KeyFingerprint.byteCount)
            .compactMap { SystemID(bytes: ids[$0..<($0 + KeyFingerprint.byteCount)]) }
    }

    /// Whether the system was revoked.
    package func contains(_ system: SystemID) -> Bool {
        self.names(system) || self.older.contains { $0.names(system) }
    }

    private func names(_ system: SystemID) -> Bool {
        var range = self.systems.indices
        while let first = range.first {
            let middle = first + range.count / 2
            if self.systems[middle] == system { return true }
            range = self.systems[middle] < system ? middle + 1..<range.endIndex : first..<middle
        }
        return false
    }
}
