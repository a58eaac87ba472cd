// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Peers that make a host hold memory, against a host with the limits that it has by default.
    @Suite struct HostMemory {
        /// The limits for a host in a debug build, in MiB. They are far above measured values.
        static let maxHalf = 190
        static let maxSilent = 100

        /// Serves on a machine that may open many files, and runs an attack from another one. A third machine is served
        /// meanwhile.
        ///
        /// - Parameter arguments: those of the attack after its address and port, which may need the attacker's state.
        /// - Returns: how many connections the host took, and the most by which its memory grew, in MiB.
        private static func attack(
            _ kind: String,
            _ arguments: (Machine) -> [String]
        ) async throws -> (connections: Int, growth: Int) {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                var victim = machines[0]
                let files = "ulimit -n 8192; exec \"$0\" \"$@\""
                victim.launch = ["sh", "-c", files, try builtProgram("remotesystems")]
                let serving = try await victim.serve()
                // What each connection of any kind allocates once is there already.
                #expect(try await machines[2].ping("alpha").answered == 3)
                let before = try Self.memory(of: serving)
                var most = before
                let script = Python.script("held_memory.py", [kind, victim.address, "47474"] + arguments(machines[1]))
                let attacker = try machines[1].host.start(script)
                let held = try await eventually("the end of the attack", within: .seconds(90)) { () -> ReportedEvent? in
                    most = max(most, try Self.memory(of: serving))
                    return attacker.reported.first { $0.event == "held" }
                }
                #expect(try await machines[2].ping("alpha").answered == 3)
                most = max(most, try Self.memory(of: serving))
                #expect(serving.exitCode == nil && attacker.exitCode == nil)
                await attacker.stop()
                return (held.sent ?? 0, (most - before) >> 10)
            }
        }

        /// The private resident memory of a process, in KiB.
        private static func memory(of process: ChildProcess) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            return try #require(Int(line?.filter(\.isNumber) ?? ""))
        }

        @Test func `three hundred half messages of a member hold little memory of a host`() async throws {
            let result = try await Self.attack("half") { [$0.state, "300", "900000"] }
            print("MEASURED memory for half messages: \(result.growth) MiB for \(result.connections) (debug build)")
            #expect(result.connections > 200)
            // What was sent is 260 MiB. Without a budget, the host held 360.
            #expect(result.growth < Self.maxHalf)
        }

        @Test func `connections that prove nothing hold little memory of a host, and others are served`() async throws {
            let result = try await Self.attack("silent") { _ in ["1500"] }
            print("MEASURED memory for connections that prove nothing: \(result.growth) MiB (debug build)")
            #expect(result.connections > 100)
            #expect(result.growth < Self.maxSilent)
        }
    }
}
