// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// What a machine that waits reports if it is stopped while another one joins or is linked. It must not state that
/// nothing was changed.
@Suite(.timeLimit(.minutes(1))) struct StoppedAdmissionTests {
    private struct Unconfirmed: Error {}

    /// Ends after its task is cancelled, as what waits for the queue of the account's files.
    private static func end(successfully: Bool) async throws -> Int {
        while !Task.isCancelled { await Task.yield() }
        for _ in 0..<100 { await Task.yield() }
        guard successfully else { throw Unconfirmed() }
        return 7
    }

    @Test(arguments: [true, false])
    func `an invitation that is stopped while a system joins reports what became of it`(
        isConfirmed: Bool
    ) async throws {
        try await TwoMachines.with { machines in
            let account = machines.account("first")
            let roots = try account.identity().roots
            let inviting = Task {
                try await account.untilRevocation(after: nil, roots: roots) {
                    try await Self.end(successfully: isConfirmed)
                }
            }
            inviting.cancel()
            let result = await inviting.result
            guard isConfirmed else {
                #expect(throws: Unconfirmed.self) { try result.get() }
                return
            }
            let value = try result.get()
            #expect(value == 7)
        }
    }

    @Test(arguments: [true, false])
    func `a pairing that is stopped after both persons have confirmed reports what became of it`(
        isConfirmed: Bool
    ) async throws {
        try await TwoMachines.with { machines in
            let account = machines.account("first")
            let pairing = Task {
                try await account.withinTenMinutes(advertising: 47_474) {
                    try await Self.end(successfully: isConfirmed)
                } unless: {
                    true
                }
            }
            pairing.cancel()
            let result = await pairing.result
            guard isConfirmed else {
                #expect(throws: Unconfirmed.self) { try result.get() }
                return
            }
            let value = try result.get()
            #expect(value == 7)
        }
    }
}
