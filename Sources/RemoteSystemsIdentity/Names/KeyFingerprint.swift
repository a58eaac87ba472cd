// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import FoundationEssentials

/// The SHA-256 of a public key's SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). No system without that key can claim it.
///
/// Stored as four words rather than an array, so that ids are copied and compared without allocation. A vector does not
/// work: its alignment of 32 bytes makes the compiler's frames of asynchronous functions too small
/// (Docs/decisions/0008-async-frames.md).
package struct KeyFingerprint: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// The number of bytes in a fingerprint.
    package static let byteCount = 32

    package init(of key: P256.Signing.PublicKey) {
        self.init(digest: SHA256.hash(data: key.derRepresentation))
    }

    private init(digest: SHA256.Digest) {
        self.init(words: digest)
    }

    /// Creates a fingerprint from `bytes`; `nil` unless there are 32 of them.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(words: bytes)
    }

    /// Parses 52 canonical base32 characters; `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        guard let bytes = Base32.decode(text, count: Self.byteCount) else { return nil }
        self.init(words: bytes)
    }

    private init(words bytes: some Sequence<UInt8>) {
        var bytes = bytes.makeIterator()
        func word() -> UInt64 { (0..<8).reduce(0) { word, _ in word << 8 | UInt64(bytes.next() ?? 0) } }
        self.first = word()
        self.second = word()
        self.third = word()
        self.fourth = word()
    }

    package var bytes: [UInt8] {
        [self.first, self.second, self.third, self.fourth].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
        }
    }

    package var text: String { Base32.encode(self.bytes) }
}

extension KeyFingerprint: Comparable {
    package static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.first, lhs.second, lhs.third, lhs.fourth) < (rhs.first, rhs.second, rhs.third, rhs.fourth)
    }
}
