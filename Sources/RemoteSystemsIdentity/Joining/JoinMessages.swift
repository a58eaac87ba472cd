// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The first message, joiner to inviter: a random nonce, and a signing request for the key of the joiner's TLS
/// certificate.
package struct JoinHello: Hashable, Sendable {
    package var nonce: [UInt8]
    package var signingRequest: [UInt8]

    package init(nonce: [UInt8], signingRequest: [UInt8]) {
        self.nonce = nonce
        self.signingRequest = signingRequest
    }
}

/// The second message, inviter to joiner: a random nonce and the inviter's identity.
///
/// `certificate` is the certificate of the TLS connection. `rootCertificate` holds the certificates of all the
/// account's roots, as ``RootChain/bytes``.
package struct JoinChallenge: Hashable, Sendable {
    package var nonce: [UInt8]
    package var certificate: [UInt8]
    package var rootCertificate: [UInt8]

    package init(nonce: [UInt8], certificate: [UInt8], rootCertificate: [UInt8]) {
        self.nonce = nonce
        self.certificate = certificate
        self.rootCertificate = rootCertificate
    }
}

/// The third message, joiner to inviter: proof that the joiner knows the secret and has the same transcript, and the
/// name of the joiner's system.
///
/// The name is here and not in the hello, so that only a system of the invitation's account receives it. The proof does
/// not cover it: it comes over the TLS connection of the joiner's key, and proves nothing.
package struct JoinProof: Hashable, Sendable {
    package var code: [UInt8]
    /// One line without control characters, at most 128 bytes; `nil` if the system gives none.
    package let name: String?

    /// Creates a proof.
    ///
    /// - Parameter name: Stored without control characters and cut at 128 bytes.
    package init(code: [UInt8], name: String? = nil) {
        self.code = code
        let name = name?.shortened(to: AccountLink.maxNameBytes) ?? ""
        self.name = name.isEmpty ? nil : name
    }
}

/// The last message, inviter to joiner: the joiner's admission, and the inviter's proof.
///
/// The proof covers the certificate and the discovery key. The account's root key signed the other parts.
package struct JoinAccepted: Hashable, Sendable {
    package var code: [UInt8]
    package var admission: AccountAdmission

    package init(code: [UInt8], _ admission: AccountAdmission) {
        self.code = code
        self.admission = admission
    }
}

extension JoinAccepted: CustomStringConvertible, CustomReflectable {
    package var description: String { "JoinAccepted(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A refusal, inviter to joiner, in place of the challenge or the acceptance. The raw values are on the wire and
/// frozen.
package enum JoinRefusal: String, Hashable, Sendable {
    case expired
    case alreadyUsed = "already-used"
    case wrongSecret = "wrong-secret"
    case malformed
    case failed
    /// The joiner's key is that of a revoked system.
    case revoked
}
