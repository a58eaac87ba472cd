// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// A secret that all systems of an account share, to recognise each other's advertisements.
///
/// A matching tag proves nothing: the advertised system must still be authenticated when it connects.
///
/// An account is created with a key. Each revocation replaces the key, because the revoked system knows it. The
/// replacement is signed by the account's root key and bound to the revocation list that was made with it, so that a
/// member can neither replace it by another key nor by an older one (``position``).
package struct DiscoveryKey: Hashable, Sendable {
    package static let byteCount = 32
    package static let tagByteCount = 8
    /// The length of a signed key: the number (8 bytes, big-endian), the key, the signature (64 bytes).
    package static let signedByteCount = UInt64.byteCount + Self.byteCount + RootStatement.signatureBytes

    package let bytes: [UInt8]

    /// The position of the revocation list that was made with this key; `nil` for the key with which the account was
    /// created. A system uses the key only together with that list or a newer one.
    package let position: TrustPosition?

    /// The signed key as stored and sent to systems of the account: number, key, signature; `nil` for the key with
    /// which the account was created. Secret, like ``bytes``.
    package let signedBytes: [UInt8]?

    /// Creates a random key.
    package init() {
        self.bytes = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
        (self.position, self.signedBytes) = (nil, nil)
    }

    /// Creates a key from `bytes`; `nil` unless there are 32 of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
        (self.position, self.signedBytes) = (nil, nil)
    }

    /// Creates a random key and signs it.
    ///
    /// - Parameter position: That of the revocation list that is made with the key.
    init(
        at position: TrustPosition,
        of account: AccountID,
        signing key: P256.Signing.PrivateKey
    ) throws(IdentityError) {
        let new = DiscoveryKey()
        self.signedBytes = try RootStatement.discoveryKey.signed(
            position.number.bigEndianBytes + new.bytes,
            by: account,
            with: key
        )
        self.bytes = new.bytes
        self.position = position
    }

    /// Reads a signed key and verifies its signature.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    init(signed bytes: [UInt8], of roots: RootChain) throws(TrustError) {
        guard bytes.count == Self.signedByteCount else {
            throw TrustError(.malformed, "A signed discovery key has an invalid length.")
        }
        let (body, root) = try roots.verified(bytes, as: .discoveryKey)
        self.bytes = Array(body.dropFirst(UInt64.byteCount))
        self.position = TrustPosition(root: root, number: UInt64(bigEndianBytes: body))
        self.signedBytes = bytes
    }

    /// Whether the key replaces another key of its account. A signed key never gives way to an unsigned one. Of two
    /// keys with the same position, which two machines with the root key can make in the same millisecond, every system
    /// chooses the same.
    package func isNewer(than other: DiscoveryKey) -> Bool {
        guard let position = self.position else { return false }
        guard let present = other.position else { return true }
        return position == present
            ? other.bytes.lexicographicallyPrecedes(self.bytes) : position > present
    }

    // MARK: Tags

    /// The tag of an advertisement: the first 8 bytes of HMAC-SHA256(key, "remote-systems/1" ‖ instance name in UTF-8).
    ///
    /// Instance names are random and short-lived, so tags do not link advertisements to each other.
    package func discoveryTag(instance: String) -> [UInt8] {
        var code = HMAC<SHA256>(key: SymmetricKey(data: self.bytes))
        code.update(data: Array("remote-systems/1".utf8))
        code.update(data: Array(instance.utf8))
        return Array(code.finalize().prefix(Self.tagByteCount))
    }

    /// Whether `tag` is the tag of `instance`. Compares in constant time.
    package func matches(_ tag: [UInt8], instance: String) -> Bool {
        let expected = self.discoveryTag(instance: instance)
        guard tag.count == expected.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(tag, expected) {
            difference |= one ^ other
        }
        return difference == 0
    }
}

extension DiscoveryKey {
    /// The key as stored in files: signed if it is.
    var storedBytes: [UInt8] { self.signedBytes ?? self.bytes }

    /// Reads ``storedBytes``.
    ///
    /// - Throws: ``TrustError/Code/malformed`` or ``TrustError/Code/badSignature``.
    init(stored bytes: [UInt8], of roots: RootChain) throws(TrustError) {
        if let unsigned = DiscoveryKey(bytes: bytes) {
            self = unsigned
        } else {
            try self.init(signed: bytes, of: roots)
        }
    }
}

extension DiscoveryKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "DiscoveryKey(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
