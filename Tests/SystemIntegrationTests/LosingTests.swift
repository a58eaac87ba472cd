// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Processes end, cables break, daemons stop: listed systems are removed in time, and return.
    @Suite struct Losing {
        @Test(arguments: Way.pairs)
        func `a system is removed within a second when its process is killed or stopped`(_ ways: Way.Pair) async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await ways.serving.prepare(a.host)
                try await ways.watching.prepare(b.host)
                let onB = try b.watch()
                // Each process has a port of its own. With the killed one's port, both the watcher's next attempt and
                // the new advertisement would find the other process, and the second of these connections might open
                // while the first one is being closed.
                var times: [Double] = []
                for (signal, what, port) in [(SIGKILL, "killed", 4001), (SIGTERM, "stopped", 4002)] {
                    var reported = onB.reported.count
                    let serving = try await a.serve(port: port)
                    try await onB.reported("added", a, from: reported)
                    reported = onB.reported.count
                    let end = Date()
                    serving.send(signal)
                    let time = try await onB.reported("removed", a, from: reported).seconds(since: end)
                    report("\(ways.testDescription): \(what) to removed", [time])
                    #expect(time < Removal.byConnection)
                    times.append(time)
                    _ = try await serving.exit()
                }
                #expect(onB.reported.filter { $0.event == "removed" }.count == 2)
                // A busy machine may be late once.
                #expect(times.contains { $0 < 1 }, "\(times)")
            }
        }

        enum Cut: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case cable, servingInterface, watchingInterface

            var testDescription: String { rawValue }

            func set(whole: Bool, _ serving: Machine, _ watching: Machine) async throws {
                switch self {
                case .cable: try await serving.host.setCable(plugged: whole)
                case .servingInterface: try await serving.host.setInterface(up: whole)
                case .watchingInterface: try await watching.host.setInterface(up: whole)
                }
            }
        }

        @Test(arguments: zip([Cut.cable] + Cut.allCases, [Way.daemon, .embedded, .embedded, .embedded]))
        func `a system is removed when its network falls silent, and added when it returns`(
            _ cut: Cut,
            _ way: Way
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await way.prepare(a.host)
                try await way.prepare(b.host)
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                var reported = onB.reported.count
                let end = Date()
                try await cut.set(whole: false, a, b)
                let silence = try await onB.reported("removed", a, from: reported, within: .seconds(20)).seconds(
                    since: end
                )
                #expect(silence < 15)
                reported = onB.reported.count
                let start = Date()
                try await cut.set(whole: true, a, b)
                let back = try await onB.reported("added", a, from: reported, within: .seconds(40)).seconds(
                    since: start
                )
                report("\(cut) cut, \(way): silent to removed", [silence])
                report("\(cut) cut, \(way): whole to added", [back])
                #expect(try await b.ping("alpha").answered == 3)
            }
        }

        @Test func `an outage shorter than the silence timeout changes nothing`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                let reported = onB.reported.count
                try await a.host.setCable(plugged: false)
                // An outage in real time.
                try await Task.sleep(for: .seconds(3))
                try await a.host.setCable(plugged: true)
                // Longer than the silence timeout, so that a removal would show.
                try await Task.sleep(for: .seconds(12))
                #expect(!onB.hasReported("removed", from: reported))
                #expect(try await b.ping("alpha").answered == 3)
            }
        }

        @Test(arguments: [SIGTERM, SIGKILL])
        func `a restart of the watching host's daemon removes no system, and new systems are found after it`(
            _ signal: Int32
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                try await network.startDaemons(on: a.host, b.host)
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                let reported = onB.reported.count
                try await b.host.stopDaemon(signal)
                try await onB.reported("error", from: reported)
                try await b.host.startDaemon()
                // Longer than the grace period in which known instances may reappear. Avahi runs in real time.
                try await Task.sleep(for: .seconds(4))
                _ = try await c.serve()
                try await onB.reported("added", c, from: reported, within: .seconds(15))
                #expect(!onB.hasReported("removed", from: reported))
                #expect(!onB.hasReported("added", a, from: reported))
                #expect(try await b.ping("alpha").answered == 3)
            }
        }

        @Test(arguments: [SIGTERM, SIGKILL])
        func `a restart of the serving host's daemon removes no system, and new watchers find it after it`(
            _ signal: Int32
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                try await network.startDaemons(on: a.host, b.host)
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                try await a.host.stopDaemon(signal)
                try await a.host.startDaemon()
                let onC = try c.watch()
                try await onC.reported("added", a, within: .seconds(15))
                #expect(!onB.hasReported("removed"))
            }
        }

        @Test(arguments: Way.allCases)
        func `a host that returns on another port is removed, added and reachable`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await way.prepare(a.host)
                try await way.prepare(b.host)
                let onB = try b.watch()
                let first = try await a.serve(port: 4001)
                try await onB.reported("added", a)
                first.send(SIGKILL)
                try await onB.reported("removed", a)
                let reported = onB.reported.count
                _ = try await a.serve(port: 4002)
                try await onB.reported("added", a, from: reported)
                #expect(try await b.ping("alpha").answered == 3)
                #expect(try await b.ping("\(a.address):4002").answered == 3)
                #expect(!onB.hasReported("removed", from: reported))
            }
        }
    }
}
