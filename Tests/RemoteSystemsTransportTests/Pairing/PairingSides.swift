// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// What a person sees and answers. Each prompt waits for the answer, or for its end.
final class PairingPerson: Sendable {
    private let state = Mutex((prompts: [PairingComparison](), answer: Bool?.none, ended: 0, carriedOut: 0))
    private let carryOut: @Sendable (PairingPlan) async throws -> PairingPlan

    /// - Parameter carryOut: What this side does after both persons have confirmed.
    init(
        answering answer: Bool? = nil,
        carryingOut carryOut: @escaping @Sendable (PairingPlan) async throws -> PairingPlan = { $0 }
    ) {
        self.carryOut = carryOut
        self.state.withLock { $0.answer = answer }
    }

    var digits: [String] { self.state.withLock { $0.prompts.map(\.digits) } }
    /// The number of prompts that ended before the person had answered.
    var endedPrompts: Int { self.state.withLock { $0.ended } }
    /// The number of plans that this side has carried out.
    var carriedOut: Int { self.state.withLock { $0.carriedOut } }

    func answer(_ isSame: Bool?) { self.state.withLock { $0.answer = isSame } }

    var steps: PairingSteps<PairingPlan> {
        PairingSteps { comparison in
            self.state.withLock { $0.prompts.append(comparison) }
            do {
                while true {
                    if let answer = self.state.withLock({ $0.answer }) { return answer }
                    try await Task.sleep(for: .milliseconds(5))
                }
            } catch {
                self.state.withLock { $0.ended += 1 }
                throw error
            }
        } carryOut: { plan, _ in
            self.state.withLock { $0.carriedOut += 1 }
            return try await self.carryOut(plan)
        }
    }
}

extension IntroductionTimes {
    /// For tests, none of which measures how fast a handshake is.
    static var generous: IntroductionTimes { IntroductionTimes(all: .seconds(60)) }
}

/// A machine that waits for a pairing on loopback.
struct WaitingMachine {
    let port: Int
    let person: PairingPerson
    let clock: ManualClock
    let network: TransportNetwork
    let result: Task<PairingPlan, any Error>
    private let failures: Failures

    private final class Failures: Sendable {
        let all = Mutex<[any Error]>([])
    }

    /// The attempts that were reported as failed.
    var failed: Int { self.failures.all.withLock { $0.count } }
    /// The messages of their errors.
    var failureMessages: [String] {
        self.failures.all.withLock { errors in errors.map { ($0 as? IdentityError)?.message ?? "\($0)" } }
    }
    /// The codes of their errors.
    var failureCodes: [IdentityError.Code?] {
        self.failures.all.withLock { errors in errors.map { ($0 as? IdentityError)?.code } }
    }

    static func intention() throws -> PairingIntention {
        try PairingIntention(.ownAccount(admits: true, joins: true), name: "machine")
    }

    static func with(
        times: IntroductionTimes = .generous,
        person: PairingPerson = PairingPerson(),
        _ body: (WaitingMachine) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let network = TransportNetwork([SocketTransport()], time: TimeSource(manual: clock))
        let failures = Failures()
        let listener = try await PairingPort.start(
            host: "127.0.0.1",
            port: 0,
            times: times,
            logger: Logger(label: "waiting"),
            network: network
        )
        let intention = try Self.intention()
        let result = Task {
            try await listener.run(intention, person.steps) { error in failures.all.withLock { $0.append(error) } }
        }
        let machine = WaitingMachine(
            port: listener.port,
            person: person,
            clock: clock,
            network: network,
            result: result,
            failures: failures
        )
        do {
            try await body(machine)
        } catch {
            result.cancel()
            throw error
        }
        result.cancel()
        _ = await result.result
    }

    /// Pairs as an honest machine does.
    ///
    /// - Parameter clock: The connecting side's clock; `nil` for that of the waiting side.
    func pair(
        _ person: PairingPerson,
        port: Int? = nil,
        clock: ManualClock? = nil,
        retries: IntroductionRetries = IntroductionRetries()
    ) async throws -> PairingPlan {
        let own = clock.map { TransportNetwork([SocketTransport()], time: TimeSource(manual: $0)) }
        return try await PairingCall.pair(
            host: "127.0.0.1",
            port: port ?? self.port,
            intention: try Self.intention(),
            network: own ?? self.network,
            times: .generous,
            retries: retries,
            steps: person.steps
        )
    }
}

/// A machine that connects and follows no rule by itself.
struct RawPairing {
    let key: PairingKey
    let connection: Introduction<PairingMessage>

    /// - Parameter source: The loopback address to connect from, which is a peer key of its own.
    static func connect(port: Int, from source: String = "127.0.0.1") async throws -> RawPairing {
        let key = try PairingKey(now: Date())
        return RawPairing(
            key: key,
            connection: try await .connect(
                to: Endpoint(transport: .ip, host: "127.0.0.1", port: port),
                tls: PairingTLS(certificate: key.certificate, privateKeyPEM: key.privateKeyPEM),
                TransportNetwork([SourceTransport(source: source)]),
                times: .generous,
                advice: ""
            )
        )
    }

    /// What a stranger learns by one connection.
    enum Guess: Equatable {
        case digits(String)
        case refused(PairingRefusal)
        case closed
    }

    /// Sends a nonce, and leaves as soon as it knows the digits.
    ///
    /// - Parameter intention: `nil` for one that fits.
    func guess(
        _ intention: PairingIntention? = nil,
        whileKnown: (String) async throws -> Void = { _ in }
    ) async throws -> Guess {
        try await self.connection.run { certificate, messages in
            let peer = try #require(PairingKey.fingerprint(ofPeer: certificate))
            let own = PairingTranscript.Part(
                key: self.key.fingerprint,
                nonce: JoinLimit.randomNonce(),
                intention: try (intention ?? WaitingMachine.intention()).bytes
            )
            do {
                guard case .commitment = try await messages.next(isolation: #isolation) else { return .closed }
                try await self.connection.send(.answer(nonce: own.nonce, intention: own.intention))
                switch try await messages.next(isolation: #isolation) {
                case .reveal(let nonce, let intention):
                    let waiting = PairingTranscript.Part(key: peer, nonce: nonce, intention: intention)
                    let digits = PairingTranscript(connecting: own, waiting: waiting).digits
                    try await whileKnown(digits)
                    return .digits(digits)
                case .refused(let refusal): return .refused(refusal)
                default: return .closed
                }
            } catch is TransportError {
                return .closed
            }
        }
    }
}

/// A machine to which others connect, and which follows no rule by itself.
struct RawWaiting {
    let key: PairingKey
    let listener: IntroductionPort<PairingMessage>
    var port: Int { self.listener.bound.port }

    static func listen() async throws -> RawWaiting {
        let key = try PairingKey(now: Date())
        return RawWaiting(
            key: key,
            listener: try await .listen(
                host: "127.0.0.1",
                port: 0,
                tls: PairingTLS(certificate: key.certificate, privateKeyPEM: key.privateKeyPEM),
                times: .generous,
                logger: Logger(label: "raw"),
                network: .sockets
            )
        )
    }

    func part(nonce: [UInt8]) throws -> PairingTranscript.Part {
        PairingTranscript.Part(key: self.key.fingerprint, nonce: nonce, intention: try WaitingMachine.intention().bytes)
    }
}

/// TCP that connects from a certain address of the loopback interface.
private struct SourceTransport: Transport {
    let source: String
    private let sockets = SocketTransport()

    init(source: String) { self.source = source }

    var kind: TransportKind { .ip }
    var loopbackHost: String? { nil }
    func limited(to reach: NetworkReach) -> (any Transport)? { nil }
    func isProximal(_ endpoint: Endpoint) -> Bool { self.sockets.isProximal(endpoint) }
    func anyEventLoop() -> any EventLoop { self.sockets.anyEventLoop() }

    func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel> {
        do {
            return ClientBootstrap(group: eventLoop)
                .connectTimeout(timeout)
                .channelInitializer(initializer)
                .bind(to: try SocketAddress(ipAddress: self.source, port: 0))
                .connect(to: try SocketAddress(ipAddress: endpoint.host, port: endpoint.port))
        } catch {
            return eventLoop.makeFailedFuture(error)
        }
    }

    func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        try await self.sockets.listen(host: host, port: port, logger: logger, initializer: initializer)
    }
}
