// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Machines whose program is stopped, or whose connection breaks, while the digits are compared.
@Suite(.timeLimit(.minutes(2))) struct StoppedPairingTests {
    private static func until(_ condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func `a connecting machine that is stopped says so, and the other one waits on`() async throws {
        try await WaitingMachine.with { machine in
            let person = PairingPerson()
            let connecting = Task { try await machine.pair(person) }
            try await Self.until { !person.digits.isEmpty && !machine.person.digits.isEmpty }
            connecting.cancel()
            let ended = await connecting.result
            #expect(throws: CancellationError.self) { try ended.get() }
            try await Self.until { machine.failed == 1 }
            #expect(machine.failureCodes == [.pairingRefused])
            #expect(machine.failureMessages.first?.contains("which calls itself 'machine'") == true)
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
            try await Self.until { !person.digits.isEmpty && !machine.person.digits.isEmpty }
            machine.result.cancel()
            let ended = await connecting.result
            let stop = #expect(throws: PairingStop.self) { try ended.get() }
            #expect(stop?.reason == .refused(.cancelled) && stop?.isFailedComparison == false)
            #expect(stop?.error.message.contains("which calls itself 'machine'") == true)
        }
    }

    @Test func `a connection that only breaks at the digits is no stop`() async throws {
        try await WaitingMachine.with { machine in
            _ = try await RawPairing.connect(port: machine.port).guess()
            try await Self.until { machine.failed == 1 }
            #expect(machine.failureCodes == [nil])
        }
    }
}
