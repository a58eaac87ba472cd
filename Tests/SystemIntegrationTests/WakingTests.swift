// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: machines that were asleep, and machines that moved. Asleep, here: no program of theirs runs.
    @Suite struct Waking {
        /// Longer than silence is borne by either side.
        static let sleep = Duration.seconds(18)

        @Test(arguments: Way.allCases)
        func `a watcher that was asleep lists who is there, and not who has gone`(_ way: Way) async throws {
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
                try await Task.sleep(for: Self.sleep / 2)
                leaving.send(SIGKILL)
                _ = try await d.serve()
                try await Task.sleep(for: Self.sleep / 2)
                let reported = onB.reported.count
                let awake = Date()
                onB.send(SIGCONT)
                let gone = try await onB.reported("removed", c, from: reported, within: .seconds(15))
                try await onB.listed(a, within: .seconds(15))
                let new = try await onB.reported("added", d, from: reported, within: .seconds(15))
                report("\(way): awake to removed, of who has gone", [gone.seconds(since: awake)])
                report("\(way): awake to added, of who is new", [new.seconds(since: awake)])
                // No later second thoughts.
                try await Task.sleep(for: .seconds(14))
                try await onB.listed(a, within: .milliseconds(100))
                for machine in [a, c, d] { #expect(onB.reportedInTurns(machine), "\(onB.lines)") }
                #expect(!onB.hasReported("added", c, from: reported))
                #expect(try await b.ping("alpha").answered == 3)
            }
        }

        @Test(arguments: Way.allCases)
        func `a host that was asleep is removed, and comes back by itself`(_ way: Way) async throws {
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
                    // Or the old connection would go on over IPv6.
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
