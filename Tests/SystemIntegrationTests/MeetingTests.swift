// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Two hosts join one account, find each other and exchange messages.
    @Suite struct Meeting {
        @Test func `a machine joins another's account over the network, and an invitation works once`() async throws {
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachine("alpha", state: try await Accounts.shared.stranger())
                let b = try await network.addMachine("beta", state: try await Accounts.shared.stranger())
                let c = try await network.addMachine("gamma", state: try await Accounts.shared.stranger())
                let inviting = try a.command(["account", "invite", "--host", a.address])
                let invitation = try await inviting.reported("invitation")
                let uri = try #require(invitation.uri)
                let joined = try await b.join(uri).reported("joined")
                #expect(try await inviting.reported("joined").systemID == joined.systemID)
                #expect(invitation.accountID == joined.accountID)
                #expect(try await inviting.exit() == 0)

                let again = try c.join(uri)
                #expect(try await again.exit(within: .seconds(30)) == 2)
                _ = try await again.allLines()
                #expect(again.hasReported("failed"))

                let serving = try await a.serve()
                let ready = try await serving.reported("ready")
                #expect(ready.accountID == joined.accountID && ready.systemID != joined.systemID)
                #expect(try await b.ping("alpha").answered == 3)
            }
        }

        @Test(arguments: Way.pairs)
        func `hosts find each other in both directions and ping by name, id and address`(_ ways: Way.Pair) async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await ways.serving.prepare(a.host)
                try await ways.watching.prepare(b.host)
                let onA = try a.watch()
                let onB = try b.watch()
                let id = try #require(try await a.serve().reported("ready").systemID)
                _ = try await b.serve()
                let alpha = try await onB.reported("added", a)
                #expect(alpha.id == id)
                #expect(alpha.isLocal == false)
                #expect(try await onB.reported("added", b).isLocal == true)
                try await onA.reported("added", b)

                for target in ["alpha", String(id.prefix(8)), a.address, "\(a.address):47474"] {
                    let summary = try await b.ping(target)
                    #expect(summary.answered == 3 && summary.lost == 0, "\(target)")
                }
                #expect(try await a.ping("beta").answered == 3)
                #expect(!onA.hasReported("removed") && !onB.hasReported("removed"))
            }
        }

        @Test func `two hosts of the same name are two systems`() async throws {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(3)
                let a = Machine(host: try await network.addHost("a"), name: "twin", state: states[0])
                let b = Machine(host: try await network.addHost("b"), name: "twin", state: states[1])
                let c = Machine(host: try await network.addHost("c"), name: "other", state: states[2])
                let onC = try c.watch()
                let first = try #require(try await a.serve().reported("ready").systemID)
                let serving = try await b.serve()
                let second = try #require(try await serving.reported("ready").systemID)
                for id in [first, second] { try await onC.reported("added") { $0.id == id && $0.name == "twin" } }
                for id in [first, second] { #expect(try await c.ping(String(id.prefix(10))).answered == 3) }
                await serving.stop()
                try await onC.reported("removed") { $0.id == second }
                #expect(!onC.reported.contains { $0.event == "removed" && $0.id == first })
            }
        }

        @Test(arguments: Way.allCases)
        func `several processes of one host are one system until the last one ends`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await way.prepare(a.host)
                try await way.prepare(b.host)
                let onB = try b.watch()
                let first = try await a.serve(port: 4001)
                let second = try await a.serve(port: 4002, application: "test.second")
                try await onB.reported("added", a)
                // Both are found and connected to, though they are one system. The watcher holds a connection to each,
                // and has received the second one's description, which adds an endpoint to the application.
                for port in [4001, 4002] { try await b.connected(to: a, port: port) }
                try await onB.reported("updated", a)
                await first.stop()
                #expect(try await b.ping("alpha").answered == 3)
                #expect(!onB.hasReported("removed"))
                await second.stop()
                try await onB.reported("removed", a)
                #expect(onB.reported.filter { $0.event == "added" }.count == 1)
                #expect(onB.reported.filter { $0.event == "removed" }.count == 1)
            }
        }

        /// Both send queries from one address. The first one's known answers (RFC 6762 §7.1) must not suppress the
        /// response to the second.
        @Test(arguments: [100, 200, 300, 400, 500])
        func `two programs that start one after the other on a host without a daemon both find a system`(
            _ milliseconds: Int
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                _ = try await a.serve()
                // Waits for the end of the announcements.
                try await Task.sleep(for: .seconds(2))
                let first = try b.watch()
                // The time between the two starts, which the test varies.
                try await Task.sleep(for: .milliseconds(milliseconds))
                let second = try b.watch()
                try await first.reported("added", a, within: .seconds(6))
                try await second.reported("added", a, within: .seconds(6))
            }
        }

        @Test(arguments: Way.allCases)
        func `a host of another account nearby is never listed`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let s = try await network.addMachine("stranger", state: try await Accounts.shared.stranger())
                for machine in [a, b, s] { try await way.prepare(machine.host) }
                let onB = try b.watch()
                let onS = try s.watch()
                _ = try await s.serve()
                _ = try await a.serve()
                try await onB.reported("added", a)
                try await onS.reported("added", s)
                // A wrong addition would follow within this time; no event reports its absence.
                try await Task.sleep(for: .seconds(2))
                #expect(!onB.hasReported("added", s) && !onS.hasReported("added", a))
                // Knowing the address does not help either.
                let knocking = try s.command(["ping", a.address, "--count", "1"])
                #expect(try await knocking.exit(within: .seconds(20)) == 2)
                _ = try await knocking.allLines()
                #expect(knocking.hasReported("failed") && !knocking.hasReported("reply"))
            }
        }
    }
}

extension Machine {
    /// Waits until there is a connection from here to a port of another machine.
    func connected(to other: Machine, port: Int) async throws {
        _ = try await eventually("a connection from \(name) to port \(port)") { () -> Bool? in
            let list = try await host.output(of: ["ss", "-Htn", "state", "established", "dport = :\(port)"])
            return list.isEmpty ? nil : true
        }
    }
}
