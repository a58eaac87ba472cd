// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
internal import NIOCore
package import RemoteSystemsIdentity
internal import Synchronization

/// The waiting side of a pairing: listens on a port.
package struct PairingPort: Sendable {
    private let accepting: IntroductionPort<PairingMessage>
    private let key: PairingKey
    private let logger: Logger
    private let time: TimeSource

    package var port: Int { self.accepting.bound.port }

    /// Starts listening. ``run(_:_:failed:)`` must follow.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/cannotListen``; ``IdentityError``.
    package static func start(
        host: String? = nil,
        port: Int,
        logger: Logger,
        network: TransportNetwork = .sockets
    ) async throws -> PairingPort {
        let key = try PairingKey(now: Date())
        let tls = try PairingTLS(certificate: key.certificate, privateKeyPEM: key.privateKeyPEM)
        do {
            let accepting = try await IntroductionPort<PairingMessage>.listen(
                host: host,
                port: port,
                tls: tls,
                logger: logger,
                network: network
            )
            return PairingPort(accepting: accepting, key: key, logger: logger, time: network.time)
        } catch {
            throw Listener.cannotListen(host: host, port: port, error)
        }
    }

    /// Serves connections until a pairing has succeeded, or has failed after both persons had confirmed, or the task is
    /// cancelled. Then stops listening. One connection at a time is compared.
    ///
    /// - Parameter failed: called when a pairing ends before that; others may follow.
    package func run<Outcome: Sendable>(
        _ intention: PairingIntention,
        _ steps: PairingSteps<Outcome>,
        failed: @escaping @Sendable (any Error) async -> Void
    ) async throws -> Outcome {
        let conversation = PairingConversation(
            role: .waiting,
            key: self.key,
            intention: intention,
            steps: steps,
            time: self.time
        )
        let (outcomes, outcome) = AsyncThrowingStream<Outcome, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(1)
        )
        let result = await withTaskGroup(of: Void.self) { group -> Result<Outcome, any Error> in
            defer { group.cancelAll() }
            group.addTask { await self.serve(conversation, outcome, failed) }
            do {
                for try await result in outcomes { return .success(result) }
                return .failure(CancellationError())
            } catch {
                return .failure(error)
            }
        }
        await self.stop()
        return try result.get()
    }

    /// Stops listening.
    package func stop() async {
        await self.accepting.bound.close()
    }

    private func serve<Outcome: Sendable>(
        _ conversation: PairingConversation<Outcome>,
        _ outcome: AsyncThrowingStream<Outcome, any Error>.Continuation,
        _ failed: @escaping @Sendable (any Error) async -> Void
    ) async {
        let turns = PairingTurns()
        await withDiscardingTaskGroup { group in
            for await connection in self.accepting.conversations {
                group.addTask {
                    let turn = turns.turn(of: connection.peer)
                    do {
                        outcome.yield(try await conversation.run(connection, turn: turn))
                    } catch let error as PairingUnfinished {
                        outcome.finish(throwing: error.cause)
                    } catch {
                        // Other machines, port scanners and failed connections do not end the wait.
                        self.logger.debug("A pairing attempt failed", metadata: ["reason": "\(error)"])
                        if turn.isOwn, !Task.isCancelled { await failed((error as? PairingStop)?.error ?? error) }
                    }
                    turn.end()
                }
            }
        }
    }
}

/// Lets one connection at a time show its digits.
///
/// A machine whose attempt failed must let others try: for some seconds, its connections get no turn.
final class PairingTurns: Sendable {
    private struct State {
        var holder: UInt64?
        var next: UInt64 = 0
        var last: (peer: PeerKey, end: ContinuousClock.Instant)?
    }

    private let state = Mutex(State())
    private static let pause = Duration.seconds(2)

    func turn(of peer: PeerKey) -> PairingTurn {
        let number = self.state.withLock { state in
            state.next += 1
            return state.next
        }
        return PairingTurn(turns: self, number: number, peer: peer)
    }

    fileprivate func isFree(for peer: PeerKey, at now: ContinuousClock.Instant) -> Bool {
        self.state.withLock { Self.isFree($0, for: peer, at: now) }
    }

    private static func isFree(_ state: State, for peer: PeerKey, at now: ContinuousClock.Instant) -> Bool {
        guard state.holder == nil else { return false }
        guard let last = state.last, last.peer == peer else { return true }
        return now >= last.end + Self.pause
    }

    fileprivate func take(_ number: UInt64, for peer: PeerKey, at now: ContinuousClock.Instant) -> Bool {
        self.state.withLock { state in
            guard Self.isFree(state, for: peer, at: now) else { return false }
            state.holder = number
            return true
        }
    }

    fileprivate func isHeld(by number: UInt64) -> Bool { self.state.withLock { $0.holder == number } }

    fileprivate func end(_ number: UInt64, of peer: PeerKey, at now: ContinuousClock.Instant) {
        self.state.withLock { state in
            guard state.holder == number else { return }
            state.holder = nil
            state.last = (peer, now)
        }
    }
}

/// The turn of one connection.
struct PairingTurn: Sendable {
    fileprivate let turns: PairingTurns
    fileprivate let number: UInt64
    fileprivate let peer: PeerKey

    /// Whether another connection has the turn, or this one's peer had it a moment ago.
    var isTaken: Bool { !self.turns.isFree(for: self.peer, at: .now) }
    /// Whether this connection has the turn.
    var isOwn: Bool { self.turns.isHeld(by: self.number) }

    func take() -> Bool { self.turns.take(self.number, for: self.peer, at: .now) }
    func end() { self.turns.end(self.number, of: self.peer, at: .now) }
}
