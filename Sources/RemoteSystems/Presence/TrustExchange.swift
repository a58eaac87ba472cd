// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// A presence connection for a moment, over which each side gets what the other one publishes of the account's trust.
///
/// Systems that do not recognise each other's announcements, because each of them missed the other's discovery key,
/// exchange the keys and the revocations so when their user names an address.
struct TrustExchange {
    let context: ApplicationContext

    /// Long enough for both sides to verify and store what they receive.
    private static let duration = Duration.seconds(1)

    /// - Throws: ``TransportError``, ``RemoteSystemError``.
    func run(with endpoints: [Endpoint], expecting system: SystemID?) async throws {
        let account = self.context.account
        let publisher = StatePublisher()
        let security = try account.security()
        let trust = try TrustPublication(on: publisher, security)
        try trust.update(security.trust.own, links: account.links)
        var connector = try await self.context.connector()
        connector.opened = { [opened = connector.opened] connection in
            opened(connection)
            guard let connection = connection as? Connection, connection.isWithinAccount else { return }
            connection.publish(publisher)
        }
        let connection = try await connector.connect(
            to: endpoints,
            expecting: system,
            calling: Presence.service,
            from: self.context
        )
        await account.followTrust(over: connection, for: Self.duration)
        connection.leave()
    }
}
