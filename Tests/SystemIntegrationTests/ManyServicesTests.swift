// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: a network full of other services.
    @Suite struct ManyServices {
        /// The limit for a watcher in a debug build, in MiB. Far above measured values.
        static let maxMemory = 100

        @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
        func `among a thousand services ours are found in time, and the nearly reached limit is reported`(
            _ way: Way
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                let x = try await network.addHost("x")
                for machine in [b, c] { try await way.prepare(machine.host) }
                let onB = try b.watch()
                let before = Date()
                let crowd = try x.start(Python.script("crowd.py", x.address, "1000", "200"), readsErrors: true)
                try await crowd.reported("announcing", within: .seconds(60))
                report("1200 services of strangers announced", [Date().timeIntervalSince(before)])

                let start = Date()
                let serving = try await a.serve()
                let added = try await onB.reported("added", a, within: .seconds(20))
                report("\(way): start of a host among 1200 services to added", [added.seconds(since: start)])
                let late = Date()
                let onC = try c.watch()
                let found = try await onC.reported("added", a, within: .seconds(30))
                report("\(way): start of a watcher among 1200 services to added", [found.seconds(since: late)])
                // Only our systems are reported. Foreign services are not.
                #expect(Set((onB.reported + onC.reported).filter { $0.event == "added" }.compactMap(\.id)).count == 1)
                if way == .daemon {
                    let error = try await onB.reported("error", within: .seconds(20))
                    #expect(error.message?.contains("cache") == true, "\(error)")
                }
                #expect(try await c.ping("alpha").answered == 3)
                let end = Date()
                await serving.stop()
                #expect(try await onB.reported("removed", a).seconds(since: end) < Removal.byConnection)
                for watcher in [onB, onC] {
                    let memory = try Crowd.peakMemory(of: watcher)
                    print("MEASURED memory of a watcher among 1200 services: \(memory) MiB at most (debug build)")
                    #expect(memory < Self.maxMemory)
                }
            }
        }
    }
}
