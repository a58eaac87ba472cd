// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Requests new certificates for this system from systems that hold the account's root key, one request at a time.
final class CertificateRenewer: Sendable {
    private struct State {
        var isRunning = false
        /// The connections to ask next.
        var waiting: [Connection] = []
    }

    /// The maximum number of connections that wait to be asked. More are not asked.
    private static let maxWaiting = 64

    private let state = Mutex(State())

    /// Asks over one connection after the other, until one of the peers has renewed the certificate. Returns at once if
    /// the certificate is not due. During another call, that call asks over these connections, too.
    func renewIfDue(of account: AccountContext, over connections: [Connection], logger: Logger) async {
        guard Self.isDue(account) else { return }
        let isFirst = self.state.withLock { state in
            state.waiting += connections.prefix(Self.maxWaiting - state.waiting.count)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        while let connection = self.next(account) {
            do {
                try await Self.renew(account, over: connection)
                logger.info("The system's certificate was renewed")
            } catch {
                logger.notice("The system's certificate could not be renewed", metadata: ["reason": "\(error)"])
            }
        }
    }

    private func next(_ account: AccountContext) -> Connection? {
        let isDue = Self.isDue(account)
        return self.state.withLock { state in
            if !isDue { state.waiting = [] }
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    /// Whether the certificate is due, also because a peer has just shown a newer root key.
    private static func isDue(_ account: AccountContext) -> Bool {
        guard account.environment.identity == nil, let security = try? account.security() else { return false }
        let identity = security.identity
        return (!identity.isAuthority && identity.isRenewalDue(at: Date()))
            || identity.root < security.trust.own.roots.count
    }

    private static func renew(_ account: AccountContext, over connection: Connection) async throws {
        let security = try account.security()
        let identity = security.identity
        let request = try await account.accountQueue.run { try identity.makeRenewalRequest() }
        let renewal = try await CertificateRenewal.renew.call(
            CertificateRenewal.Request(request: Data(request)),
            over: connection,
            timeout: .seconds(10)
        )
        let store = try account.store()
        let roots = security.trust.own.roots
        let renewed = try await account.accountQueue.run {
            // A root key that is not stored yet may have signed the certificate.
            if roots.count > identity.roots.count { try store.install(roots: roots) }
            return try store.install(renewedCertificate: Array(renewal.certificate), now: Date())
        }
        try security.update(identity: renewed)
    }
}
