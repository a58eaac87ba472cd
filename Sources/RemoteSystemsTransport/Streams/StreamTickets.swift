// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization

/// Offers streams to other systems: creates the tickets that open them, and accepts the connections that present one.
///
/// A feature offers a stream, sends the ticket in a message of its own, and awaits ``StreamOffer/opened()``. The other
/// system connects with the ticket (``Connector/openStream(to:expecting:application:target:claim:limits:on:)``). An
/// offer is valid for 30 s. At most 1024 offers may be pending, and at most 64 for one system or linked account.
package final class StreamTickets: Sendable {
    private struct State {
        var machine = StreamTicketsStateMachine()
        var offers: [UInt64: StreamOffer] = [:]
    }

    private let network: TransportNetwork
    private let memoryBudget: MemoryBudget?
    private let state = Mutex(State())

    /// - Parameter memoryBudget: limits the unread bytes of the streams. Defaults to `nil`: each has its own limit.
    package init(network: TransportNetwork, memoryBudget: MemoryBudget? = nil) {
        self.network = network
        self.memoryBudget = memoryBudget
    }

    /// The number of pending offers.
    package var count: Int { self.state.withLock { $0.machine.count } }

    /// Offers a stream.
    ///
    /// - Parameters:
    ///   - peer: the system that may open the stream.
    ///   - holder: the holder of the quota that the system uses.
    ///   - purpose: the name of the stream's purpose, equal on both sides.
    /// - Throws: ``StreamError`` with ``StreamError/Code/tooManyOffers``.
    package func offer(
        to peer: SystemID,
        of holder: QuotaHolder,
        purpose: String
    ) throws(StreamError) -> StreamOffer {
        let ticket = StreamTicket.random()
        let digest = StreamTicketsStateMachine.Digest(ticket)
        let now = self.network.time.deadline
        let (outcome, offer) = self.state.withLock { state in
            let outcome = state.machine.offer(digest, to: peer, of: holder, purpose: purpose, now: now)
            guard case .offered(let id, _) = outcome else { return (outcome, StreamOffer?.none) }
            let offer = StreamOffer(ticket: ticket, purpose: purpose, id: id, tickets: self)
            state.offers[id] = offer
            return (outcome, offer)
        }
        guard let offer, case .offered(let id, let deadline) = outcome else {
            throw StreamError(
                .tooManyOffers,
                outcome == .full
                    ? "Too many streams wait to be opened by other systems. Try again in half a minute."
                    : "Too many streams wait to be opened by that system or its account. Try again in half a minute.",
                side: .local,
                canRetry: true
            )
        }
        offer.expire = Task(executorPreference: self.network.taskExecutor) {
            [weak self, weak offer, time = self.network.time] in
            try? await time.sleep(for: Duration(deadline - now))
            guard !Task.isCancelled else { return }
            self?.end(id, .expired)
            // If the ticket was presented just before the deadline, the connection may still open within the next
            // seconds.
            try? await time.sleep(for: .seconds(10))
            if !Task.isCancelled { offer?.fail(.expired) }
        }
        return offer
    }

    /// Decides about a hello for a stream.
    ///
    /// - Parameters:
    ///   - peer: the caller's system.
    ///   - application: the name of the accepting application.
    package func admission(
        of hello: Hello,
        from peer: PeerIdentity,
        application: String,
        limits: StreamLimits
    ) -> Admission {
        // A hello without a ticket is checked in the same way, so that all refusals are indistinguishable.
        let claim = hello.stream ?? StreamClaim(ticket: .random(), purpose: "")
        let digest = StreamTicketsStateMachine.Digest(claim.ticket)
        let now = self.network.time.deadline
        let offer = self.state.withLock { state -> StreamOffer? in
            state.machine.claim(digest, by: peer.systemID, purpose: claim.purpose, now: now)
                .flatMap { state.offers.removeValue(forKey: $0) }
        }
        guard let offer, peer.standing.kind.isAccountProved else { return .refuse(Self.refusal) }
        return .acceptStream(
            EstablishedStream(
                acceptance: Acceptance(application: application, limits: StreamLimits.peerLimits),
                limits: limits,
                opened: { [memoryBudget] stream in
                    memoryBudget?.enter(stream)
                    offer.succeed(ByteStream(stream))
                }
            )
        )
    }

    /// The refusal for every reason.
    package static let refusal = Refusal(
        .notAuthorized,
        code: .streamTicketRefused,
        "This stream is not offered to you. Ask for a new ticket."
    )

    fileprivate func end(_ id: UInt64, _ error: StreamError) {
        let offer = self.state.withLock { state in
            state.machine.withdraw(id: id)
            return state.offers.removeValue(forKey: id)
        }
        offer?.fail(error)
    }
}

/// An offer of a stream to another system.
package final class StreamOffer: Sendable {
    private enum State {
        case pending
        case waiting(CheckedContinuation<ByteStream, any Error>)
        case over(Result<ByteStream, any Error>)
        /// The stream was passed to its caller.
        case taken
    }

    /// The ticket with which the other system opens the stream. A secret of the two systems.
    package let ticket: StreamTicket
    package let purpose: String
    private let id: UInt64
    private let tickets: StreamTickets
    private let state = Mutex(State.pending)
    private let timer = Mutex<Task<Void, Never>?>(nil)

    fileprivate init(ticket: StreamTicket, purpose: String, id: UInt64, tickets: StreamTickets) {
        self.ticket = ticket
        self.purpose = purpose
        self.id = id
        self.tickets = tickets
    }

    fileprivate var expire: Task<Void, Never>? {
        get { self.timer.withLock { $0 } }
        set { self.timer.withLock { $0 = newValue } }
    }

    /// Waits until the other system has opened the stream. May be called once.
    ///
    /// - Throws: ``StreamError`` with ``StreamError/Code/offerExpired`` if the stream was not opened in time;
    ///   `CancellationError` when the task is cancelled, which withdraws the offer.
    package func opened() async throws -> ByteStream {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { self.wait($0) }
        } onCancel: {
            self.finish(.failure(CancellationError()))
            self.tickets.end(self.id, .withdrawn)
        }
    }

    /// Invalidates the ticket, unless the stream was opened.
    package func withdraw() {
        self.tickets.end(self.id, .withdrawn)
    }

    private func wait(_ continuation: CheckedContinuation<ByteStream, any Error>) {
        let result = self.state.withLock { state -> Result<ByteStream, any Error>? in
            switch state {
            case .pending:
                state = .waiting(continuation)
                return nil
            case .over(let result):
                state = .taken
                return result
            case .waiting, .taken:
                return .failure(StreamError(.misuse, "The stream of an offer can be awaited only once.", side: .local))
            }
        }
        if let result { continuation.resume(with: result) }
    }

    fileprivate func succeed(_ stream: ByteStream) { self.finish(.success(stream)) }

    fileprivate func fail(_ error: StreamError) { self.finish(.failure(error)) }

    private func finish(_ result: Result<ByteStream, any Error>) {
        self.expire?.cancel()
        let continuation = self.state.withLock { state -> CheckedContinuation<ByteStream, any Error>? in
            switch state {
            case .pending:
                state = .over(result)
                return nil
            case .waiting(let continuation):
                state = .taken
                return continuation
            case .over, .taken:
                return nil
            }
        }
        continuation?.resume(with: result)
    }
}

extension StreamError {
    fileprivate static let expired = StreamError(
        .offerExpired,
        "The other system did not open the stream in time.",
        side: .remote,
        canRetry: true
    )

    fileprivate static let withdrawn = StreamError(.aborted, "The offer of the stream was withdrawn.", side: .local)
}
