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
    /// - Parameter systemKey: The key for which the certificate was requested.
    package init(
        roots: RootChain,
        certificate: [UInt8],
        discoveryKey bytes: [UInt8],
        signedDiscoveryKey: [UInt8]?,
        revocations: [UInt8]?,
        systemKey: P256.Signing.PrivateKey,
        now: Date
    ) throws(TrustError) {
        guard var discoveryKey = DiscoveryKey(bytes: bytes) else {
            throw TrustError(.malformed, "The discovery key has an invalid length.")
        }
        var list: RevocationList?
        if let revocations { list = try TrustedAccount(roots: roots).revocationList(revocations, now: now) }
        if let signedDiscoveryKey {
            let key = try TrustedAccount(roots: roots).discoveryKey(signedDiscoveryKey, now: now)
            guard key.bytes == discoveryKey.bytes else {
                throw TrustError(.malformed, "The inviter sent two discovery keys.")
            }
            discoveryKey = key
        }
        let identity = try SystemIdentity(
            roots: roots,
            certificate: certificate,
            systemKey: systemKey,
            discoveryKey: discoveryKey,
            isAuthority: false
        )
        _ = try identity.trustStore(revocations: list).authorise(peerCertificate: certificate, now: now)
        self.init(identity: identity, revocations: list)
    }
}
