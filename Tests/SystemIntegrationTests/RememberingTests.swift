// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Systems that were met before, on networks without multicast and on other networks.
    @Suite struct Remembering {
        @Test func `a known system is listed on a network that drops multicast, and one that was never met is not`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                _ = try await a.serve()
                try await b.meet(a)
                _ = try await c.serve()
                try await network.dropMulticast()
                var seconds: [Double] = []
                for _ in 0..<5 {
                    let watching = try b.watch()
                    let added = try await watching.reported("added", a)
                    #expect(added.discovery == "proximal")
                    seconds.append(added.seconds(since: try watching.startOfProgram()))
                    if seconds.count == 5 {
                        // The peer that was never met would be found within this time if multicast worked.
                        try await Task.sleep(for: .seconds(2))
                        #expect(!watching.hasReported("added", c))
                        #expect(watching.reported.filter { $0.event == "added" }.count == 1)
                    }
                    await watching.stop()
                }
                report("a known system without multicast, from the start of the process", seconds)
                // The connection does not depend on multicast either, and `list` waits for it.
                let list = try b.command(["list"])
                try await list.reported("enumeration-completed", within: .seconds(30))
                #expect(list.hasReported("system", a))
                _ = try await list.exit()
            }
        }

        @Test func `with multicast, a known system has one connection and no change is reported`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                _ = try await a.serve()
                try await b.meet(a)
                let watching = try b.watch()
                try await watching.reported("added", a)
                try await watching.reported("enumeration-completed")
                // Discovery finds the system within this time.
                try await Task.sleep(for: .seconds(3))
                #expect(!watching.hasReported("updated") && !watching.hasReported("removed"))
                #expect(try await b.connections(toPort: 47474) == 1)
            }
        }

        @Test func `a host that restarts is found again without multicast`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let first = try await a.serve()
                try await b.meet(a)
                try await network.dropMulticast()
                let watching = try b.watch()
                try await watching.reported("added", a)
                await first.stop()
                try await watching.reported("removed", a)
                let before = watching.reported.count
                _ = try await a.serve()
                try await watching.reported("added", a, from: before, within: .seconds(40))
            }
        }

        @Test func `on another network, nothing is sent to the endpoints of the first`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                _ = try await a.serve()
                // The gateway's hardware address is part of the network's identity.
                try await b.setGateway(hardwareAddress: "02:00:00:00:00:01")
                try await b.meet(a)
                try await network.dropMulticast()
                try await b.countAttempts()
                let known = try b.watch()
                try await known.reported("added", a)
                await known.stop()
                let before = try await b.attempts()
                #expect(before > 0)

                // The same addresses behind another gateway: another network.
                try await b.setGateway(hardwareAddress: "02:00:00:00:00:02")
                let other = try b.watch()
                try await other.reported("enumeration-completed", within: .seconds(20))
                // An attempt to connect would begin within this time; no event reports its absence.
                try await Task.sleep(for: .seconds(1))
                #expect(!other.hasReported("added"))
                #expect(try await b.attempts() == before)

                // A network without a gateway is yet another one, also for a watcher that runs.
                try await b.host.ip("route", "del", "default")
                // The watcher notices the change within this time, and would connect.
                try await Task.sleep(for: .seconds(1))
                #expect(try await b.attempts() == before)
                await other.stop()

                // Back on the first one, but restricted to loopback.
                try await b.setGateway(hardwareAddress: "02:00:00:00:00:01")
                let loopback = try b.command(["list", "--loopback"])
                try await loopback.reported("enumeration-completed", within: .seconds(20))
                _ = try await loopback.exit()
                #expect(try await b.attempts() == before)
            }
        }

        @Test func `a network that comes back while a watcher runs is tried at once`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                _ = try await a.serve()
                try await b.meet(a)
                try await network.dropMulticast()
                try await b.host.setInterface(up: false)
                let watching = try b.watch()
                try await watching.reported("enumeration-completed", within: .seconds(20))
                #expect(!watching.hasReported("added"))
                try await b.host.setInterface(up: true)
                try await watching.reported("added", a, within: .seconds(20))
            }
        }
    }
}

extension Machine {
    /// Finds another machine by discovery, and remembers it.
    fileprivate func meet(_ other: Machine) async throws {
        let watching = try self.watch()
        try await watching.reported("added", other)
        watching.send(SIGINT)
        _ = try await watching.exit()
        guard FileManager.default.fileExists(atPath: "\(self.state)/account/known-endpoints.json") else {
            throw IntegrationError("\(self.name) does not remember \(other.name)")
        }
    }

    /// Sets the default gateway, with a hardware address as the kernel would have learned it.
    fileprivate func setGateway(hardwareAddress: String) async throws {
        let gateway = "10.77.0.254"
        let address = ["lladdr", hardwareAddress, "dev", "eth0", "nud", "permanent"]
        _ = try await self.host.output(of: ["ip", "neigh", "replace", gateway] + address)
        try await self.host.ip("route", "replace", "default", "via", gateway)
    }

    fileprivate func connections(toPort port: Int) async throws -> Int {
        try await self.host.output(of: ["ss", "-Htn", "state", "established", "dport = :\(port)"])
            .split(separator: "\n").count
    }

    /// Counts the TCP connections that this machine tries to open over its cable.
    fileprivate func countAttempts() async throws {
        try await self.host.setFirewall(
            """
            table inet attempts {
              counter syn { }
              chain output {
                type filter hook output priority 0; policy accept;
                oifname "eth0" tcp flags & (syn | ack) == syn counter name syn
              }
            }
            """
        )
    }

    fileprivate func attempts() async throws -> Int {
        let text = try await self.host.output(of: ["nft", "list", "counter", "inet", "attempts", "syn"])
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let index = words.firstIndex(of: "packets"), let count = Int(words[index + 1]) else {
            throw IntegrationError("no counter in \(text)")
        }
        return count
    }
}

extension ChildProcess {
    /// The time at which the program that this process executes was started, to 10 ms.
    fileprivate func startOfProgram() throws -> Date {
        let stat = try String(contentsOfFile: "/proc/\(self.id)/stat", encoding: .utf8)
        let fields = stat.drop { $0 != ")" }.split(separator: " ")
        let uptime = try String(contentsOfFile: "/proc/uptime", encoding: .utf8).split(separator: " ")
        guard fields.count > 20, let ticks = Double(fields[20]), let seconds = uptime.first.flatMap({ Double($0) })
        else { throw IntegrationError("no start time in \(stat)") }
        return Date(timeIntervalSinceNow: ticks / Double(sysconf(Int32(_SC_CLK_TCK))) - seconds)
    }
}
