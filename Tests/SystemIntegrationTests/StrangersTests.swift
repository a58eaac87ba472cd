// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Independent programs see our advertisements, which do not identify user or machine; strangers change nothing.
    @Suite struct Strangers {
        /// Also X-02.
        @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
        func `independent programs resolve the service and see neither names nor stable ids`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(2)
                let a = Machine(host: try await network.addHost("a"), name: "very-secret-host", state: states[0])
                let b = Machine(host: try await network.addHost("b"), name: "beta", state: states[1])
                let c = try await network.addHost("c")
                try await way.prepare(a.host)
                try await c.startDaemon()
                let capture = try b.host.start(Python.capture(interface: "eth0"))
                try await capture.capturing()
                let python = try b.host.start(Python.script("resolve.py"))
                try await python.reported("browsing", within: .seconds(30))
                let ready = try await a.serve(port: 4711).reported("ready")
                let resolved = try await python.reported("resolved", within: .seconds(30)) { $0.port == 4711 }
                #expect(resolved.message?.hasPrefix("\(a.address) ") == true)
                // Each listing contains the responses of one second.
                let listing = try await eventually("a listing") { () -> String? in
                    let listing = try await c.output(of: ["avahi-browse", "-rptk", "_remote-systems._tcp"])
                    return listing.contains("=;eth0;IPv4;") ? listing : nil
                }
                let lines = listing.split(separator: "\n").filter { $0.hasPrefix("=;eth0;IPv4;") }
                #expect(lines.count == 1 && lines[0].contains(";\(a.address);4711;"), "\(listing)")
                // The connections of a watcher and of a ping are captured, too.
                let onB = try b.watch()
                try await onB.reported("added", a)
                #expect(try await b.ping("very-secret-host").answered == 3)
                await onB.stop()
                await capture.stop()

                let frames = capture.lines.filter { $0.hasPrefix("frame ") }.joined()
                let reported = frames + Python.hex(listing) + Python.hex(resolved.message ?? "")
                #expect(reported.contains(Python.hex("_remote-systems")), "our own packets were not captured")
                let account = try #require(ready.accountID)
                let system = try #require(ready.systemID)
                let user = ProcessInfo.processInfo.environment["USER"] ?? "root"
                for secret in ["secret", user, account, system, String(account.prefix(8)), String(system.prefix(8))] {
                    #expect(!reported.contains(Python.hex(secret)), "\(secret) is on the wire")
                }
                for id in [account, system] {
                    #expect(
                        !reported.contains(Python.hex(Array(Python.base32(id).prefix(8)))),
                        "\(id) is on the wire as bytes"
                    )
                }
            }
        }

        /// TXT records in hexadecimal digits: empty, without keys, our keys with invalid values, wrong lengths, and
        /// long ones.
        static let garbage: [String] = [
            "", "00", "013d", "ff76", "03763d31", "03763d31" + "02743d", "03763d31" + "0a743d4141414141414141",
            "15763d393939393939393939393939393939393939393938" + "06743d00000000", "03743d31" + "03743d32" + "03763d31",
            String(repeating: "0a763d4141414141414141", count: 60),
        ]

        @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
        func `garbage under our service type is never listed and hampers no system`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let x = try await network.addHost("x")
                try await way.prepare(b.host)
                try await way.prepare(a.host)
                let onB = try b.watch()
                let serving = try await a.serve()
                try await onB.reported("added", a)
                var impostors: [ChildProcess] = []
                for (number, txt) in Self.garbage.enumerated() {
                    let name = number == 0 ? String(repeating: "x", count: 63) : "garbage \(number) \u{1F984}"
                    let port = [0, 1, 9, 22, 47474, 65535][number % 6]
                    impostors.append(
                        try x.start(Python.script("impostor.py", x.address, name, "\(port)", txt), readsErrors: true)
                    )
                }
                for impostor in impostors { try await impostor.reported("announcing", within: .seconds(60)) }
                try await x.startDaemon()
                for (name, port) in [("plain\u{1B}[31m", "47475"), ("at-port-zero", "0"), ("beta", "65535")] {
                    _ = try x.start(
                        ["avahi-publish", "-s", name, "_remote-systems._tcp", port, "v=1", "t=12345678"],
                        readsErrors: true
                    )
                }
                // A wrong event would follow within this time; no event reports its absence.
                try await Task.sleep(for: .seconds(3))
                // Alpha itself may be updated: its addresses become known one after the other.
                let events = onB.reported.filter { ["added", "removed", "updated"].contains($0.event) }
                #expect(events.allSatisfy { $0.name == "alpha" }, "\(events)")
                #expect(events.filter { $0.event != "updated" }.map(\.event) == ["added"], "\(events)")
                #expect(onB.exitCode == nil && serving.exitCode == nil)
                #expect(try await b.ping("alpha").answered == 3)
                await serving.stop()
                try await onB.reported("removed", a)
                _ = try await a.serve(port: 4002)
                _ = try await eventually("alpha again") {
                    onB.reported.filter { $0.event == "added" }.count == 2 ? true : nil
                }
                let others = try await b.listed()
                #expect(others == ["alpha"])
            }
        }

        /// CVE-2025-54792: a forged announcement took over a known device.
        @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
        func `a copy of our advertisement under another address causes no listed system`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let x = try await network.addHost("x")
                let s = try await network.addMachine("stranger", state: try await Accounts.shared.stranger())
                for machine in [a, b, s] { try await way.prepare(machine.host) }
                let onB = try b.watch()
                let python = try x.start(Python.script("resolve.py"))
                try await python.reported("browsing", within: .seconds(30))
                let serving = try await a.serve()
                try await onB.reported("added", a)
                let ours = try await python.reported("resolved", within: .seconds(30)) {
                    $0.message?.hasPrefix(a.address) == true
                }
                let instance = try #require(ours.id)
                let txt = String(try #require(ours.message?.split(separator: " ").last))

                // While our host runs.
                func replay(from host: SimulatedHost, port: Int) async throws -> ChildProcess {
                    let script = Python.script("impostor.py", host.address, instance, "\(port)", txt)
                    let impostor = try host.start(script, readsErrors: true)
                    try await impostor.reported("announcing", within: .seconds(30))
                    return impostor
                }
                let early = try await replay(from: x, port: 5000)
                // A wrong event would follow within this time; no event reports its absence.
                try await Task.sleep(for: .seconds(3))
                #expect(!onB.hasReported("removed"))
                #expect(try await b.ping("alpha").answered == 3)
                await early.stop()

                // After our host has ended: at a port that responds with garbage, then at a real host of another
                // account.
                await serving.stop()
                try await onB.reported("removed", a)
                let reported = onB.reported.count
                let late = try await replay(from: x, port: 5001)
                // The connection attempt proves that the watcher followed the forged advertisement.
                try await late.reported("connected", within: .seconds(30))
                await late.stop()
                _ = try await s.serve(port: 5002)
                _ = try await replay(from: s.host, port: 5002)
                // A wrong event would follow within this time; no event reports its absence.
                try await Task.sleep(for: .seconds(3))
                #expect(!onB.hasReported("added", from: reported) && !onB.hasReported("updated", from: reported))
                #expect(try await b.listed().isEmpty)
                #expect(onB.exitCode == nil)
            }
        }
    }
}

extension Machine {
    /// The names that `list` prints.
    func listed() async throws -> [String] {
        let list = try command(["list", "--wait", "3"])
        let end = try await list.reported("enumeration-completed", within: .seconds(15))
        let names = list.reported.filter { $0.event == "system" }.compactMap(\.name)
        #expect(end.systems == names.count)
        #expect(try await list.exit() == (names.isEmpty ? 1 : 0))
        return names
    }
}
