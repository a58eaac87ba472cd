// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import RemoteSystemsIdentity

@testable import RemoteSystemsTransport

/// Both ends of a stream over TLS on the loopback interface.
struct StreamPair: Sendable {
    let host: ByteStream
    let caller: ByteStream
}

extension LoopbackHost {
    static let purpose = "test.purpose"

    /// A stream that the host offers and a new system of the account opens.
    func streams(
        limits: StreamLimits = StreamLimits(),
        as identity: SystemIdentity? = nil,
        through port: Int? = nil
    ) async throws -> StreamPair {
        let caller = try identity ?? self.account.system()
        let offer = try self.tickets.offer(to: caller.systemID, of: .system(caller.systemID), purpose: Self.purpose)
        async let opened = offer.opened()
        let stream = try await self.openStream(offer.ticket, as: caller, limits: limits, through: port)
        return StreamPair(host: try await opened, caller: stream)
    }

    func openStream(
        _ ticket: StreamTicket,
        as caller: SystemIdentity,
        purpose: String = Self.purpose,
        limits: StreamLimits = StreamLimits(),
        security: TransportSecurity? = nil,
        through port: Int? = nil
    ) async throws -> ByteStream {
        let connector = Connector(
            security: try security ?? TransportSecurity(identity: caller),
            limits: .patient,
            timeout: .seconds(20),
            logger: TestLog().logger
        )
        return try await connector.openStream(
            to: [Endpoint(host: "127.0.0.1", port: port ?? self.listener.port)],
            expecting: self.security.systemID,
            application: "test.caller",
            target: nil,
            claim: StreamClaim(ticket: ticket, purpose: purpose),
            limits: limits
        )
    }

    /// A raw client on an open stream, and the host's end.
    func openRawStream(
        as identity: SystemIdentity? = nil,
        from source: String? = nil
    ) async throws -> (RawPeer, ByteStream) {
        let caller = try identity ?? self.account.system()
        let offer = try self.tickets.offer(to: caller.systemID, of: .system(caller.systemID), purpose: Self.purpose)
        async let opened = offer.opened()
        let peer = try await self.connectRaw(as: caller, from: source)
        try peer.send(
            .hello(
                Hello(
                    service: StreamClaim.service,
                    targetApplication: nil,
                    application: "raw",
                    limits: StreamLimits.peerLimits,
                    stream: StreamClaim(ticket: offer.ticket, purpose: Self.purpose)
                )
            )
        )
        guard case .accept? = try await peer.nextFrame() else { throw NotInTime(what: "the answer to the hello") }
        return (peer, try await opened)
    }
}

extension ByteStream {
    /// Reads everything until the end.
    func collect() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in self { bytes += Array(chunk.readableBytesView) }
        return bytes
    }

    func write(_ text: String) async throws { try await self.write(ByteBuffer(string: text)) }

    /// The number of bytes received and not read.
    var bufferedBytes: Int { self.streamConnection.inbox.bufferedBytes }
}

/// The error of a stream that must fail.
func streamError(_ body: () async throws -> Void) async -> StreamError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? StreamError
    }
}
