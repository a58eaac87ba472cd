// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import Synchronization
import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Attacks on pairing over real connections: machines that follow no rule, against either side.
@Suite(.timeLimit(.minutes(2))) struct HostilePeerTests {
    private static func stop(_ body: () async throws -> PairingPlan) async -> PairingStop? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? PairingStop
        }
    }

    // MARK: Guessing at the waiting machine

    /// CVE-2025-32898: a short code that could be tried out.
    @Test(arguments: [nil, .cancelled] as [PairingRefusal?])
    func `each guess at a waiting machine is a prompt, and after ten guesses it waits no longer`(
        endingWith reason: PairingRefusal?
    ) async throws {
        try await WaitingMachine.with { machine in
            var guesses: [String] = []
            while guesses.count < PairingTurns.maxTurns {
                // The pause after a turn, and the end of the last connection.
                machine.clock.advance(by: PairingTurns.pause)
                // One address has a share of the guesses only.
                let source = "127.0.0.\(2 + guesses.count / PairingTurns.maxTurnsOfPeer)"
                let stranger = try await RawPairing.connect(port: machine.port, from: source)
                let guess = try await stranger.guess { _ in
                    if let reason { try await stranger.connection.send(.refused(reason)) }
                }
                guard case .digits(let digits) = guess else { continue }
                guesses.append(digits)
                try await eventually("the prompt") { machine.person.digits == guesses }
            }
            let result = await machine.result.result
            #expect(throws: IdentityError.self) { try result.get() }
            // Every guess was seen, and reported, and no prompt stayed.
            #expect(machine.person.digits == guesses)
            #expect(machine.failed == guesses.count && machine.person.endedPrompts == guesses.count)
            if reason != nil { #expect(machine.failureCodes.allSatisfy { $0 == .pairingRefused }) }
        }
    }

    @Test func `a stranger that connects without a pause keeps no machine at another address from pairing`()
        async throws
    {
        try await WaitingMachine.with { machine in
            // It takes every turn that it gets, never answers, and keeps the prompt until its time is over.
            let stranger = Task {
                while !Task.isCancelled {
                    let peer = try await RawPairing.connect(port: machine.port, from: "127.0.0.2")
                    let failed = machine.failed
                    _ = try? await peer.guess { _ in
                        try await eventually("the end of its turn") { machine.failed != failed }
                    }
                }
            }
            let honest = PairingPerson(answering: true)
            // The person at the waiting machine confirms when the other machine, too, shows digits.
            let person = Task {
                try await eventually("the digits of the other machine") { !honest.digits.isEmpty }
                machine.person.answer(true)
            }
            defer {
                stranger.cancel()
                person.cancel()
            }
            try await eventually("the stranger's prompt") { !machine.person.digits.isEmpty }
            var plan: PairingPlan?
            for _ in 1...200 where plan == nil {
                machine.clock.advance(by: .seconds(1))
                plan = try? await machine.pair(honest)
            }
            #expect(plan == .join)
            // The stranger had one turn, and the next one was for the other machine.
            #expect(machine.person.digits.count == 2 && machine.person.digits.last == honest.digits.first)
            stranger.cancel()
            _ = await stranger.result
        }
    }

    @Test func `a stranger at one address gets three prompts of the ten, and does not end the wait`() async throws {
        try await WaitingMachine.with { machine in
            var prompts = 0
            for _ in 1...(4 * PairingTurns.maxTurns) {
                machine.clock.advance(by: PairingTurns.pause)
                let guess = try await RawPairing.connect(port: machine.port, from: "127.0.0.2").guess()
                guard case .digits = guess else {
                    #expect(guess == .refused(.busy))
                    continue
                }
                prompts += 1
                try await eventually("the report") { machine.failed == prompts }
            }
            #expect(prompts == PairingTurns.maxTurnsOfPeer)
            machine.person.answer(true)
            var plan: PairingPlan?
            for _ in 1...10 where plan == nil {
                machine.clock.advance(by: PairingTurns.pause)
                plan = try? await machine.pair(PairingPerson(answering: true))
            }
            #expect(plan == .join)
        }
    }

    @Test func `ten answers with a purpose that does not fit do not end the wait`() async throws {
        try await WaitingMachine.with { machine in
            let link = try PairingIntention(.link, name: "stranger")
            for _ in 1...(2 * PairingTurns.maxTurns) {
                let guess = try await RawPairing.connect(port: machine.port).guess(link)
                #expect(guess == .refused(.purpose))
                machine.clock.advance(by: PairingTurns.pause)
            }
            #expect(machine.person.digits.isEmpty)
            // Only the waiting machine can show the details. It does so as often as it would show digits.
            try await eventually("a report") { machine.failed > 0 }
            #expect(machine.failureCodes.allSatisfy { $0 == .pairingMismatch })
            #expect(machine.failed <= PairingTurns.maxTurnsOfPeer)
            machine.person.answer(true)
            let plan = try await machine.pair(PairingPerson(answering: true))
            let other = try await machine.result.value
            #expect(plan == .join && other == .admit)
        }
    }

    @Test func `an answer that does not fit gets no report while another machine is compared`() async throws {
        try await WaitingMachine.with { machine in
            let link = try PairingIntention(.link, name: "stranger")
            let first = try await RawPairing.connect(port: machine.port).guess { _ in
                for _ in 1...3 {
                    let other = try await RawPairing.connect(port: machine.port).guess(link)
                    #expect(other == .refused(.purpose))
                }
                #expect(machine.failed == 0)
            }
            #expect(machine.person.digits.count == 1 && first == .digits(machine.person.digits[0]))
        }
    }

    @Test func `while one machine is compared, others get neither a prompt nor a nonce`() async throws {
        try await WaitingMachine.with { machine in
            let first = try await RawPairing.connect(port: machine.port).guess { _ in
                for _ in 1...3 {
                    let other = try await RawPairing.connect(port: machine.port).guess()
                    #expect(other == .refused(.busy))
                }
            }
            #expect(machine.person.digits.count == 1 && first == .digits(machine.person.digits[0]))
            // Nor right afterwards: a person who answers the first prompt must not answer the next one.
            try await eventually("the report") { machine.failed == 1 }
            let early = try await RawPairing.connect(port: machine.port).guess()
            #expect(early == .refused(.busy))
            #expect(machine.person.digits.count == 1)
        }
    }

    @Test func `a machine that says nothing, or only something late, keeps no other from pairing`() async throws {
        try await WaitingMachine.with { machine in
            var silent: [RawPairing] = []
            for _ in 1...8 { silent.append(try await RawPairing.connect(port: machine.port)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for stranger in silent {
                    group.addTask {
                        // Reads the commitment, and never answers.
                        try? await stranger.connection.run { _, messages in
                            while try await messages.next(isolation: #isolation) != nil {}
                        }
                    }
                }
                machine.person.answer(true)
                let plan = try await machine.pair(PairingPerson(answering: true))
                let other = try await machine.result.value
                #expect(plan == .join && other == .admit)
                group.cancelAll()
            }
        }
    }

    @Test func `a connection without an answer is closed at its timeout`() async throws {
        try await WaitingMachine.with(times: IntroductionTimes(all: .milliseconds(100))) { machine in
            let stranger = try await RawPairing.connect(port: machine.port)
            await #expect(throws: (any Error).self) {
                try await stranger.connection.run { _, messages in
                    while try await messages.next(isolation: #isolation) != nil {}
                    throw TransportError.brokenOff
                }
            }
            #expect(machine.person.digits.isEmpty && machine.failed == 0)
        }
    }

    @Test(arguments: [true, false])
    func `a yes after thirty seconds is too late on either side`(waitingIsLate: Bool) async throws {
        try await WaitingMachine.with { machine in
            // Each side has its own clock, so that one of them ends the comparison. The other one has said yes.
            let clock = ManualClock()
            let connecting = PairingPerson(answering: waitingIsLate ? true : nil)
            machine.person.answer(waitingIsLate ? nil : true)
            async let stop = Self.stop { try await machine.pair(connecting, clock: clock) }
            try await eventually("both prompts") { !machine.person.digits.isEmpty && !connecting.digits.isEmpty }
            (waitingIsLate ? machine.clock : clock).advance(by: Pairing.comparisonTime)
            (waitingIsLate ? machine.person : connecting).answer(true)
            let expected = waitingIsLate ? PairingStop.Reason.refused(.timedOut) : .unansweredHere
            #expect(await stop?.reason == expected)
            try await eventually("the report") { machine.failed == 1 }
            #expect(machine.failureCodes == [.pairingTimedOut])
            #expect(machine.person.carriedOut == 0 && connecting.carriedOut == 0)
            #expect(machine.person.digits.count == 1 && connecting.digits.count == 1)
        }
    }

    // MARK: A machine in the middle

    @Test func `a relay of all messages makes no digits appear on the connecting machine`() async throws {
        try await WaitingMachine.with { machine in
            let middle = try await RawWaiting.listen()
            let relay = Task {
                for await victim in middle.listener.conversations {
                    let other = try await RawPairing.connect(port: machine.port)
                    try? await Self.relay(victim, other.connection)
                }
            }
            let person = PairingPerson(answering: true)
            let stop = await Self.stop { try await machine.pair(person, port: middle.port) }
            // The commitment names the key of the machine in the middle.
            #expect(stop?.reason == .malformed && person.digits.isEmpty)
            try await eventually("the report") { machine.failed == 1 }
            relay.cancel()
            await middle.listener.bound.close()
        }
    }

    private static func relay(
        _ one: Introduction<PairingMessage>,
        _ other: Introduction<PairingMessage>
    ) async throws {
        try await one.run { _, _ in
            try await other.run { _, _ in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await message in one.messages { try await other.send(message) } }
                    group.addTask { for try await message in other.messages { try await one.send(message) } }
                    // The end of either side ends both.
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }

    @Test func `a machine in the middle with nonces of its own shows each side other digits`() async throws {
        try await WaitingMachine.with { machine in
            let middle = try await RawWaiting.listen()
            let own = try middle.part(nonce: JoinLimit.randomNonce())
            let victim = PairingPerson(answering: false)
            async let stop = Self.stop { try await machine.pair(victim, port: middle.port) }
            for await conversation in middle.listener.conversations {
                try await conversation.run { _, messages in
                    try await conversation.send(.commitment(own.commitment))
                    guard case .answer = try await messages.next(isolation: #isolation) else { return }
                    // It knows the victim's digits now, and has one guess at the other side.
                    let guess = try await RawPairing.connect(port: machine.port).guess()
                    try await conversation.send(.reveal(nonce: own.nonce, intention: own.intention))
                    _ = try? await messages.next(isolation: #isolation)
                    #expect(guess == .digits(try #require(machine.person.digits.first)))
                }
                break
            }
            #expect(await stop?.reason == .denied)
            #expect(victim.digits.count == 1 && victim.digits != machine.person.digits)
            await middle.listener.bound.close()
        }
    }

    @Test func `a waiting machine that reveals another nonce than it committed to causes no prompt`() async throws {
        try await WaitingMachine.with { machine in
            let hostile = try await RawWaiting.listen()
            let (one, other) = (try hostile.part(nonce: JoinLimit.randomNonce()), JoinLimit.randomNonce())
            let person = PairingPerson(answering: true)
            async let stop = Self.stop { try await machine.pair(person, port: hostile.port) }
            for await conversation in hostile.listener.conversations {
                try await conversation.run { _, messages in
                    try await conversation.send(.commitment(one.commitment))
                    guard case .answer = try await messages.next(isolation: #isolation) else { return }
                    try await conversation.send(.reveal(nonce: other, intention: one.intention))
                    let refusal = try await messages.next(isolation: #isolation)
                    #expect(refusal == .refused(.malformed))
                }
                break
            }
            #expect(await stop?.reason == .malformed && person.digits.isEmpty)
            await hostile.listener.bound.close()
        }
    }

    // MARK: Closed connections

    @Test func `a connection that is closed before the commitment is tried again`() async throws {
        try await WaitingMachine.with { machine in
            let crowded = try await RawWaiting.listen()
            let person = PairingPerson(answering: true)
            async let plan = machine.pair(person, port: crowded.port)
            var connections = 0
            for await conversation in crowded.listener.conversations {
                connections += 1
                guard connections == 3 else {
                    try await conversation.run { _, _ in }
                    continue
                }
                let other = PairingConversation(
                    role: .waiting,
                    key: crowded.key,
                    intention: try WaitingMachine.intention(),
                    steps: PairingPerson(answering: true).steps,
                    time: .system
                )
                let admitted = try await other.run(conversation)
                #expect(admitted == .admit)
                break
            }
            let joined = try await plan
            #expect(joined == .join)
            await crowded.listener.bound.close()
        }
    }

    @Test func `a connection that is closed during the TLS handshake is tried again, for a while`() async throws {
        try await CrowdedPort.with { crowded, port in
            try await WaitingMachine.with { machine in
                let person = PairingPerson(answering: true)
                let error = await #expect(throws: TransportError.self) {
                    try await machine.pair(person, port: port, retries: IntroductionRetries(count: 3))
                }
                #expect(error?.code == .connectionLost && error?.canRetry == true)
                #expect(crowded.accepted == 4 && person.digits.isEmpty)
            }
        }
    }

    @Test func `a connection that is closed after this side's nonce is not tried again`() async throws {
        try await WaitingMachine.with { machine in
            let hostile = try await RawWaiting.listen()
            let own = try hostile.part(nonce: JoinLimit.randomNonce())
            let connections = Mutex(0)
            let serving = Task {
                for await conversation in hostile.listener.conversations {
                    connections.withLock { $0 += 1 }
                    // It knows the digits, does not like them, and hopes for others.
                    try? await conversation.run { _, messages in
                        try await conversation.send(.commitment(own.commitment))
                        _ = try await messages.next(isolation: #isolation)
                    }
                }
            }
            let person = PairingPerson(answering: true)
            await #expect(throws: TransportError.self) { try await machine.pair(person, port: hostile.port) }
            #expect(connections.withLock { $0 } == 1 && person.digits.isEmpty)
            serving.cancel()
            await hostile.listener.bound.close()
        }
    }
}
