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
        try await Self.start(host: host, port: port, times: IntroductionTimes(), logger: logger, network: network)
    }

    /// Starts listening, with timeouts for each conversation.
    static func start(
        host: String?,
        port: Int,
        times: IntroductionTimes,
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
                times: times,
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
    /// What both persons had confirmed before the task was cancelled is the result, because it may have been stored.
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
        let confirmed = Mutex<Result<Outcome, any Error>?>(nil)
        let confirm: @Sendable (Result<Outcome, any Error>) -> Void = { result in confirmed.withLock { $0 = result } }
        let end = await withTaskGroup(of: Void.self) { group -> Result<Outcome, any Error> in
            defer { group.cancelAll() }
            group.addTask { await self.serve(conversation, outcome, failed, confirm) }
            do {
                for try await result in outcomes { return .success(result) }
                return .failure(CancellationError())
            } catch {
                return .failure(error)
            }
        }
        await self.stop()
        // A cancelled task reads no further element of the stream.
        return try (confirmed.withLock { $0 } ?? end).get()
    }

    /// Stops listening.
    package func stop() async {
        await self.accepting.bound.close()
    }

    private func serve<Outcome: Sendable>(
        _ conversation: PairingConversation<Outcome>,
        _ outcome: AsyncThrowingStream<Outcome, any Error>.Continuation,
        _ failed: @escaping @Sendable (any Error) async -> Void,
        _ confirm: @escaping @Sendable (Result<Outcome, any Error>) -> Void
    ) async {
        let turns = SharedPairingTurns(time: self.time)
        // The reports about pairings that are refused before the digits: as few as prompts, because any machine can
        // cause them.
        let reports = SharedPairingTurns(time: self.time)
        await withDiscardingTaskGroup { group in
            for await connection in self.accepting.conversations {
                group.addTask {
                    let turn = turns.turn(of: connection.peerKey)
                    do {
                        let result = try await conversation.run(connection, turn: turn)
                        confirm(.success(result))
                        outcome.yield(result)
                    } catch let error as PairingUnfinished {
                        confirm(.failure(error.cause))
                        outcome.finish(throwing: error.cause)
                    } catch {
                        // Other machines, port scanners and failed connections do not end the wait.
                        self.logger.debug("A pairing attempt failed", metadata: ["reason": "\(error)"])
                        if !Task.isCancelled,
                            turn.isOwn || reports.mayReport(error, of: connection.peerKey, beside: turns)
                        {
                            await failed((error as? PairingStop)?.error ?? error)
                        }
                    }
                    turn.end()
                    if turns.areOver { outcome.finish(throwing: PairingStop.tooManyAttempts.error) }
                }
            }
        }
    }
}

extension SharedPairingTurns {
    /// Takes a turn for a report, if the error is one that the person must see although no digits were shown: the two
    /// machines have purposes that do not fit, or belong to one account, and only this one can show the details.
    ///
    /// Not during a comparison: its person must not read about another machine.
    fileprivate func mayReport(_ error: any Error, of peer: PeerKey, beside turns: SharedPairingTurns) -> Bool {
        switch (error as? PairingStop)?.reason {
        case .purposes?, .sameAccount?: break
        default: return false
        }
        guard turns.areFree else { return false }
        let report = self.turn(of: peer)
        defer { report.end() }
        return report.take()
    }
}
