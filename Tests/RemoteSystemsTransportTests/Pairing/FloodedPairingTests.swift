// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Testing

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport

/// Pairing over real connections while strangers flood the port. `IntroductionFloodTests` hold the rates.
@Suite(.timeLimit(.minutes(1))) struct FloodedPairingTests {
    @Test func `connections that keep arriving and say nothing keep no other from pairing`() async throws {
        try await WaitingMachine.with { machine in
            var speaking: [any Channel] = []
            for _ in 1...8 {
                let channel = try await Self.stranger(at: machine.port)
                // The first byte of TLS.
                try await channel.writeAndFlush(ByteBuffer(bytes: [0x16]))
                speaking.append(channel)
            }
            let attack = Task {
                var silent: [any Channel] = []
                while !Task.isCancelled {
                    if let channel = try? await Self.stranger(at: machine.port) { silent.append(channel) }
                    silent.removeAll { !$0.isActive }
                    // The rate of the attack, not a wait for something.
                    try? await Task.sleep(for: .milliseconds(2))
                }
                for channel in silent { channel.close(promise: nil) }
            }
            defer { attack.cancel() }
            machine.person.answer(true)
            let plan = try await machine.pair(PairingPerson(answering: true))
            let other = try await machine.result.value
            #expect(plan == .join && other == .admit)
            attack.cancel()
            await attack.value
            for channel in speaking { channel.close(promise: nil) }
        }
    }

    private static func stranger(at port: Int) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
    }
}
