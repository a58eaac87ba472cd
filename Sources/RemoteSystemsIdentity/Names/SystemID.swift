// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto

/// The id of one system: one user on one machine.
///
/// The id is the SHA-256 of the system's public key, in base32 (RFC 4648 §6, lower case, no padding: 52 characters).
/// Only the holder of the private key can use it. It does not change when the system's certificate, display name or
/// addresses change.
public struct SystemID: Hashable, Sendable, KeyBasedID {
    package let fingerprint: KeyFingerprint
    static let noun = "A system id"

    package init(_ fingerprint: KeyFingerprint) {
        self.fingerprint = fingerprint
    }

    package init(of key: P256.Signing.PublicKey) {
        self.fingerprint = KeyFingerprint(of: key)
    }

    /// The first eight characters: enough for a person to distinguish systems, not enough to trust one.
    public var short: String { String(self.description.prefix(8)) }

    /// The 32 bytes of the id.
    public var bytes: [UInt8] { self.fingerprint.bytes }

    /// Creates an id from bytes.
    ///
    /// - Parameter bytes: The 32 bytes of the id. For any other number of bytes, the result is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard let fingerprint = KeyFingerprint(bytes: bytes) else { return nil }
        self.fingerprint = fingerprint
    }
}

extension SystemID: LosslessStringConvertible {
    /// Creates an id from its text.
    ///
    /// - Parameter description: 52 canonical lower-case base32 characters. For any other text, the result is `nil`.
    public init?(_ description: String) {
        guard let fingerprint = KeyFingerprint(description) else { return nil }
        self.fingerprint = fingerprint
    }

    /// The 52 characters of the id.
    public var description: String { self.fingerprint.text }
}
