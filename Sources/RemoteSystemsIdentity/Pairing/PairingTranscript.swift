// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The hash over everything that two sides of a pairing have said, and what is derived from it.
///
/// It contains the keys of both TLS certificates. A man in the middle has other keys, so the two persons see different
/// digits.
struct PairingTranscript: Hashable, Sendable {
    let digest: [UInt8]
    private let nonces: [UInt8]

    static let nonceBytes = 32
    private static let decimals: UInt64 = 1_000_000

    /// One side's part: what it committed to, or answered with.
    struct Part: Hashable, Sendable {
        var key: KeyFingerprint
        var nonce: [UInt8]
        var intention: [UInt8]

        /// The waiting side's commitment to its part.
        var commitment: [UInt8] {
            var hash = SHA256()
            hash.add(Array("remote-systems/1 pair commitment".utf8))
            hash.add(self)
            return Array(hash.finalize())
        }
    }

    init(connecting: Part, waiting: Part) {
        var hash = SHA256()
        hash.add(Array("remote-systems/1 pair".utf8))
        hash.add(connecting)
        hash.add(waiting)
        self.digest = Array(hash.finalize())
        self.nonces = connecting.nonce + waiting.nonce
    }

    /// The six digits that both persons compare.
    ///
    /// They are a number of 64 bits modulo a million, so no digits are more likely than others by more than 2⁻⁴⁴.
    var digits: String {
        let number = unsafe self.key("digits", count: 8).withUnsafeBytes { bytes in
            unsafe bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let text = String(number % Self.decimals)
        return String(repeating: "0", count: 6 - text.count) + text
    }

    /// 32 bytes that identify the pairing. Both sides have the same, and no other pairing has them.
    var binding: [UInt8] {
        unsafe self.key("binding", count: 32).withUnsafeBytes { unsafe Array($0) }
    }

    /// The proof that a side has this transcript. Each side has its own key, so that neither can send back the other's.
    func confirmation(by role: Pairing.Role) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: self.digest, using: self.confirmationKey(role)))
    }

    func isConfirmation(_ code: [UInt8], by role: Pairing.Role) -> Bool {
        unsafe code.withUnsafeBytes { bytes in
            unsafe HMAC<SHA256>.isValidAuthenticationCode(
                bytes,
                authenticating: self.digest,
                using: self.confirmationKey(role)
            )
        }
    }

    private func confirmationKey(_ role: Pairing.Role) -> SymmetricKey {
        self.key("\(role.rawValue) confirms", count: 32)
    }

    private func key(_ purpose: String, count: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: self.nonces),
            salt: self.digest,
            info: Array("remote-systems/1 pair \(purpose)".utf8),
            outputByteCount: count
        )
    }
}

extension SHA256 {
    fileprivate mutating func add(_ part: PairingTranscript.Part) {
        self.add(part.key.bytes)
        self.add(part.nonce)
        self.add(part.intention)
    }

    /// Adds a field after its length, so that no two transcripts have the same hash input.
    fileprivate mutating func add(_ field: [UInt8]) {
        self.update(data: (0..<8).map { UInt8(truncatingIfNeeded: UInt64(field.count) >> UInt64(56 - 8 * $0)) })
        self.update(data: field)
    }
}
