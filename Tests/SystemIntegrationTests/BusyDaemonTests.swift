// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 8 §1: an avahi-daemon that reads multicast packets for seconds responds to no client. Here it is suspended
    /// completely.
    @Suite struct BusyDaemon {
        @Test func `while the daemon does not respond, systems are found nevertheless`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let serving = try await a.serve()
                try await b.host.startDaemon()
                b.host.setDaemon(paused: true)
                #expect(try await b.ping("alpha").answered == 3)
                let start = Date()
                let onB = try b.watch()
                let added = try await onB.reported("added", a)
                report("start of a watcher beside a daemon that stands still to added", [added.seconds(since: start)])
                await serving.stop()
                try await onB.reported("removed", a)
            }
        }

        @Test func `a host that stops while its daemon does not respond is removed in time`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await a.host.startDaemon()
                let serving = try await a.serve()
                let onB = try b.watch()
                try await onB.reported("added", a)
                a.host.setDaemon(paused: true)
                let end = Date()
                await serving.stop()
                let removed = try await onB.reported("removed", a).seconds(since: end)
                report("stop of a host whose daemon does not respond to removed", [removed])
                #expect(removed < Removal.byConnection)
                #expect(serving.exitCode == 0)
            }
        }
    }
}
