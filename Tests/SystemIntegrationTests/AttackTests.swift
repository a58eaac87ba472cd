// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Forged packets of multicast DNS, from a machine of the same network.
    @Suite struct Attacks {
        /// The advertised instance of a machine, and the host name that it points to.
        private func advertised(by machine: Machine, seenFrom host: SimulatedHost) async throws -> (String, String) {
            let python = try host.start(Python.script("resolve.py"))
            let ours = try await python.reported("resolved", within: .seconds(30)) {
                $0.message?.hasPrefix(machine.address) == true
            }
            let parts = ours.message?.split(separator: " ", omittingEmptySubsequences: false).map(String.init) ?? []
            await python.stop()
            return (try #require(ours.id), try #require(parts.count > 1 ? parts[1] : nil))
        }

        /// Sends forged packets while a watcher lists alpha, and checks that it stays listed, that another watcher
        /// finds it, and that it responds.
        private func underAttack(_ kind: String, _ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let x = try await network.addHost("x")
                try await way.prepare(b.host)
                try await way.prepare(a.host)
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                let (instance, host) = try await self.advertised(by: a, seenFrom: x)
                let attacker = try x.start(Python.script("forged_records.py", x.address, instance, host, kind, "20"))
                try await attacker.reported("sending", within: .seconds(30))
                #expect(try await b.ping("alpha").answered == 3)
                #expect(try await b.listed() == ["alpha"])
                #expect(attacker.exitCode == nil && !attacker.hasReported("done"), "the attack ended too early")
                await attacker.stop()
                #expect(try await b.listed() == ["alpha"])
                #expect(!onB.hasReported("removed"), "\(onB.reported)")
                #expect(onB.exitCode == nil)
            }
        }

        @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
        func `a flood of forged goodbyes hides no system`(_ way: Way) async throws {
            try await self.underAttack("goodbye", way)
        }

        @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
        func `a stranger that claims a machine's host name hides no system`(_ way: Way) async throws {
            try await self.underAttack("conflict", way)
        }

        @Test(arguments: Way.allCases)
        func `queries from outside get no response, DNS no query (CVE-2017-6519, CVE-2024-52615, CVE-2024-52616)`(
            _ way: Way
        ) async throws {
            // Unicast queries to DNS servers could be spoofed.
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachines("alpha")[0]
                let x = try await network.addHost("x")
                try await way.prepare(a.host)
                // An address of another network, behind x.
                try await x.ip("addr", "add", "198.51.100.7/32", "dev", "lo")
                try await a.host.ip("route", "add", "default", "via", x.address)
                let capture = try x.start(Python.capture(interface: "eth0"))
                try await capture.capturing()
                _ = try await a.serve()
                let watching = try a.watch()
                try await watching.reported("enumeration-completed", within: .seconds(20))
                func response(to source: String) async throws -> Int? {
                    let query = try x.start(Python.script("unicast_query.py", source, a.address))
                    return try await query.reported("answered", within: .seconds(20)).systems
                }
                let near = try await eventually("a response on the link", within: .seconds(60)) { () -> Int? in
                    let bytes = try await response(to: x.address)
                    return bytes == 0 ? nil : bytes
                }
                #expect(near > 50)
                #expect(try await response(to: "198.51.100.7") == 0)
                await capture.stop()
                let frames = capture.lines.filter { $0.hasPrefix("frame ") }
                #expect(frames.contains { $0.contains(Python.hex("_remote-systems")) }, "nothing was captured")
                // IPv4 and UDP, to port 53.
                let queries = frames.map { Array($0.dropFirst("frame ".count)) }.filter { frame in
                    func hex(_ byte: Int, _ count: Int) -> String {
                        String(frame.dropFirst(byte * 2).prefix(count * 2))
                    }
                    return hex(12, 2) == "0800" && hex(23, 1) == "11" && hex(36, 2) == "0035"
                }
                #expect(queries.isEmpty, "\(queries.count) queries to DNS servers")
            }
        }
    }
}
