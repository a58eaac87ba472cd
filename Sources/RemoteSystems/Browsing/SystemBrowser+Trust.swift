// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Exchanges trust information with the other systems of the account.
extension SystemBrowser {
    // MARK: Revoked systems

    /// Publishes the revocation list and the root keys if they have changed.
    func publishTrust() {
        do {
            try self.trust.update(self.account.revocations, roots: self.security.trust.own.roots)
            self.publisher.reviewRights()
        } catch {
            self.logger.warning("The revocation list could not be published", metadata: ["reason": "\(error)"])
        }
    }

    /// The open connections to systems of this account.
    var connections: [Connection] {
        self.attempts.values.compactMap(\.connection).filter(\.isWithinAccount)
    }

    // MARK: Renewal

    /// Asks the system that holds the account's root key to renew this system's certificate when it is due.
    func renewIfDue(over connection: Connection) {
        let identity = self.security.identity
        guard !identity.isAuthority, identity.isRenewalDue(at: Date()), !self.isRenewing else { return }
        self.isRenewing = true
        Task {
            defer { self.isRenewing = false }
            do {
                let request = try await self.account.accountQueue.run { try identity.makeRenewalRequest() }
                let renewal = try await CertificateRenewal.renew.call(
                    CertificateRenewal.Request(request: Data(request)),
                    over: connection,
                    timeout: .seconds(10)
                )
                let store = try self.account.store()
                let roots = self.security.trust.own.roots
                let renewed = try await self.account.accountQueue.run {
                    // A root key that is not stored yet may have signed the certificate.
                    if roots.count > identity.roots.count { try store.install(roots: roots) }
                    return try store.install(renewedCertificate: Array(renewal.certificate), now: Date())
                }
                try self.security.update(identity: renewed)
            } catch {
                self.logger.warning(
                    "The system's certificate could not be renewed",
                    metadata: ["reason": "\(error)"]
                )
            }
        }
    }
}

extension Connection {
    /// Whether the peer's system belongs to this system's account. Systems of other accounts are only listed: they
    /// exchange no trust information and no certificates.
    var isWithinAccount: Bool {
        switch self.peer.standing {
        case .sameAccount: true
        case .linked, .anonymous: false
        }
    }
}
