// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// A watcher with a real Avahi: what it reports, and how filters choose.
    @Suite struct Watching {
        @Test(arguments: Way.allCases)
        func `a watcher reports what is added, updated and removed from its start on (R-06, R-08, R-10, R-11)`(
            _ way: Way
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                for machine in machines { try await way.prepare(machine.host) }
                let first = try await a.serve(port: 4001)
                let watching = try b.watch()
                let added = try await watching.reported("added", a)
                #expect(added.applications?.count == 1)
                #expect(added.discovery == "proximal")

                // The watcher continues: later changes are reported, too.
                let second = try a.command(["serve", "--port", "4002", "--application-id", "test.second"])
                try await second.reported("ready", within: .seconds(15))
                try await watching.reported("updated") { $0.id == added.id && $0.applications?.count == 2 }
                _ = try await c.serve()
                try await watching.reported("added", c)
                let before = watching.reported.count
                await second.stop()
                try await watching.reported("updated", from: before) {
                    $0.id == added.id && $0.applications?.count == 1
                }
                await first.stop()
                try await watching.reported("removed", a)
                #expect(!watching.hasReported("removed", c))
            }
        }

        @Test(arguments: Way.allCases)
        func `filters choose by kind, discovery type, application and service; none lets all through (R-07 to R-09)`(
            _ way: Way
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                for machine in machines { try await way.prepare(machine.host) }
                let serving = try a.command(["serve", "--application-id", "test.pinger"])
                try await serving.reported("ready", within: .seconds(15))
                let kind = try #require(try await b.watch().reported("added", a).kind)
                let other = kind == "phone" ? "tablet" : "phone"

                for filters in [
                    ["kind=\(kind)"], ["kind=\(other)", "kind=\(kind)"], ["discovery=proximal"], ["discovery=any"],
                    ["application=test.pinger"], ["service=remote-systems.ping", "kind=\(kind)", "platform=linux"],
                ] {
                    let watching = try b.watch(filters)
                    try await watching.reported("added", a)
                    await watching.stop()
                }
                for filters in [
                    ["kind=\(other)"], ["discovery=cloud"], ["kind=\(kind)", "discovery=cloud"],
                    ["application=test.other"], ["service=test.other"],
                ] {
                    // Whether the filter excludes a system is known once the system has described itself.
                    _ = try await eventually("what \(filters) leave out", within: .seconds(60)) { () -> Bool? in
                        let list = try b.command(["list"] + filters.flatMap { ["--filter", $0] })
                        let end = try await list.reported("enumeration-completed", within: .seconds(30))
                        _ = try await list.exit()
                        #expect(!list.hasReported("system"), "\(filters)")
                        return end.excluded == 1 ? true : nil
                    }
                }
            }
        }

        @Test func `a system is found by its host name, and pinged by it (FindByHostName)`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let a = machines[0]
                var b = machines[1]
                let id = try #require(try await a.serve().reported("ready").systemID)
                // Stands for a DNS server's response, on this machine alone.
                let names = b.state + ".hosts"
                try "\(a.address) kitchen.example\n".write(toFile: names, atomically: true, encoding: .utf8)
                defer { try? FileManager.default.removeItem(atPath: names) }
                b.launch = [
                    "unshare", "-m", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\"", names,
                    try builtProgram("remotesystems"),
                ]
                let info = try b.command(["info", "kitchen.example:47474"])
                let system = try await info.reported("system", within: .seconds(30))
                #expect(system.id == id)
                #expect(system.name == "alpha")
                #expect(system.discovery == "proximal")
                #expect(try await b.ping("kitchen.example:47474").answered == 3)
            }
        }
    }
}

extension Machine {
    /// Starts to watch with filters.
    fileprivate func watch(_ filters: [String]) throws -> ChildProcess {
        try self.command(["watch"] + filters.flatMap { ["--filter", $0] })
    }
}
