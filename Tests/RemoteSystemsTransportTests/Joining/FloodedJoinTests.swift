// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Joins over real connections while strangers flood the inviter's port. `IntroductionFloodTests` hold the rates.
@Suite(.timeLimit(.minutes(1))) struct FloodedJoinTests {
    /// Longer than a test may take, so that no connection is closed by its timeout.
    private static let times = IntroductionTimes(all: .minutes(10))

    @Test(arguments: [12, 200])
    func `silent connections from the joiner's own address do not keep it from joining`(count: Int) async throws {
        try await Inviting.with(times: Self.times) { inviting, running in
            var strangers: [any Channel] = []
            for _ in 1...count { strangers.append(try await inviting.stranger()) }
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
            for channel in strangers { try? await channel.close() }
        }
    }

    @Test(arguments: [["127.0.0.1"], (2...60).map { "127.0.0.\($0)" }])
    func `a join succeeds while greeted and silent connections keep arriving`(addresses: [String]) async throws {
        try await Inviting.with(times: Self.times) { inviting, running in
            var greeted: [any Channel] = []
            for number in 0..<8 {
                greeted.append(try await inviting.greetedStranger(from: addresses[number % addresses.count]))
            }
            let attack = Self.flood(inviting, from: addresses)
            defer { attack.cancel() }
            let joined = try await inviting.join()
            #expect(try await running.value == joined.systemID)
            attack.cancel()
            await attack.value
            for channel in greeted { channel.close(promise: nil) }
        }
    }

    /// Opens a silent connection every two milliseconds, and after eight of them one with a valid first message.
    private static func flood(_ inviting: Inviting, from addresses: [String]) -> Task<Void, Never> {
        Task {
            var channels: [any Channel] = []
            var round = 0
            while !Task.isCancelled {
                let address = addresses[round % addresses.count]
                round += 1
                if let silent = try? await inviting.stranger(from: address) { channels.append(silent) }
                if round.isMultiple(of: 8), let greeted = try? await inviting.greetedStranger(from: address) {
                    channels.append(greeted)
                }
                channels.removeAll { !$0.isActive }
                // The rate of the attack, not a wait for something.
                try? await Task.sleep(for: .milliseconds(2))
            }
            for channel in channels { channel.close(promise: nil) }
        }
    }

    @Test func `of more connections than there are places, one is closed and the others stay`() async throws {
        try await Inviting.with(times: Self.times) { inviting, _ in
            var strangers: [any Channel] = []
            for _ in 0...UnauthenticatedSlots.maxConnections {
                strangers.append(try await inviting.stranger(from: "127.0.0.2"))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for channel in strangers { group.addTask { try await channel.closeFuture.get() } }
                try await group.next()
                #expect(strangers.count { $0.isActive } == strangers.count - 1)
                for channel in strangers { try? await channel.close() }
            }
        }
    }

    @Test func `an address at which the connection is closed early is tried again only after the others`() async throws
    {
        try await CrowdedPort.with { crowded, port in
            try await Inviting.with { inviting, running in
                let second = try #require(inviting.invitation.addresses.first)
                let uri = inviting.invitation.uri.replacing(
                    "address=\(second)",
                    with: "address=127.0.0.1:\(port)&address=\(second)"
                )
                let invitation = try Invitation(uri: uri)
                let joined = try await JoinCall.join(invitation, logger: Logger(label: "joiner")).identity
                #expect(try await running.value == joined.systemID)
                #expect(crowded.accepted == 1)
            }
        }
    }
}
