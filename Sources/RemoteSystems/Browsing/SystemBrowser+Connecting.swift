// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

extension SystemBrowser {
    /// Connects to a process, and sends the hello of a watcher.
    func connect(_ instance: String, endpoints: [Endpoint], isHurried: Bool) async throws -> Connection {
        // The instance may get another name at any suspension.
        let standing = self.machine.standing(of: instance)
        let referral = self.machine.referral(of: instance)
        let expected = referral?.system ?? self.machine.expected(of: instance)
        let isReconnecting = self.machine.isReconnecting(instance)
        if !standing.isAccountProved { try await self.waitForTurn() }
        let limits = standing.isAccountProved ? self.needs.limits : self.needs.limits.forAnonymous
        var connector = try await self.account.connector(
            limits: limits,
            timeout: self.needs.connectTimeout,
            logger: self.logger
        )
        connector.accepted = self.accepted(for: standing)
        connector.opened = { [publisher = self.publisher, opened = connector.opened] connection in
            opened(connection)
            guard let connection = connection as? Connection, connection.exchangesTrust else { return }
            connection.publish(publisher)
        }
        if isHurried { connector.timeoutLimit = BrowserTimes.hurried }
        if isReconnecting { connector.timeoutLimit = BrowserTimes.reconnect }
        var endpoints = endpoints
        if let referral, referral.isDirect, referral.system == self.security.systemID {
            // The application may listen on loopback only.
            endpoints += endpoints.compactMap { self.account.network.loopback($0) }.filter { !endpoints.contains($0) }
        }
        let connection = try await connector.connect(
            to: endpoints,
            expecting: expected,
            hello: Hello(
                service: Presence.service,
                targetApplication: referral?.application,
                application: self.needs.application,
                limits: limits.peerLimits
            ),
            handler: self.requestHandler()
        )
        return connection
    }

    /// Limits attempts to connect to systems of other accounts to ten a second, however many are advertised.
    private func waitForTurn() async throws {
        let now = self.time.now
        let turn = max(self.nextTurn, now)
        guard turn - now < .seconds(10) else {
            throw RemoteSystemError(.unreachable, "Too many systems of other accounts are advertised.", side: .network)
        }
        self.nextTurn = turn + .milliseconds(100)
        if turn > now { try await self.time.sleep(until: turn) }
    }
}
