// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
package import RemoteSystemsIdentity
internal import ValueSets

/// Performs the actions of a ``Pairing`` on one connection.
struct PairingConversation<Outcome: Sendable>: Sendable {
    let role: Pairing.Role
    let key: PairingKey
    let intention: PairingIntention
    let steps: PairingSteps<Outcome>
    let time: TimeSource

    /// The time for everything after both persons have confirmed.
    private static var exchangeTime: TimeAmount { .seconds(30) }
    /// The time by which a connection outlasts the comparison, so that the state machine ends it with a reason.
    private static var slack: TimeAmount { .seconds(5) }

    /// Runs the conversation to its end.
    ///
    /// - Parameters:
    ///   - turn: keeps other connections from causing prompts at the same time; `nil` on the connecting side.
    ///   - answered: called when this side, the connecting one, has sent its nonce. The other side knows the digits
    ///     then.
    /// - Throws: ``PairingStop``; ``PairingUnfinished`` if it failed after both persons had confirmed; other errors of
    ///   the connection and of the steps.
    func run(
        _ connection: Introduction<PairingMessage>,
        turn: PairingTurn? = nil,
        answered: @Sendable () -> Void = {}
    ) async throws -> Outcome {
        try await connection.run { certificate, _ in
            guard let peer = PairingKey.fingerprint(ofPeer: certificate) else { throw PairingStop.broken }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                let (events, feed) = AsyncStream<PairingEvent>.makeStream(bufferingPolicy: .bufferingOldest(8))
                group.addTask { await Self.forward(connection.messages, to: feed) }
                defer { group.cancelAll() }
                do {
                    let agreed = try await self.agree(with: peer, connection, events, feed, &group, turn, answered)
                    return try await self.carryOut(agreed, with: peer, connection, events)
                } catch let stop as PairingStop {
                    if let refusal = stop.refusal { try? await connection.send(.refused(refusal)) }
                    throw stop
                } catch let unfinished as PairingUnfinished {
                    // The other side has received the reason.
                    throw unfinished
                } catch {
                    // The application failed or was cancelled. Its person has not denied anything.
                    let isCancelled = Task.isCancelled || error is CancellationError
                    try? await connection.send(.refused(isCancelled ? .cancelled : .failed))
                    throw error
                }
            }
        }
    }

    private static func forward(
        _ messages: AsyncThrowingStream<PairingMessage, any Error>,
        to feed: AsyncStream<PairingEvent>.Continuation
    ) async {
        let end: any Error
        do {
            for try await message in messages { feed.yield(.message(message)) }
            end = TransportError.brokenOff
        } catch {
            end = error
        }
        // A task that was cancelled stops reading, but the connection has not ended.
        if !Task.isCancelled { feed.yield(.closed(end)) }
    }

    // Not inlined: see Docs/decisions/0008-async-frames.md.
    @inline(never)
    private func agree(
        with peer: KeyFingerprint,
        _ connection: Introduction<PairingMessage>,
        _ events: AsyncStream<PairingEvent>,
        _ feed: AsyncStream<PairingEvent>.Continuation,
        _ group: inout ThrowingTaskGroup<Void, any Error>,
        _ turn: PairingTurn?,
        _ answered: @Sendable () -> Void
    ) async throws -> Agreed {
        var pairing = Pairing(
            self.role,
            self.intention,
            account: self.steps.account,
            ownKey: self.key.fingerprint,
            peerKey: peer
        )
        var actions: [Pairing.Action] = []
        if self.role == .waiting { actions = try pairing.start() }
        while true {
            for action in actions {
                switch action {
                case .send(let message):
                    if case .answer = message { answered() }
                    // The other side may send longer messages as soon as it has this one.
                    if case .confirmed = message { try await connection.allow(bytes: PairingMessage.maxConfirmedBytes) }
                    try await connection.sendUnlessClosed(message)
                case .compare(let comparison):
                    connection.keepPlace()
                    connection.extend(by: TimeAmount(Pairing.comparisonTime) + Self.slack)
                    group.addTask { feed.yield(.answer(await self.ask(comparison))) }
                    let deadline = pairing.deadline ?? self.time.now
                    group.addTask {
                        guard (try? await self.time.sleep(until: deadline)) != nil else { return }
                        feed.yield(.timeIsOver)
                    }
                case .carryOut(let plan, let binding):
                    return Agreed(plan: plan, binding: binding)
                }
            }
            switch try await events.nextEvent() {
            case .message(let message):
                actions = try pairing.receive(message, at: self.time.now)
                // Taken before the prompt and the nonce, with which the other side knows the digits. An answer that is
                // not accepted reveals nothing, so it is no guess and needs no turn.
                if case .answer = message, let turn, !turn.take() { throw PairingStop.busy }
            case .answer(let answer): actions = try pairing.answer(try answer.get(), at: self.time.now)
            case .timeIsOver:
                actions = []
                try pairing.expire(at: self.time.now)
            case .closed(let error): throw error
            }
        }
    }

    private func ask(_ comparison: PairingComparison) async -> Result<Bool, any Error> {
        do {
            let isSame = try await self.steps.compare(comparison)
            // An answer after the end was not given by a person.
            try Task.checkCancellation()
            return .success(isSame)
        } catch {
            return .failure(error)
        }
    }

    /// What both sides do, and the bytes that identify the pairing.
    private struct Agreed {
        var plan: PairingPlan
        var binding: [UInt8]
    }

    @inline(never)
    private func carryOut(
        _ agreed: Agreed,
        with peer: KeyFingerprint,
        _ connection: Introduction<PairingMessage>,
        _ events: AsyncStream<PairingEvent>
    ) async throws -> Outcome {
        connection.extend(by: Self.exchangeTime)
        let exchange = PairingExchange(
            connection: connection,
            events: events,
            peer: peer,
            key: self.key,
            binding: agreed.binding
        )
        do {
            return try await self.steps.carryOut(agreed.plan, exchange)
        } catch {
            if !(error is CancellationError), (error as? PairingStop)?.refusal != nil || !(error is PairingStop) {
                let refusal = (error as? PairingStop)?.refusal ?? .failed
                try? await connection.send(.refused(refusal))
            }
            throw PairingUnfinished(cause: error)
        }
    }
}

/// What the layer above knows and does for a pairing.
package struct PairingSteps<Outcome: Sendable>: Sendable {
    /// This side's account; `nil` if this side may join its account again.
    package var account: PairingAccount?
    /// Shows the digits and asks the person. It is cancelled when the pairing ends, and must then return.
    package var compare: @Sendable (PairingComparison) async throws -> Bool
    /// Exchanges and stores what the plan needs, after both persons have confirmed.
    package var carryOut: @Sendable (PairingPlan, PairingExchange) async throws -> Outcome

    package init(
        account: PairingAccount? = nil,
        compare: @escaping @Sendable (PairingComparison) async throws -> Bool,
        carryOut: @escaping @Sendable (PairingPlan, PairingExchange) async throws -> Outcome
    ) {
        self.account = account
        self.compare = compare
        self.carryOut = carryOut
    }
}

/// An error after both persons had confirmed.
package struct PairingUnfinished: Error {
    package var cause: any Error
}

/// The messages of a pairing after both persons have confirmed.
package struct PairingExchange: Sendable {
    private let connection: Introduction<PairingMessage>
    private let events: AsyncStream<PairingEvent>
    /// The key of the other side's TLS certificate.
    package let peer: KeyFingerprint
    /// This side's key.
    package let key: PairingKey
    /// 32 bytes that identify the pairing. Both sides have the same.
    package let binding: [UInt8]

    init(
        connection: Introduction<PairingMessage>,
        events: AsyncStream<PairingEvent>,
        peer: KeyFingerprint,
        key: PairingKey,
        binding: [UInt8]
    ) {
        self.connection = connection
        self.events = events
        self.peer = peer
        self.key = key
        self.binding = binding
    }

    /// Sends a message. If the connection has ended, ``next()`` says why.
    package func send(_ message: PairingMessage) async throws {
        try await self.connection.sendUnlessClosed(message)
    }

    /// Waits for the other side's next message.
    ///
    /// - Throws: ``PairingStop`` if it refuses.
    package func next() async throws -> PairingMessage {
        while true {
            switch try await self.events.nextEvent() {
            case .message(.refused(let refusal)): throw PairingStop.refused(refusal)
            case .message(let message): return message
            case .answer, .timeIsOver: break
            case .closed(let error): throw error
            }
        }
    }
}

extension Introduction<PairingMessage> {
    /// Sends a message, unless the connection has ended. The events say why it has, and begin with a refusal if the
    /// peer sent one.
    fileprivate func sendUnlessClosed(_ message: PairingMessage) async throws {
        do {
            try await self.send(message)
        } catch let error as ValueSetError {
            throw error
        } catch {}
    }
}

enum PairingEvent: Sendable {
    case message(PairingMessage)
    case answer(Result<Bool, any Error>)
    case timeIsOver
    case closed(any Error)
}

extension AsyncStream<PairingEvent> {
    /// Waits for the next event of a stream that only ends by cancellation.
    fileprivate func nextEvent() async throws -> PairingEvent {
        var iterator = self.makeAsyncIterator()
        guard let event = await iterator.next(isolation: #isolation) else { throw CancellationError() }
        return event
    }
}
