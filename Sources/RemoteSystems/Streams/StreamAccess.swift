// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsTransport

/// The way in which a connection creates streams beside itself: the host's end offers them, the caller's end opens
/// them.
enum StreamAccess: Sendable {
    case offering(StreamTickets)
    case opening(StreamOpening)
}

/// Opens the streams that the host of a connection offers.
struct StreamOpening: Sendable {
    private let context: ApplicationContext
    /// The endpoint of the host. Empty if the connection was already closed.
    private let endpoints: [Endpoint]
    private let connection: Connection

    init(_ connection: Connection, _ context: ApplicationContext) {
        self.connection = connection
        self.context = context
        self.endpoints = [connection.channel.transportPeer.endpoint].compactMap(\.self)
    }

    func open(_ ticket: StreamTicket, purpose: String) async throws -> ByteStream {
        let connector = try await self.context.connector()
        return try await connector.openStream(
            to: self.endpoints,
            expecting: self.connection.peer.systemID,
            application: self.context.configuration.applicationID,
            // An empty value means that the host did not state its application.
            target: self.connection.remote.application,
            claim: StreamClaim(ticket: ticket, purpose: purpose),
            limits: StreamLimits(connector.limits)
        )
    }
}
