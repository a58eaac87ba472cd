// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// Issue 2 §8: independent programs see our advertisements, invalid data from strangers changes nothing, and
/// advertisements do not identify host or user.
@Suite(
    .serialized,
    .enabled(if: SimulatedNetwork.isToBeTried, "\(SimulatedNetwork.obstacle ?? "")"),
    .timeLimit(.minutes(2))
)
struct StrangersTests {
    @Test(arguments: Way.allCases)
    func `avahi-browse sees and resolves our advertisement`(_ way: Way) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(a)
            try await b.startDaemon()
            _ = try await a.advertise("ours", port: 4711, "v:1", "t:abc")
            try await b.browse().appeared("ours", at: a.address)
            // Each listing contains the responses of one second.
            let resolved = try await eventually("a listing") { () -> [Substring]? in
                let listing = try await b.output(of: ["avahi-browse", "-rptk", "_remote-systems._tcp"])
                let resolved = listing.split(separator: "\n").filter { $0.hasPrefix("=;eth0;IPv4;ours;") }
                return resolved.isEmpty ? nil : resolved
            }
            #expect(resolved.count == 1)
            let fields = try #require(resolved.first).split(separator: ";", omittingEmptySubsequences: false)
            #expect(fields[7] == a.address)
            #expect(fields[8] == "4711")
            #expect(fields[9].contains("\"v=1\"") && fields[9].contains("\"t=abc\""))
            #expect(!fields[6].contains("daemon-of"))
            _ = try await eventually("a listing of all types with ours") { () -> Bool? in
                let listing = try await b.output(of: ["avahi-browse", "-ptk", "-a"])
                return listing.contains("_remote-systems._tcp") ? true : nil
            }
        }
    }

    @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
    func `python-zeroconf sees and resolves our advertisement, and its removal`(_ way: Way) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(a)
            let listener = try b.start(Python.script("zeroconf_browse.py"))
            try await listener.event("browsing", within: .seconds(30))
            let advertised = try await a.advertise("ours", port: 4711, "v:1")
            try await listener.event("appeared") {
                $0.id == "ours" && $0.endpoints?.contains("\(a.address):4711") == true && $0.properties == "v=1"
            }
            await advertised.stop()
            try await listener.event("vanished") { $0.id == "ours" }
        }
    }

    @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
    func `a service that python-zeroconf advertises is seen, and so is its end`(_ way: Way) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(b)
            let onB = try await b.browse()
            let publisher = try a.start(Python.script("zeroconf_announce.py", a.address, "theirs", "5000", "k=v"))
            try await publisher.event("announcing", within: .seconds(30))
            try await onB.appeared("theirs", at: "\(a.address):5000")
            publisher.send(SIGTERM)
            _ = try await onB.vanished("theirs")
        }
    }

    @Test(arguments: Way.allCases)
    func `malformed TXT records of strangers crash nothing and hide no instance`(_ way: Way) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(b)
            try await a.startDaemon()
            let onB = try await b.browse()
            for (number, strings) in Self.garbage.enumerated() {
                _ = try a.start(
                    ["avahi-publish", "-s", "garbage \(number) \u{1F984}.\\", "_remote-systems._tcp", "\(number + 1)"]
                        + strings,
                    // Reads stderr, so that the message about the stopped daemon does not look like a failure in the
                    // log.
                    readsErrors: true
                )
            }
            _ = try await a.advertise("honest")
            try await onB.appeared("honest", at: a.address)
            for number in Self.garbage.indices {
                try await onB.event("appeared", within: .seconds(30)) { $0.id?.hasPrefix("garbage \(number) ") == true }
            }
            #expect(onB.exitCode == nil)
        }
    }

    static let garbage: [[String]] = [
        ["="], ["=", "==", "=x"], ["a", "a", "a=1"], ["key with space=\u{7}\u{1B}[31m"], ["v=999999999999999999999"],
        ["ключ=значение"], [String(repeating: "k", count: 250)], (0..<80).map { "k\($0)=\($0)" },
        ["v=" + String(repeating: "x", count: 200), "t=" + String(repeating: "\u{FE0F}", count: 60)],
    ]

    /// CVE-2011-1002, CVE-2023-38469, CVE-2023-38470, CVE-2023-38473: packets that stopped or ended Avahi.
    @Test(.enabled(if: Python.canUseZeroconf), arguments: Way.allCases)
    func `packets of random bytes and malformed records crash nothing (CVE-2023-38470)`(
        _ way: Way
    ) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(b)
            let onB = try await b.browse()
            let attacker = try a.start(Python.script("garbage_packets.py", a.address))
            try await attacker.event("done", within: .seconds(30))
            _ = try await a.advertise("after")
            try await onB.appeared("after", at: a.address)
            #expect(onB.exitCode == nil)
        }
    }

    @Test func `an instance name that is already taken is replaced by another one`() async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await a.startDaemon()
            let onB = try await b.browse()
            _ = try await a.advertise("same", port: 4001)
            try await onB.appeared("same", at: "\(a.address):4001")
            _ = try await a.advertise("same", port: 4002)
            try await onB.event("appeared") {
                $0.id?.hasPrefix("same-") == true && $0.endpoints?.contains(":4002") == true
            }
        }
    }

    // MARK: What is on the wire

    /// X-02: an advertisement identifies neither the user nor the machine.
    @Test func `the names of host and user do not appear on the wire`() async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            let capture = try b.start(Python.capture(interface: "eth0"))
            try await capture.capturing()
            let script = """
                hostname very-secret-host && \
                exec \(try builtProgram("discovery-probe")) advertise instance=i port=4000
                """
            let probe = try a.start([
                "unshare", "-u", "env", "USER=secret-user", "LOGNAME=secret-user", "HOME=/home/secret-user", "sh", "-c",
                script,
            ])
            try await probe.event("announcing")
            let onA = try await a.browse()
            try await onA.event("settled")
            await probe.stop()
            // The capture runs in another process and reports no end, so this waits for the last packets on the wire.
            try await Task.sleep(for: .milliseconds(300))
            await capture.stop()
            let packets = capture.lines.filter { $0.hasPrefix("frame ") }.joined()
            #expect(packets.contains(Python.hex("_remote-systems")), "our own packets were not captured")
            for secret in ["secret", "root", "debian"] {
                #expect(!packets.contains(Python.hex(secret)), "\(secret) is on the wire")
            }
        }
    }

    @Test func `restricted to the loopback interface, nothing is sent on another interface`() async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            let capture = try b.start(Python.capture(interface: "eth0"))
            try await capture.capturing()
            let onA = try await a.browse("interfaces=lo")
            let advertised = try await a.advertise("local", port: 4000, "interfaces=lo")
            try await onA.appeared("local", at: "127.0.0.1:4000")
            try await onA.event("settled")
            await advertised.stop()
            _ = try await onA.vanished("local")
            await onA.stop()
            await capture.stop()
            // The kernel itself sends router solicitations and reports its groups. Frames with our port or group, or
            // those of mDNS, are ours.
            let frames = capture.lines.filter { $0.hasPrefix("frame ") }
            let ours = frames.filter {
                Self.isMulticastDNS($0) || $0.contains("e00000fb") || $0.contains(Python.hex("local"))
            }
            #expect(ours.isEmpty, "\(ours.count) of \(frames.count) frames")
        }
    }

    /// Whether a frame is UDP from or to the mDNS port. The same digits in an address or a checksum do not count.
    private static func isMulticastDNS(_ line: String) -> Bool {
        let digits = Array(line.dropFirst("frame ".count))
        func hex(_ byte: Int, count: Int) -> String {
            String(digits.dropFirst(byte * 2).prefix(count * 2))
        }
        // By EtherType: the offsets of the protocol field and of the ports.
        let places = ["0800": (23, 34), "86dd": (20, 54)]
        guard let (kind, ports) = places[hex(12, count: 2)], hex(kind, count: 1) == "11" else { return false }
        return hex(ports, count: 2) == "14e9" || hex(ports + 2, count: 2) == "14e9"
    }

    @Test func `restricted to one interface, a daemon advertises on it alone`() async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await a.startDaemon()
            let onA = try await a.browse("interfaces=lo", "mode=daemon")
            let onB = try await b.browse()
            _ = try await a.advertise("restricted", port: 4001, "interfaces=lo", "mode=daemon")
            _ = try await a.advertise("open", port: 4002, "interfaces=eth0", "mode=daemon")
            try await onA.appeared("restricted", at: "127.0.0.1:4001")
            try await onB.appeared("open", at: "\(a.address):4002")
            #expect(!onB.printed("appeared", id: "restricted"))
            #expect(!onA.printed("appeared", id: "open"))
        }
    }
}
