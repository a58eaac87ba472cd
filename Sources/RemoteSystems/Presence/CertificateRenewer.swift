// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Requests new certificates for this system from systems that hold the account's root key, one request at a time.
///
/// A system has one place among those that wait, however many connections it has, and is asked a limited number of
/// times. So a system that does not respond, or fails and connects again, delays the others by one timeout. It is asked
/// over its earliest connection that is still open: a later one may belong to a command that ends soon.
final class CertificateRenewer: Sendable {
    private struct State {
        var isRunning = false
        /// The systems to ask next: the connections of each, earliest first.
        var waiting: [[Connection]] = []
        var attempts = KeyedTokenBuckets<SystemID>(
            capacity: CertificateRenewer.attempts,
            rate: 1 / Double(CertificateRenewer.pause.components.seconds)
        )

        mutating func add(_ connection: Connection) {
            let system = connection.peer.systemID
            guard let index = self.waiting.firstIndex(where: { $0.first?.peer.systemID == system }) else {
                if self.waiting.count < CertificateRenewer.maxWaiting { self.waiting.append([connection]) }
                return
            }
            var connections = self.waiting[index].filter { !$0.hasEnded }
            guard !connections.contains(where: { $0 === connection }) else { return }
            if connections.count >= CertificateRenewer.maxConnections { connections.removeLast() }
            self.waiting[index] = connections + [connection]
        }

        /// Lets a system be asked next over these connections, before those that it opened meanwhile.
        mutating func putBack(_ connections: [Connection]) {
            guard let system = connections.first?.peer.systemID else { return }
            var later: [Connection] = []
            if let index = self.waiting.firstIndex(where: { $0.first?.peer.systemID == system }) {
                later = self.waiting.remove(at: index)
            }
            let all = connections + later.filter { other in !connections.contains { $0 === other } }
            self.waiting.insert(Array(all.prefix(CertificateRenewer.maxConnections)), at: 0)
        }
    }

    /// The maximum number of systems that wait to be asked. More are not asked.
    static let maxWaiting = 1_024
    /// The maximum number of connections that wait for each of them: the earliest one, and the newest in case that one
    /// ends.
    static let maxConnections = 2
    /// The number of times that a system is asked at once, and the time after which it is asked once more.
    static let attempts = 8.0
    static let pause = Duration.seconds(60)
    /// The time for a response.
    static let timeout = TimeAmount.seconds(10)

    private let state = Mutex(State())

    /// The number of connections that wait.
    var waiting: Int { self.state.withLock { $0.waiting.reduce(0) { $0 + $1.count } } }

    /// Asks over one connection after the other, until one of the peers has renewed the certificate. Asks no system of
    /// another account. Returns at once if the certificate is not due. During another call, that call asks over these
    /// connections, too.
    func renewIfDue(of account: AccountContext, over connections: [Connection], logger: Logger) async {
        guard Self.isDue(account) else { return }
        let isFirst = self.state.withLock { state in
            for connection in connections where connection.isWithinAccount { state.add(connection) }
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        while let (connection, others) = self.next(account) {
            do {
                try await Self.renew(account, over: connection)
                logger.info("The system's certificate was renewed")
            } catch {
                let peer = connection.peer
                account.incidents.report(
                    .renewalFailed,
                    by: peer.systemID,
                    of: peer.quotaHolder,
                    reason: "\(error)"
                )
                // That of a command, perhaps, which ended before the response.
                if connection.hasEnded { self.state.withLock { $0.putBack(others) } }
            }
        }
    }

    /// The connection to ask over, and the same system's others, in case it ends.
    private func next(_ account: AccountContext) -> (Connection, others: [Connection])? {
        let isDue = Self.isDue(account)
        let now = account.environment.time.now
        return self.state.withLock { state in
            if !isDue { state.waiting = [] }
            while !state.waiting.isEmpty {
                let open = state.waiting.removeFirst().filter { !$0.hasEnded }
                guard let connection = open.first, state.attempts.tryTake(connection.peer.systemID, at: now) else {
                    continue
                }
                return (connection, others: Array(open.dropFirst()))
            }
            state.isRunning = false
            return nil
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
            timeout: Self.timeout
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
