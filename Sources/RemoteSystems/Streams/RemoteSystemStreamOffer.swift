// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// A stream that a service has offered to its caller, which may open it within 30 seconds.
public final class RemoteSystemStreamOffer: Sendable {
    private let offer: StreamOffer

    init(_ offer: StreamOffer) {
        self.offer = offer
    }

    /// The ticket with which the caller opens the stream: a UUID, to be sent in a message.
    ///
    /// The ticket is secret and valid for 30 seconds. It opens one stream, for the caller's system only.
    public var ticket: Value { self.offer.ticket.value }

    /// Waits until the caller has opened the stream. May be called once.
    ///
    /// - Returns: the host's end of the stream.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/deadlineExceeded`` when the caller did not open
    ///   the stream within 30 seconds, with ``RemoteSystemError/Code/misuse`` when called twice. `CancellationError`
    ///   when the task is cancelled; the offer is then withdrawn.
    public func opened() async throws -> RemoteSystemStream {
        try await RemoteSystemError.mapping { RemoteSystemStream(try await self.offer.opened()) }
    }

    /// Invalidates the ticket. Has no effect when the stream was opened already.
    public func withdraw() {
        self.offer.withdraw()
    }
}

extension AppServiceConnection {
    /// Offers the caller a stream beside this connection. Only the host's end of a connection can offer streams.
    ///
    /// Send the offer's ticket to the caller in a response or a request. The stream outlives the connection.
    ///
    /// ```swift
    /// AppService("com.example.photos") { request in
    ///     let offer = try request.connection.offerStream()
    ///     Task {
    ///         let stream = try await offer.opened()
    ///         try await stream.send(contentsOfFile: photo)
    ///         try await stream.finish()
    ///         try await stream.waitUntilFinished()
    ///     }
    ///     return ["Photo": offer.ticket]
    /// }
    /// ```
    ///
    /// - Returns: the offer, with the ticket. The caller may open it within 30 seconds.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/misuse`` at the caller's end, when the connection
    ///   is not open, or for a caller of another account. With ``RemoteSystemError/Code/localResources`` when 64 offers
    ///   to the caller's system or linked account, or 1024 in total, are still unopened; a retry half a minute later
    ///   may succeed.
    public func offerStream() throws -> RemoteSystemStreamOffer {
        guard case (.offering(let tickets), let info)? = self.streams, info.peer.standing.kind.isAccountProved else {
            throw RemoteSystemError(
                .misuse,
                "Only the host's end of an open connection can offer a stream, to a caller of its own account.",
                side: .local
            )
        }
        do {
            return RemoteSystemStreamOffer(
                try tickets.offer(
                    to: info.peer.systemID,
                    of: info.peer.quotaHolder,
                    purpose: self.service.name
                )
            )
        } catch {
            throw RemoteSystemError(stream: error)
        }
    }

    /// Opens a stream that the service has offered over this connection. Only the caller's end of a connection can open
    /// streams.
    ///
    /// ```swift
    /// let response = try await connection.send(["Photo": 17])
    /// let stream = try await connection.openStream(response.message["Photo"])
    /// try await stream.receive(intoFile: "17.jpeg")
    /// try await stream.finish()
    /// ```
    ///
    /// - Parameter ticket: the ticket from the service's message. `nil` and values that are not tickets are refused.
    /// - Returns: the caller's end of the stream.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/refused`` when the ticket was used before, has
    ///   expired or was never valid; with ``RemoteSystemError/Code/invalidArgument`` when the value is not a ticket;
    ///   with ``RemoteSystemError/Code/misuse`` at the host's end and when the connection is not open; with
    ///   ``RemoteSystemError/Code/unreachable`` when the host cannot be reached any more. `CancellationError`.
    public func openStream(_ ticket: Value?) async throws -> RemoteSystemStream {
        guard case (.opening(let opening), _)? = self.streams else {
            throw RemoteSystemError(
                .misuse,
                "Only the caller's end of an open connection can open a stream.",
                side: .local
            )
        }
        guard let ticket = StreamTicket(ticket) else {
            throw RemoteSystemError(.invalidArgument, "The value is not a stream's ticket.", side: .local)
        }
        return try await RemoteSystemError.mapping {
            RemoteSystemStream(try await opening.open(ticket, purpose: self.service.name))
        }
    }
}
