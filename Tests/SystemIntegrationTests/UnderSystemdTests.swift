// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: as a service of systemd, which is process 1 of namespaces of its own here.
    @Suite struct UnderSystemd {
        @Test func `a hardened unit of a user that is not root starts, is restarted, and stops in order`() async throws
        {
            try await SimulatedNetwork.with { network in
                let host = try await network.addHost("alpha")
                let a = Machine(host: host, name: "alpha", state: try await host.stateOfNobody())
                let b = try await network.addMachine("beta", state: "\(host.directory)/beta")
                try await Systemd.with(on: host, units: ["serve.service": try await Self.unit(a)]) { systemd in
                    try await Self.check(systemd, a, b)
                }
            }
        }

        private static func check(_ systemd: Systemd, _ a: Machine, _ b: Machine) async throws {
            // Nobody has joined anybody yet: the unit makes the account, whose state the other machine then borrows.
            try await systemd.control("start", "serve.service")
            _ = try await eventually("'ready'", within: .seconds(15)) {
                systemd.printed.contains("\"ready\"") ? true : nil
            }
            try await run(["cp", "-a", a.state, b.state])
            try await run(["chown", "-R", "0:0", b.state])
            let onB = try b.watch()
            try await onB.told("added") { $0.applications?.first?.services == ["remote-systems.ping"] }

            var told = onB.told.count
            let killed = Date()
            try await systemd.control("kill", "--signal=KILL", "serve.service")
            try await onB.told("removed", from: told)
            let back = try await onB.told("added", from: told, within: .seconds(20))
            report("killed under systemd, restarted, to added", [back.seconds(since: killed)])
            #expect(try await b.ping(a.address).answered == 3)

            told = onB.told.count
            let end = Date()
            try await systemd.control("stop", "serve.service")
            #expect(try await onB.told("removed", from: told).seconds(since: end) < 1)
            let result = try await systemd.control("show", "serve.service", "--property=Result,ExecMainStatus")
            #expect(result.contains("Result=success") && result.contains("ExecMainStatus=0"), "\(result)")
            #expect(systemd.printed.contains("\"stopped\""))
        }

        /// What a careful administrator would write.
        private static func unit(_ machine: Machine) async throws -> String {
            let command = try await machine.host.programForEverybody().joined(separator: " ")
            return """
                [Unit]
                DefaultDependencies=no
                [Service]
                Type=exec
                User=65534
                Group=65534
                ExecStart=\(command) serve --json --state-directory \(machine.state)
                StandardOutput=append:\(machine.host.directory)/printed
                StandardError=append:\(machine.host.directory)/printed
                Restart=on-failure
                RestartSec=500ms
                NoNewPrivileges=yes
                CapabilityBoundingSet=
                ProtectSystem=strict
                ProtectHome=yes
                ReadWritePaths=\(machine.state)
                ProtectControlGroups=yes
                ProtectKernelTunables=yes
                PrivateDevices=yes
                RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
                RestrictNamespaces=yes
                LockPersonality=yes
                MemoryDenyWriteExecute=yes
                SystemCallFilter=@system-service
                SystemCallErrorNumber=EPERM
                """
        }
    }
}

/// A systemd that is process 1 of namespaces of its own, on a simulated host.
private struct Systemd {
    let process: ChildProcess
    let host: SimulatedHost

    /// Runs the body with one that has these units and no others.
    static func with(
        on host: SimulatedHost,
        units: [String: String],
        _ body: (Systemd) async throws -> Void
    ) async throws {
        let systemd = try await start(on: host, units: units)
        do {
            try await systemd.isUp()
            try await body(systemd)
            await systemd.stop()
        } catch {
            await systemd.stop()
            throw error
        }
    }

    private static func start(on host: SimulatedHost, units: [String: String]) async throws -> Systemd {
        let directory = "\(host.directory)/units"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (name, text) in units {
            try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8)
        }
        let idle = "[Unit]\nDefaultDependencies=no\n"
        try idle.write(toFile: "\(directory)/idle.target", atomically: true, encoding: .utf8)
        // A control group of its own first: systemd takes over the one in which it starts.
        let group = host.namespace
        let outside = """
            mount -t cgroup2 cgroup2 /mnt && mkdir -p "/mnt/$0" && echo $$ > "/mnt/$0/cgroup.procs" && umount /mnt &&
            exec unshare --mount --uts --ipc --pid --cgroup --fork --kill-child --mount-proc sh -c "$1" "$2"
            """
        let inside = """
            mount -t tmpfs tmpfs /run && (umount -R /sys/fs/cgroup || true) 2>/dev/null &&
            mount -t cgroup2 cgroup2 /sys/fs/cgroup && hostname alpha &&
            exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other SYSTEMD_UNIT_PATH="$0" \
            /lib/systemd/systemd --system --unit=idle.target --log-target=console --log-level=notice
            """
        let process = try host.start(
            ["unshare", "--mount", "sh", "-c", outside, group, inside, directory],
            readsErrors: true
        )
        return Systemd(process: process, host: host)
    }

    /// Waits until it takes orders.
    private func isUp() async throws {
        do {
            _ = try await eventually("systemd", within: .seconds(20), every: .milliseconds(200)) { () -> Bool? in
                let answer = try? await control("is-active", "idle.target")
                return answer?.hasPrefix("active") == true ? true : nil
            }
        } catch {
            throw IntegrationError("\(error): \(process.lines.joined(separator: " | "))")
        }
    }

    /// Runs `systemctl` beside it.
    @discardableResult
    func control(_ arguments: String...) async throws -> String {
        let target = ["--target", "\(try process.processInside())"]
        return try await run(
            ["nsenter"] + target + ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "systemctl"] + arguments
        )
    }

    /// What its services have printed.
    var printed: String { (try? String(contentsOfFile: "\(host.directory)/printed", encoding: .utf8)) ?? "" }

    /// Ends it, and with it all that it has started.
    private func stop() async {
        process.send(SIGKILL)
        _ = try? await process.exit()
        let remove = """
            mount -t cgroup2 cgroup2 /mnt && for try in 1 2 3 4 5 6 7 8 9; do
                find "/mnt/$0" -depth -type d -exec rmdir {} + 2>/dev/null; test -d "/mnt/$0" || exit 0; sleep 0.2
            done
            """
        _ = try? await run(["unshare", "--mount", "sh", "-c", remove, host.namespace])
    }
}
