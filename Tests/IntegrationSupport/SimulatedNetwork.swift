// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization

/// Hosts on one Ethernet. Each is a network namespace with its own loopback and `eth0`; a bridge joins them. No packet
/// leaves it.
///
/// Needs root and iproute2. Everything is removed at the end, and the remains of a crashed run are removed at the next
/// start.
package final class SimulatedNetwork: Sendable {
    private static let prefix = "rsnet"
    private static let counter = Atomic<Int>(0)

    /// The prefix of the names of namespaces and directories.
    let label: String
    let directory: String
    private let hosts = Mutex<[SimulatedHost]>([])

    // MARK: Availability

    /// Why no simulated network can be created here; nil if one can.
    package static let obstacle: String? = {
        guard geteuid() == 0 else { return "network namespaces need root" }
        for tool in [
            "ip", "nft", "unshare", "dbus-daemon", "dbus-send", "avahi-daemon", "avahi-browse", "avahi-publish",
        ]
        where !isInstalled(tool) {
            return
                "\(tool) is not installed: apt-get install iproute2 nftables util-linux dbus avahi-daemon avahi-utils"
        }
        let trial = "\(prefix)-trial-\(getpid())"
        guard system("ip", "netns", "add", trial) else { return "ip netns add does not work here" }
        _ = system("ip", "netns", "del", trial)
        return nil
    }()

    /// Whether to run tests that need a simulated network. Always true as root in CI, so that a missing part is a
    /// failure there and not a skipped test.
    package static let isToBeTried: Bool = {
        guard let obstacle else { return true }
        let text = "NOT RUN: tests with simulated hosts: \(obstacle)\n"
        FileHandle.standardError.write(Data(text.utf8))
        return geteuid() == 0 && ProcessInfo.processInfo.environment["CI"] != nil
    }()

    package static func isInstalled(_ tool: String) -> Bool {
        ["/usr/bin", "/usr/sbin", "/bin", "/sbin"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)")
        }
    }

    private static func system(_ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    // MARK: Life

    /// Creates a network, runs the body with it and removes it, also if the body throws.
    package static func with<Result>(_ body: (SimulatedNetwork) async throws -> Result) async throws -> Result {
        if let obstacle { throw IntegrationError("no simulated network: \(obstacle)") }
        await sweep()
        let network = try await SimulatedNetwork()
        do {
            let result = try await body(network)
            await network.takeDown()
            return result
        } catch {
            await network.takeDown()
            throw error
        }
    }

    private let hasSecondEthernet = Atomic<Bool>(false)

    func addSecondEthernet() async throws {
        guard hasSecondEthernet.exchange(true, ordering: .relaxed) == false else { return }
        try await addEthernet(1)
    }

    private func addEthernet(_ number: Int) async throws {
        let name = "br\(number)"
        try await run(["ip", "-n", bridge, "link", "add", name, "type", "bridge", "mcast_snooping", "0"])
        try await run(["ip", "-n", bridge, "link", "set", name, "up"])
    }

    private init() async throws {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        label = "\(Self.prefix)-\(getpid())-\(Self.startTime(of: getpid()) ?? "0")-\(number)"
        directory = "/tmp/\(label)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try await run(["ip", "netns", "add", bridge])
        try await addEthernet(0)
    }

    var bridge: String { "\(label)-bridge" }

    /// Drops mDNS between the hosts in the Ethernet, as some access points do, and passes other packets.
    package func dropMulticast() async throws {
        let rules = """
            table bridge isolation {
              chain forward {
                type filter hook forward priority 0; policy accept;
                udp dport 5353 drop
              }
            }
            """
        try await setRules(rules, of: bridge)
    }

    func setRules(_ rules: String, of namespace: String) async throws {
        let file = "\(directory)/\(namespace).nft"
        try "flush ruleset\n\(rules)\n".write(toFile: file, atomically: true, encoding: .utf8)
        try await run(["ip", "netns", "exec", namespace, "nft", "-f", file])
    }

    /// Adds a connected host with the address 10.77.0.*n* and without a daemon.
    package func addHost(_ name: String) async throws -> SimulatedHost {
        let host = hosts.withLock { hosts in
            let host = SimulatedHost(name: name, number: hosts.count + 1, network: self)
            hosts.append(host)
            return host
        }
        try await host.connect()
        return host
    }

    /// Adds the hosts `a` and `b`.
    package func addTwoHosts() async throws -> (SimulatedHost, SimulatedHost) {
        (try await addHost("a"), try await addHost("b"))
    }

    private func takeDown() async {
        for host in hosts.withLock({ $0 }) { await host.stop() }
        await Self.remove(label)
    }

    /// Removes what crashed runs have left.
    private static func sweep() async {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/run/netns")) ?? []
        let directories = (try? FileManager.default.contentsOfDirectory(atPath: "/tmp")) ?? []
        var stale: Set<String> = []
        for name in names + directories {
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count >= 4, parts[0] == prefix, let id = Int32(parts[1]) else { continue }
            if startTime(of: id) != String(parts[2]) { stale.insert(parts[..<4].joined(separator: "-")) }
        }
        for label in stale { await remove(label) }
    }

    private static func remove(_ label: String) async {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/run/netns")) ?? []
        for name in names where name.hasPrefix(label + "-") {
            // All processes in a namespace of ours were started by us.
            let ids =
                (try? await run(["ip", "netns", "pids", name]))?.split(separator: "\n").compactMap { Int32($0) } ?? []
            for id in ids { kill(id, SIGKILL) }
            _ = try? await run(["ip", "netns", "del", name])
        }
        // The bus daemons run outside of the namespaces. Each has left a file with its process id.
        let directory = "/tmp/\(label)"
        for host in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let text = try? String(contentsOfFile: "\(directory)/\(host)/bus.pid", encoding: .utf8),
                let id = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)),
                let command = try? String(contentsOfFile: "/proc/\(id)/cmdline", encoding: .utf8),
                command.contains(directory)
            else { continue }
            kill(id, SIGKILL)
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The start time of a process in kernel ticks. With the process id, it identifies the process.
    private static func startTime(of id: Int32) -> String? {
        guard let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            let end = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[end...].split(separator: " ")
        return fields.count > 20 ? String(fields[20]) : nil
    }
}
