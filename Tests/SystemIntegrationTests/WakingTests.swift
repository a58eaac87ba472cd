// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: machines that were asleep, and machines that moved. Asleep means here that none of their programs
    /// runs.
    @Suite struct Waking {
        /// Longer than the silence timeout of either side.
        static let sleep = Duration.seconds(18)

        @Test(arguments: Way.allCases)
        func `a watcher that was asleep lists the present systems, and not those that left meanwhile`(_ way: Way)
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma", "delta")
                let (a, b, c, d) = (machines[0], machines[1], machines[2], machines[3])
                for machine in machines { try await way.prepare(machine.host) }
                let onB = try b.watch()
                _ = try await a.serve()
                let leaving = try await c.serve()
                try await onB.reported("added", a)
                try await onB.reported("added", c)
                onB.send(SIGSTOP)
                // The machine is asleep in real time.
                try await Task.sleep(for: Self.sleep / 2)
                leaving.send(SIGKILL)
                _ = try await d.serve()
                // The machine is asleep in real time.
                try await Task.sleep(for: Self.sleep / 2)
                let reported = onB.reported.count
                let awake = Date()
                onB.send(SIGCONT)
                let gone = try await onB.reported("removed", c, from: reported, within: .seconds(15))
                try await onB.listed(a, within: .seconds(15))
                let new = try await onB.reported("added", d, from: reported, within: .seconds(15))
                report("\(way): awake to removed, of a lost system", [gone.seconds(since: awake)])
                report("\(way): awake to added, of a new system", [new.seconds(since: awake)])
                // No later events contradict this.
                try await Task.sleep(for: .seconds(14))
                try await onB.listed(a, within: .milliseconds(100))
                for machine in [a, c, d] { #expect(onB.reportedInTurns(machine), "\(onB.lines)") }
                #expect(!onB.hasReported("added", c, from: reported))
                #expect(try await b.ping("alpha").answered == 3)
            }
        }

        @Test(arguments: Way.allCases)
        func `a host that was asleep is removed, and returns by itself`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                for machine in machines { try await way.prepare(machine.host) }
                let onB = try b.watch()
                let serving = try await a.serve()
                try await onB.reported("added", a)
                let asleep = Date()
                serving.send(SIGSTOP)
                let silence = try await onB.reported("removed", a, within: .seconds(20)).seconds(since: asleep)
                #expect(silence < 15)
                // The machine is asleep in real time.
                try await Task.sleep(for: .seconds(6))
                let reported = onB.reported.count
                let awake = Date()
                serving.send(SIGCONT)
                let back = try await onB.reported("added", a, from: reported, within: .seconds(45)).seconds(
                    since: awake
                )
                report("\(way): host awake to added", [back])
                #expect(try await b.ping("alpha").answered == 3)
                #expect(onB.reportedInTurns(a), "\(onB.lines)")
            }
        }

        @Test(arguments: Way.allCases)
        func `a host whose address was replaced is found at the new one`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                for machine in machines {
                    // Otherwise the old connection would continue over IPv6.
                    _ = try await machine.host.output(of: ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"])
                    try await way.prepare(machine.host)
                }
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                let reported = onB.reported.count
                let moved = Date()
                try await a.host.ip("address", "del", "\(a.address)/24", "dev", "eth0")
                try await a.host.ip("address", "add", "10.77.0.201/24", "dev", "eth0")
                _ = try await eventually("a connection to the new address", within: .seconds(45)) { () -> Bool? in
                    let list = try await b.host.output(of: ["ss", "-Htn", "state", "established", "dst 10.77.0.201"])
                    return list.isEmpty ? nil : true
                }
                try await onB.listed(a, within: .seconds(10))
                let found = Date().timeIntervalSince(moved)
                report("\(way): address replaced to connected to the new one", [found])
                // Not by silence alone, which takes 12 s.
                #expect(found < 8)
                #expect(try await b.ping("alpha").answered == 3)
                #expect(onB.reportedInTurns(a), "\(onB.lines)")
                let fresh = try b.watch()
                try await fresh.reported("added", a)
                #expect(onB.reported.dropFirst(reported).filter { $0.event == "removed" }.count <= 1)
            }
        }
    }
}
