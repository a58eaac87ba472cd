// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// What a stopped watcher sends.
    @Suite struct Stopping {
        /// What a host sends over TCP and UDP. ARP, and the ICMPv6 of neighbours and groups, come from the kernel.
        private struct Sent {
            var tcp = 0
            var mdns = 0
            var otherUDP = 0
            var isNothing: Bool { self.tcp == 0 && self.mdns == 0 && self.otherUDP == 0 }

            /// - Parameter lines: The output of a capture: Ethernet frames in hexadecimal digits.
            init(_ lines: some Sequence<String>, from host: String) {
                for line in lines where line.hasPrefix("frame ") {
                    let digits = Array(line.dropFirst("frame ".count))
                    func hex(_ byte: Int, count: Int = 1) -> String {
                        String(digits.dropFirst(byte * 2).prefix(count * 2))
                    }
                    guard hex(6, count: 6) == host else { continue }
                    let isIPv4 = hex(12, count: 2) == "0800"
                    guard isIPv4 || hex(12, count: 2) == "86dd" else { continue }
                    switch hex(isIPv4 ? 23 : 20) {
                    case "06": self.tcp += 1
                    case "11" where hex(isIPv4 ? 36 : 56, count: 2) == "14e9": self.mdns += 1
                    case "11": self.otherUDP += 1
                    default: break
                    }
                }
            }
        }

        @Test(arguments: Way.allCases, ["stop", "leave-loop"])
        func `nothing is sent after a watcher was stopped, until it is started again (R-11, R-12)`(
            _ way: Way,
            stop: String
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await way.prepare(a.host)
                try await way.prepare(b.host)
                _ = try await a.serve()
                // A daemon announces its own host name in the first seconds, independently of watchers.
                if way == .daemon { try await Task.sleep(for: .seconds(4)) }
                let capture = try a.host.start(Python.capture(interface: "eth0"))
                try await capture.capturing()
                let address = try await b.host.output(of: ["cat", "/sys/class/net/eth0/address"])
                let ethernet = address.trimmingCharacters(in: .whitespacesAndNewlines).replacing(":", with: "")

                let probe = try b.host.start([try builtProgram("stopping-probe"), b.state, stop], readsErrors: true)
                try await probe.reported("added")
                try await probe.reported("stopped")
                let watching = Sent(capture.lines, from: ethernet)
                #expect(watching.tcp > 0 && watching.mdns > 0, "its packets were not captured")

                // The kernel may still acknowledge the end of the connection.
                try await Task.sleep(for: .seconds(1))
                let before = capture.lines.count
                // A browse repeats its query after 1, 2, 4, 8 seconds, and a connection sends every second. None of
                // that may occur.
                try await Task.sleep(for: .seconds(12))
                let after = Sent(capture.lines.dropFirst(before), from: ethernet)
                #expect(after.isNothing, "\(after)")
                #expect(probe.exitCode == nil, "the program has ended")
                await capture.stop()
                probe.send(SIGUSR1)
                try await probe.reported("added again", within: .seconds(30))
            }
        }
    }
}
