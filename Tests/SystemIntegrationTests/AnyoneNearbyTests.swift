// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Two accounts on one network, one of which lets anyone nearby call (X-31).
    @Suite struct AnyoneNearby {
        @Test(arguments: Way.allCases)
        func `with the option a stranger calls only the services open to anyone nearby (X-31)`(
            _ way: Way
        ) async throws {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(2)
                let a = try await network.addMachine("alpha", state: states[0])
                let b = try await network.addMachine("beta", state: states[1])
                let s = try await network.addMachine("stranger", state: try await Accounts.shared.stranger())
                for machine in [a, b, s] { try await way.prepare(machine.host) }
                let open = try a.command(["serve", "--anyone-nearby"])
                try await open.reported("ready", within: .seconds(15))
                let closed = try a.command(["serve", "--port", "4711", "--application-id", "private"])
                try await closed.reported("ready", within: .seconds(15))

                // With the option: found by name and by id, with the open services, and served.
                let list = try s.command(["list", "--wait", "5", "--filter", "authorization=anonymous"])
                let system = try await list.reported("system", within: .seconds(15))
                #expect(system.name == "alpha")
                #expect(system.applications?.map(\.id) == ["remote-systems.command.serve"])
                #expect(system.applications?.first?.services == ["remote-systems.ping"])
                let id = try #require(system.id)
                for name in ["alpha", String(id.prefix(8))] {
                    let (status, lines) = try await s.end(["ping", name, "--anyone-nearby", "--count", "3"])
                    #expect(status == 0 && lines.filter { $0.contains(#""reply""#) }.count == 3)
                }
                let call = ["call", "alpha", "--anyone-nearby"]
                let (called, response) = try await s.end(call + ["remote-systems.ping", "Type=ping"])
                #expect(called == 0 && response.contains { $0.contains(#""pong""#) })

                // Nothing else is available, and nothing at all without the option.
                for arguments in [
                    call + ["remote-systems.ping", "Type=ping", "--application", "private"],
                    call + ["remote-systems.diagnosis", "Type=state"],
                    ["call", a.address, "--anyone-nearby", "remote-systems.ping", "Type=ping"],
                    ["ping", a.address, "--count", "1"],
                    ["ping", "alpha", "--count", "1"],
                    ["launch", "alpha", "https://example.com"],
                ] {
                    let (status, _) = try await s.end(arguments + ["--wait", "2"])
                    #expect(status == 2, "\(arguments)")
                }
                // The option excludes the systems of the own account.
                let (ours, _) = try await b.end(["ping", "alpha", "--anyone-nearby", "--wait", "2"])
                #expect(ours == 2)
                #expect(try await b.ping("alpha").answered == 3)
                #expect(open.exitCode == nil && closed.exitCode == nil)
            }
        }

        @Test(.enabled(if: IndependentClient.isToBeTried, "\(IndependentClient.obstacle ?? "")"))
        func `an independent stranger gets 7 for all other services, and from every other host (X-31)`()
            async throws
        {
            if let obstacle = IndependentClient.obstacle { throw IntegrationError(obstacle) }
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(2)
                let a = try await network.addMachine("alpha", state: states[0])
                let x = try await network.addHost("x")
                let open = try a.command(["serve", "--anyone-nearby"])
                try await open.reported("ready", within: .seconds(15))
                let closed = try await a.serve(port: 4711, application: "private")
                let others = ["remote-systems.diagnosis", "remote-systems.launch", "com.example.none"]

                let byOpen = try await Self.ask(from: x, a.address, "47474", ["remote-systems.ping"] + others)
                #expect(
                    byOpen == ["remote-systems.ping answers pong"] + others.map { "\($0) refused with 7" }
                )
                let byClosed = try await Self.ask(from: x, a.address, "4711", ["remote-systems.ping"] + others)
                #expect(byClosed == (["remote-systems.ping"] + others).map { "\($0) refused with 7" })
                #expect(open.exitCode == nil && closed.exitCode == nil)
            }
        }

        private static func ask(
            from host: SimulatedHost,
            _ address: String,
            _ port: String,
            _ services: [String]
        ) async throws -> [String] {
            try await IndependentClient.withAccount { state in
                let asking = try host.start(
                    Python.script("stranger.py", [state, address, port] + services),
                    readsErrors: true
                )
                _ = try await asking.exit(within: .seconds(30))
                return try await asking.allLines()
            }
        }
    }
}

extension Machine {
    /// Runs the command to its end. Returns its status and output.
    fileprivate func end(_ arguments: [String]) async throws -> (status: Int32, lines: [String]) {
        let process = try command(arguments)
        let status = try await process.exit(within: .seconds(40))
        return (status, try await process.allLines())
    }
}
