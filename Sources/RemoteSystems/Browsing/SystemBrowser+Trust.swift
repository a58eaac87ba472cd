// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Exchanges trust information with the other systems of the account, and with those of linked accounts.
extension SystemBrowser {
    // MARK: Revoked systems

    /// Publishes the revocations, the root keys and the discovery key if they have changed.
    func publishTrust() {
        do {
            try self.trust.update(self.security.trust.own, links: self.account.links)
        } catch {
            self.logger.warning("The revocation list could not be published", metadata: ["reason": "\(error)"])
        }
    }

    /// Applies a change of the account: revocations, root keys, the discovery key.
    func trustChanged() {
        self.hasAdmittedSystems = nil
        self.publishTrust()
        self.forgetRevokedSystems()
        self.renewIfDue()
        guard self.security.identity.discoveryKey != self.browsedKey else { return }
        self.browsedKey = self.security.identity.discoveryKey
        // Advertisements that were of unknown systems may be the account's now, and the reverse.
        self.unrecognised.removeAll()
        self.browsing.change { $0 += 1 }
    }

    // MARK: Renewal

    /// Asks a system that holds the account's root key to renew this system's certificate if it is due.
    func renewIfDue() {
        let authorities = self.instanceStates.compactMap { instance, state in
            self.machine.isAuthority(instance) ? state.attempt?.connection : nil
        }
        self.renewIfDue(over: authorities)
    }

    func renewIfDue(over connections: [Connection]) {
        guard !connections.isEmpty else { return }
        Task(executorPreference: self.account.environment.taskExecutor) {
            await self.account.renewer.renewIfDue(of: self.account, over: connections, logger: self.logger)
        }
    }

    /// The handler of the requests that systems of the account send over presence connections: this system renews their
    /// certificates if it holds the root key. A system that only listens for connections may have no other way.
    func requestHandler() -> RequestHandler.Handle {
        let renewal = self.users.first.map { CertificateRenewal.service($0.run.context) }
        return { request, connection in
            guard let renewal else { return .requestUnknown }
            return await renewal.respond(to: request, on: connection)
        }
    }
}

extension SystemBrowserStateMachine {
    /// Whether the instance has described its system as one that holds the account's root key.
    func isAuthority(_ instance: String) -> Bool {
        if case .connected(_, let description?) = self.instances[instance]?.phase {
            description.isAuthority
        } else {
            false
        }
    }
}

extension Connection {
    /// Whether the peer's system belongs to this system's account. Only such systems renew certificates for each other
    /// and are remembered.
    var isWithinAccount: Bool {
        switch self.peer.standing {
        case .sameAccount: true
        case .linked, .anonymous: false
        }
    }

    /// Whether the two systems exchange revocation lists and root keys.
    var exchangesTrust: Bool { Authorisation.view(of: TrustTopic.schema.name, for: self.peer.standing) != nil }
}
