// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// What keeps the systems of an account of one mind about who is trusted.
extension SystemBrowser {
    // MARK: Revoked systems

    /// Tells the others who is revoked, as far as it has changed.
    func publishTrust() {
        do {
            try self.trust.update(self.account.revocations, roots: self.security.trust.own.roots)
            self.publisher.reviewRights()
        } catch {
            self.logger.warning("A revocation list could not be passed on", metadata: ["reason": "\(error)"])
        }
    }

    /// The open ones to systems of our account.
    var connections: [Connection] {
        self.attempts.values.compactMap(\.connection).filter(\.isWithinAccount)
    }

    // MARK: Renewal

    /// Has this system's certificate renewed by the machine that holds the account's key.
    func renewIfDue(over connection: Connection) {
        let identity = self.security.identity
        guard !identity.isAuthority, identity.isRenewalDue(at: Date()), !self.isRenewing else { return }
        self.isRenewing = true
        Task {
            defer { self.isRenewing = false }
            do {
                let request = try await self.account.accountQueue.run { try identity.makeRenewalRequest() }
                let response = try await connection.send(
                    ["Type": "renew", "Request": .data(Data(request))],
                    timeout: .seconds(10)
                )
                guard let certificate = response.message["Certificate"]?.data else {
                    throw RemoteSystemError(.refused, response.failure?.text ?? "It was refused.", side: .remote)
                }
                let store = try self.account.store()
                let roots = self.security.trust.own.roots
                let renewed = try await self.account.accountQueue.run {
                    // A root key that is not stored yet may have signed it.
                    if roots.count > identity.roots.count { try store.install(roots: roots) }
                    return try store.install(renewedCertificate: Array(certificate), now: Date())
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
    /// Whether the peer is a system of this system's own account: nothing but the list concerns systems of others.
    var isWithinAccount: Bool {
        switch self.peer.standing {
        case .sameAccount: true
        case .linked, .anonymous: false
        }
    }
}
