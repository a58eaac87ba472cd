// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Machines that end a pairing with a reason that is no comparison, or without one.
@Suite(.timeLimit(.minutes(2))) struct StoppedPairingTests {
    @Test func `a connecting machine that is stopped says so, and the other one waits on`() async throws {
        try await WaitingMachine.with { machine in
            let person = PairingPerson()
            let connecting = Task { try await machine.pair(person) }
            try await eventually("both prompts") { !person.digits.isEmpty && !machine.person.digits.isEmpty }
            connecting.cancel()
            let ended = await connecting.result
            #expect(throws: CancellationError.self) { try ended.get() }
            try await eventually("the report") { machine.failed == 1 }
            #expect(machine.failureCodes == [.pairingRefused])
            #expect(machine.failureMessages.first?.contains("which calls itself “machine”") == true)
            machine.person.answer(true)
            var plan: PairingPlan?
            while plan == nil {
                // It was a turn, so the next one comes after the pause.
                machine.clock.advance(by: PairingTurns.pause)
                plan = try? await machine.pair(PairingPerson(answering: true))
            }
            #expect(plan == .join)
        }
    }

    @Test func `a waiting machine that is stopped says so`() async throws {
        try await WaitingMachine.with { machine in
            let person = PairingPerson(answering: true)
            let connecting = Task { try await machine.pair(person) }
            try await eventually("both prompts") { !person.digits.isEmpty && !machine.person.digits.isEmpty }
            machine.result.cancel()
            let ended = await connecting.result
            let stop = #expect(throws: PairingStop.self) { try ended.get() }
            #expect(stop?.reason == .refused(.cancelled) && stop?.isFailedComparison == false)
            #expect(stop?.error.message.contains("which calls itself “machine”") == true)
        }
    }

    @Test(arguments: [true, false])
    func `a waiting machine that is stopped after both persons have confirmed reports what became of it`(
        isStored: Bool
    ) async throws {
        struct Unconfirmed: Error {}
        let mayEnd = Gate()
        let person = PairingPerson(answering: true) { plan in
            // As the queue of the account's files, it does not end early when the task is cancelled.
            await mayEnd.wait()
            guard isStored else { throw Unconfirmed() }
            return plan
        }
        try await WaitingMachine.with(person: person) { machine in
            let connecting = Task { try await machine.pair(PairingPerson(answering: true)) }
            try await eventually("the exchange") { person.carriedOut == 1 }
            machine.result.cancel()
            mayEnd.open()
            let result = await machine.result.result
            _ = await connecting.result
            guard isStored else {
                #expect(throws: Unconfirmed.self) { try result.get() }
                return
            }
            let plan = try result.get()
            #expect(plan == .admit)
        }
    }

    @Test func `a machine that only reports one account ends its own attempt, and locks nothing`() async throws {
        try await WaitingMachine.with { machine in
            let hostile = try await RawWaiting.listen()
            let commitment = try hostile.part(nonce: JoinLimit.randomNonce()).commitment
            let person = PairingPerson(answering: true)
            let port = hostile.port
            let connecting = Task { try await machine.pair(person, port: port) }
            for await conversation in hostile.listener.conversations {
                try await conversation.run { _, messages in
                    try await conversation.send(.commitment(commitment))
                    _ = try await messages.next(isolation: #isolation)
                    try await conversation.send(.refused(.sameAccount))
                }
                break
            }
            let ended = await connecting.result
            let stop = #expect(throws: PairingStop.self) { try ended.get() }
            #expect(stop?.reason == .refused(.sameAccount) && stop?.isFailedComparison == false)
            #expect(person.digits.isEmpty)
            await hostile.listener.bound.close()
            // A waiting machine does not believe it at all.
            let stranger = try await RawPairing.connect(port: machine.port)
            try await stranger.connection.run { _, _ in try await stranger.connection.send(.refused(.sameAccount)) }
            machine.person.answer(true)
            let plan = try await machine.pair(PairingPerson(answering: true))
            #expect(plan == .join && machine.failed == 0)
        }
    }

    @Test func `a connection that only breaks at the digits is no stop`() async throws {
        try await WaitingMachine.with { machine in
            _ = try await RawPairing.connect(port: machine.port).guess()
            try await eventually("the report") { machine.failed == 1 }
            #expect(machine.failureCodes == [nil])
        }
    }
}
