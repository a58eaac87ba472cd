// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import FoundationEssentials

/// The SHA-256 of a public key's SubjectPublicKeyInfo (RFC 5280 §4.1.2.7): a name that nobody else can claim.
///
/// Held as four words rather than an array, so that the ids made of it are copied and compared without allocation.
package struct KeyFingerprint: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// The number of bytes in a fingerprint.
    package static let byteCount = 32

    package init(of key: P256.Signing.PublicKey) {
        self.init(digest: SHA256.hash(data: key.derRepresentation))
    }

    private init(digest: SHA256.Digest) {
        self.init(words: digest)
    }

    /// The fingerprint made of `bytes`, or nil unless there are 32 of them.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(words: bytes)
    }

    /// The fingerprint that 52 canonical base32 characters spell, or nil.
    package init?(_ text: some StringProtocol) {
        guard let bytes = Base32.decode(text, count: Self.byteCount) else { return nil }
        self.init(words: bytes)
    }

    private init(words bytes: some Sequence<UInt8>) {
        var words = SIMD4<UInt64>.zero
        for (index, byte) in bytes.enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        self.words = words
    }

    package var bytes: [UInt8] {
        (0..<Self.byteCount).map { index in
            UInt8(truncatingIfNeeded: self.words[index / 8] >> UInt64(56 - 8 * (index % 8)))
        }
    }

    package var text: String { Base32.encode(self.bytes) }
}

extension KeyFingerprint: Comparable {
    package static func < (lhs: Self, rhs: Self) -> Bool {
        for index in 0..<4 where lhs.words[index] != rhs.words[index] {
            return lhs.words[index] < rhs.words[index]
        }
        return false
    }
}
