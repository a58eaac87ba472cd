// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §2: a long-lived connection reconnects after a new address, a lost interface, a restarted host.
    @Suite struct ComingBack {
        /// Runs a probe that pings `alpha` from `beta`, waits until it is connected, and causes a failure.
        private func follow(
            _ what: String,
            breaking: (_ a: Machine, _ b: Machine, _ serving: ChildProcess) async throws -> Void,
            mending: (_ a: Machine, _ b: Machine) async throws -> Void
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let serving = try await a.serve(port: 4001)
                let probe = try b.host.start(
                    [try builtProgram("long-lived-probe"), b.state, "alpha"],
                    readsErrors: true
                )
                try await probe.reported("connected", within: .seconds(15))
                let reported = probe.reported.count
                try await breaking(a, b, serving)
                try await probe.reported("state", from: reported, within: .seconds(15)) {
                    $0.message?.hasPrefix("waiting") == true
                }
                let start = Date()
                try await mending(a, b)
                let back = try await probe.reported("connected", from: reported, within: .seconds(20))
                report("\(what): mended to connected", [back.seconds(since: start)])
                // No request was lost: each waited for the connection, or was repeated with its key.
                #expect(!probe.hasReported("failed"))
                probe.send(SIGTERM)
            }
        }

        @Test func `the connection follows its host to another address`() async throws {
            try await self.follow("another address") { a, _, _ in
                try await a.host.ip("addr", "flush", "dev", "eth0")
            } mending: { a, _ in
                try await a.host.ip("addr", "add", "10.77.0.201/24", "dev", "eth0")
            }
        }

        @Test func `the connection returns when its own interface does`() async throws {
            try await self.follow("own interface down and up") { _, b, _ in
                try await b.host.setInterface(up: false)
            } mending: { _, b in
                try await b.host.setInterface(up: true)
            }
        }

        @Test func `the connection follows its host to another port after a restart`() async throws {
            try await self.follow("restart on another port") { _, _, serving in
                serving.send(SIGKILL)
                _ = try await serving.exit()
            } mending: { a, _ in
                _ = try await a.serve(port: 4002)
            }
        }
    }
}
