// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Joiner to inviter, first: a random nonce, and a signing request for the key that the joiner's TLS certificate holds.
package struct JoinHello: Hashable, Sendable {
    package var nonce: [UInt8]
    package var signingRequest: [UInt8]

    package init(nonce: [UInt8], signingRequest: [UInt8]) {
        self.nonce = nonce
        self.signingRequest = signingRequest
    }
}

/// Inviter to joiner, second: a random nonce and who the inviter is. The certificate is the one it speaks TLS with, and
/// the root certificate is that of each of the account's roots, as ``RootChain/bytes``.
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

/// Joiner to inviter, third: proof that the joiner knows the secret and sees the same conversation.
package struct JoinProof: Hashable, Sendable {
    package var code: [UInt8]

    package init(code: [UInt8]) {
        self.code = code
    }
}

/// Inviter to joiner, last: the joiner's certificate, the account's discovery key, and the inviter's proof.
package struct JoinAccepted: Hashable, Sendable {
    package var code: [UInt8]
    package var certificate: [UInt8]
    package var discoveryKey: [UInt8]

    package init(code: [UInt8], certificate: [UInt8], discoveryKey: [UInt8]) {
        self.code = code
        self.certificate = certificate
        self.discoveryKey = discoveryKey
    }
}

extension JoinAccepted: CustomStringConvertible, CustomReflectable {
    package var description: String { "JoinAccepted(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Inviter to joiner, instead of an answer: why not. The raw values are on the wire and frozen.
package enum JoinRefusal: String, Hashable, Sendable {
    case expired
    case alreadyUsed = "already-used"
    case wrongSecret = "wrong-secret"
    case malformed
    case failed
}
