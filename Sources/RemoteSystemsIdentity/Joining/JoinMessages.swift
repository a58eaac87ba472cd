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

/// The third message, joiner to inviter: proof that the joiner knows the secret and has the same transcript.
package struct JoinProof: Hashable, Sendable {
    package var code: [UInt8]

    package init(code: [UInt8]) {
        self.code = code
    }
}

/// The last message, inviter to joiner: the joiner's certificate, the account's discovery key, and the inviter's proof.
///
/// `revocations` and `signedDiscoveryKey` are not part of the proof: the account's root key signed them.
package struct JoinAccepted: Hashable, Sendable {
    package var code: [UInt8]
    package var certificate: [UInt8]
    package var discoveryKey: [UInt8]
    /// The discovery key with its signature; `nil` for the key with which the account was created.
    package var signedDiscoveryKey: [UInt8]?
    /// The account's revocation list; `nil` if no system was revoked.
    package var revocations: [UInt8]?

    package init(
        code: [UInt8],
        certificate: [UInt8],
        discoveryKey: [UInt8],
        signedDiscoveryKey: [UInt8]? = nil,
        revocations: [UInt8]? = nil
    ) {
        self.code = code
        self.certificate = certificate
        self.discoveryKey = discoveryKey
        self.signedDiscoveryKey = signedDiscoveryKey
        self.revocations = revocations
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
