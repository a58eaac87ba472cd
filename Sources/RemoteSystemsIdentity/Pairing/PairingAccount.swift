// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The account of one side of a pairing. By it, the waiting side recognises a system of its own account, with which
/// there is nothing to pair, before the persons compare digits.
///
/// The connecting side sends a proof that depends on both TLS keys, so that neither a recorded proof nor one that a
/// machine in the middle passes on is of use. Without the discovery key, a proof looks like random bytes, so
/// a stranger does not learn the account. What a proof causes is only the end of the attempt, with a reason.
package struct PairingAccount: Sendable {
    let id: AccountID
    private let discoveryKey: DiscoveryKey

    init(_ id: AccountID, _ discoveryKey: DiscoveryKey) {
        self.id = id
        self.discoveryKey = discoveryKey
    }

    func proof(connecting: KeyFingerprint, waiting: KeyFingerprint) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: connecting.bytes + waiting.bytes, using: self.key))
    }

    /// What a connecting side sends that has nothing to prove: as many random bytes as a proof has.
    static func noProof() -> [UInt8] { JoinLimit.randomNonce() }

    func isProof(_ proof: [UInt8], connecting: KeyFingerprint, waiting: KeyFingerprint) -> Bool {
        unsafe proof.withUnsafeBytes { bytes in
            unsafe HMAC<SHA256>.isValidAuthenticationCode(
                bytes,
                authenticating: connecting.bytes + waiting.bytes,
                using: self.key
            )
        }
    }

    /// A key for proofs only, so that no tag of an advertisement is part of one.
    private var key: SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: self.discoveryKey.bytes),
            info: Array("remote-systems/1 pair account".utf8),
            outputByteCount: 32
        )
    }
}
