// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Crypto
package import FoundationEssentials

/// What a system receives when it joins an account.
package struct JoinedAccount: Sendable {
    package var identity: SystemIdentity
    /// The systems that were revoked before; `nil` if there are none.
    package var revocations: RevocationList?

    package init(identity: SystemIdentity, revocations: RevocationList? = nil) {
        self.identity = identity
        self.revocations = revocations
    }
}

extension JoinedAccount {
    /// Checks what the admitting system sent.
    ///
    /// - Parameters:
    ///   - roots: The account's root keys.
    ///   - systemKey: The key for which the certificate was requested.
    package init(
        _ admission: AccountAdmission,
        roots: RootChain,
        systemKey: P256.Signing.PrivateKey,
        now: Date
    ) throws(TrustError) {
        guard var discoveryKey = DiscoveryKey(bytes: admission.discoveryKey) else {
            throw TrustError(.malformed, "The discovery key has an invalid length.")
        }
        var list: RevocationList?
        if let bytes = admission.revocations {
            list = try TrustedAccount(roots: roots).revocationList(bytes, now: now)
        }
        if let bytes = admission.signedDiscoveryKey {
            let key = try TrustedAccount(roots: roots).discoveryKey(bytes, now: now)
            guard key.bytes == discoveryKey.bytes else {
                throw TrustError(.malformed, "The inviter sent two discovery keys.")
            }
            discoveryKey = key
        }
        let identity = try SystemIdentity(
            roots: roots,
            certificate: admission.certificate,
            systemKey: systemKey,
            discoveryKey: discoveryKey,
            isAuthority: false
        )
        _ = try identity.trustStore(revocations: list).authenticate(peerCertificate: admission.certificate, now: now)
        self.init(identity: identity, revocations: list)
    }
}
