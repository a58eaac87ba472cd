// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization

/// One host of a simulated network.
package final class SimulatedHost: Sendable {
    package let name: String
    private let number: Int
    // Unowned: the network outlives its hosts and stops them.
    private unowned let network: SimulatedNetwork
    private let bus = Mutex<ChildProcess?>(nil)
    private let daemon = Mutex<ChildProcess?>(nil)
    private let children = Mutex<[ChildProcess]>([])

    init(name: String, number: Int, network: SimulatedNetwork) {
        self.name = name
        self.number = number
        self.network = network
    }

    /// The IPv4 address on `eth0`.
    package var address: String { "10.77.0.\(number)" }

    /// The network namespace.
    package var namespace: String { "\(network.label)-\(name)" }

    /// The directory for the host's files. Readable by all users.
    package var directory: String { "\(network.directory)/\(name)" }

    private func port(_ interface: Int) -> String { "port\(number)-\(interface)" }
    private var busAddress: String { "unix:path=\(directory)/bus" }

    func connect() async throws {
        try FileManager.default.createDirectory(atPath: "\(directory)/etc/services", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: "\(directory)/run", withIntermediateDirectories: true)
        try await run(["ip", "netns", "add", namespace])
        try await run(["ip", "-n", namespace, "link", "set", "lo", "up"])
        try await plug(into: 0, address: address)
    }

    // MARK: Cables

    /// Connects the host to the network's second Ethernet, as `eth1` with the address 10.78.0.*n*. The number of that
    /// Ethernet is 1.
    package func connectToSecondEthernet() async throws -> String {
        let address = "10.78.0.\(number)"
        try await network.addSecondEthernet()
        try await plug(into: 1, address: address)
        return address
    }

    private func plug(into ethernet: Int, address: String) async throws {
        let interface = "eth\(ethernet)"
        let port = port(ethernet)
        try await run([
            "ip", "-n", network.bridge, "link", "add", port, "type", "veth", "peer", "name", interface, "netns",
            namespace,
        ])
        try await run(["ip", "-n", network.bridge, "link", "set", port, "master", "br\(ethernet)", "up"])
        // Addresses are usable at once, without duplicate address detection.
        let settings = ["accept_dad", "dad_transmits"].map { "net.ipv6.conf.\(interface).\($0)=0" }
        try await run(inside(["sysctl", "-qw"] + settings))
        try await run(["ip", "-n", namespace, "addr", "add", "\(address)/24", "dev", interface])
        try await run(["ip", "-n", namespace, "link", "set", interface, "up"])
    }

    /// Replaces `eth0` by a new interface with the same name and address.
    package func replaceInterface() async throws {
        try await run(["ip", "-n", namespace, "link", "del", "eth0"])
        try await plug(into: 0, address: address)
    }

    /// Sets the host's own interface up or down.
    package func setInterface(up: Bool) async throws {
        try await run(["ip", "-n", namespace, "link", "set", "eth0", up ? "up" : "down"])
        guard up else { return }
        // Setting it down has removed its IPv6 addresses only, so this may fail.
        _ = try? await run(["ip", "-n", namespace, "addr", "add", "\(address)/24", "dev", "eth0"])
    }

    /// Connects or disconnects one of the host's cables at the other end.
    package func setCable(plugged: Bool, ethernet: Int = 0) async throws {
        try await run(["ip", "-n", network.bridge, "link", "set", port(ethernet), plugged ? "up" : "down"])
    }

    /// Isolates the host's port from other isolated ports, as an access point does with its clients (client isolation).
    package func setIsolated(_ isIsolated: Bool) async throws {
        try await run([
            "ip", "netns", "exec", network.bridge, "bridge", "link", "set", "dev", port(0), "isolated",
            isIsolated ? "on" : "off",
        ])
    }

    /// Sets the host's packet filter, in the syntax of nft(8).
    package func setFirewall(_ rules: String) async throws {
        try await network.setRules(rules, of: namespace)
    }

    /// Runs `ip` with these arguments on the host.
    package func ip(_ arguments: String...) async throws {
        try await run(["ip", "-n", namespace] + arguments)
    }

    // MARK: Programs

    private func inside(_ arguments: [String]) -> [String] { ["ip", "netns", "exec", namespace] + arguments }

    /// The arguments before a program that must see the configuration of the host's daemon in its usual place.
    package var besideDaemon: [String] {
        let script = "mount --bind \(directory)/etc /etc/avahi && exec \"$@\""
        return ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"]
    }

    /// Starts a program on the host. It is stopped with the network at the latest.
    package func start(
        _ arguments: [String],
        environment: [String: String] = [:],
        readsErrors: Bool = false
    ) throws -> ChildProcess {
        let child = try ChildProcess(
            inside(arguments),
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": busAddress].merging(environment) { $1 },
            readsErrors: readsErrors
        )
        children.withLock { $0.append(child) }
        return child
    }

    /// Runs a program on the host to its end and returns its output.
    package func output(of arguments: [String], within limit: Duration = .seconds(20)) async throws -> String {
        let child = try start(arguments, readsErrors: true)
        do {
            _ = try await child.exit(within: limit)
        } catch {
            await child.stop()
            throw error
        }
        return try await child.allLines().joined(separator: "\n")
    }

    // MARK: Bus and daemon

    /// Starts a system bus for the host.
    package func startBus() async throws {
        let configuration = "\(directory)/bus.conf"
        try Self.busConfiguration(address: busAddress).write(toFile: configuration, atomically: true, encoding: .utf8)
        try? FileManager.default.removeItem(atPath: "\(directory)/bus")
        let bus = try await startMessageBus(["--config-file=\(configuration)"])
        self.bus.withLock { $0 = bus }
        try "\(bus.id)".write(toFile: "\(directory)/bus.pid", atomically: true, encoding: .utf8)
    }

    package func killBus() async throws {
        guard let bus = bus.withLock({ $0.take() }) else { return }
        bus.send(SIGKILL)
        _ = try await bus.exit()
        // The daemon ends with its bus.
        if let daemon = daemon.withLock({ $0.take() }) { await daemon.stop() }
    }

    /// Starts avahi-daemon, and a bus if there is none, and waits until the daemon works.
    ///
    /// - Parameter options: Lines for the section `[server]` of its configuration.
    package func startDaemon(options: [String] = []) async throws {
        if bus.withLock({ $0 == nil }) { try await startBus() }
        let configuration = "\(directory)/etc/avahi-daemon.conf"
        try Self.daemonConfiguration(hostName: "daemon-of-\(name)", options: options)
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        _ = FileManager.default.createFile(atPath: "\(directory)/etc/hosts", contents: nil)
        // A killed daemon leaves this file behind, and the next one does not start while it exists.
        try? FileManager.default.removeItem(atPath: "\(directory)/run/pid")
        try FileManager.default.createDirectory(atPath: "/run/avahi-daemon", withIntermediateDirectories: true)
        let script = """
            mount --bind \(directory)/run /run/avahi-daemon && mount --bind \(directory)/etc /etc/avahi &&
            exec avahi-daemon -f /etc/avahi/avahi-daemon.conf --no-drop-root --no-chroot --no-rlimits --no-proc-title
            """
        let daemon = try start(["unshare", "-m", "--propagation", "private", "sh", "-c", script], readsErrors: true)
        self.daemon.withLock { $0 = daemon }
        let question = [
            "dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.Avahi", "/",
            "org.freedesktop.Avahi.Server.GetState",
        ]
        _ = try await eventually("avahi-daemon of \(name)", within: .seconds(30)) { () -> Bool? in
            let response = try await self.output(of: question)
            return response.contains("int32 2") ? true : nil
        }
    }

    package func stopDaemon(_ signal: Int32 = SIGTERM) async throws {
        guard let daemon = daemon.withLock({ $0.take() }) else { return }
        daemon.send(signal)
        _ = try await daemon.exit()
    }

    /// Suspends or resumes the daemon, to simulate one that is busy.
    package func setDaemon(paused: Bool) {
        daemon.withLock { $0 }?.send(paused ? SIGSTOP : SIGCONT)
    }

    func stop() async {
        for child in children.withLock({ $0 }) { child.send(SIGTERM) }
        for child in children.withLock({ $0 }) { await child.stop() }
        if let bus = bus.withLock({ $0.take() }) { await bus.stop() }
    }

    private static func busConfiguration(address: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>system</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/>
            <allow own="*"/>
            <allow send_type="method_call"/>
            <allow send_destination="*" eavesdrop="false"/>
            <allow receive_sender="*" eavesdrop="false"/>
          </policy>
        </busconfig>
        """
    }

    private static func daemonConfiguration(hostName: String, options: [String]) -> String {
        """
        [server]
        host-name=\(hostName)
        use-ipv4=yes
        use-ipv6=yes
        enable-dbus=yes
        ratelimit-interval-usec=1000000
        ratelimit-burst=1000
        \(options.joined(separator: "\n"))
        [wide-area]
        enable-wide-area=no
        [publish]
        publish-hinfo=no
        publish-workstation=no
        """
    }
}

extension SimulatedNetwork {
    /// Starts the daemons of several hosts in parallel.
    package func startDaemons(on hosts: SimulatedHost...) async throws {
        try await withThrowingTaskGroup { group in
            for host in hosts { group.addTask { try await host.startDaemon() } }
            try await group.waitForAll()
        }
    }
}
