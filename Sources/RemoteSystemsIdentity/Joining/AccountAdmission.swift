// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a system of an account sends to a system that joins the account, by an invitation or by pairing.
package struct AccountAdmission: Hashable, Sendable {
    /// The joining system's certificate, in DER.
    package var certificate: [UInt8]
    package var discoveryKey: [UInt8]
    /// The discovery key with its signature; `nil` for the key with which the account was created.
    package var signedDiscoveryKey: [UInt8]?
    /// The account's revocation list; `nil` if no system was revoked.
    package var revocations: [UInt8]?

    package init(
        certificate: [UInt8],
        discoveryKey: [UInt8],
        signedDiscoveryKey: [UInt8]? = nil,
        revocations: [UInt8]? = nil
    ) {
        self.certificate = certificate
        self.discoveryKey = discoveryKey
        self.signedDiscoveryKey = signedDiscoveryKey
        self.revocations = revocations
    }

    /// Creates the admission to the account of `identity`.
    init(certificate: [UInt8], by identity: SystemIdentity, revocations: RevocationList?) {
        self.init(
            certificate: certificate,
            discoveryKey: identity.discoveryKey.bytes,
            signedDiscoveryKey: identity.discoveryKey.signedBytes,
            revocations: revocations?.bytes
        )
    }
}

extension AccountAdmission: CustomStringConvertible, CustomReflectable {
    package var description: String { "AccountAdmission(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
