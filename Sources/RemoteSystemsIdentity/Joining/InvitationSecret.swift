// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// The 128 random bits of an invitation, which authorise a system to join. Its description and mirror hide them.
struct InvitationSecret: Hashable, Sendable {
    static let byteCount = 16

    private let bytes: [UInt8]

    init() {
        self.bytes = unsafe SymmetricKey(size: .bits128).withUnsafeBytes { unsafe Array($0) }
    }

    init?(text: String) {
        guard let bytes = Base32.decode(text, count: Self.byteCount) else { return nil }
        self.bytes = bytes
    }

    /// The secret in plain text, only for the invitation's text.
    var revealed: String { Base32.encode(self.bytes) }

    /// The key with which one side proves that it knows the secret. Each side has its own key, so that neither can send
    /// back the other's proof.
    func key(for side: JoinSide, account: AccountID) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: self.bytes),
            salt: account.bytes,
            info: Array("remote-systems/1 join \(side.rawValue)".utf8),
            outputByteCount: 32
        )
    }
}

extension InvitationSecret: CustomStringConvertible, CustomReflectable {
    var description: String { "InvitationSecret(secret)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The two ends of joining.
enum JoinSide: String {
    case joiner, inviter
}
