// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport

/// A systemd that is process 1 of namespaces of its own, on a simulated host.
struct Systemd {
    let process: ChildProcess
    let host: SimulatedHost

    /// Runs the body with a systemd that has these units and no others.
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
        // Empty versions of the targets on which units depend by default.
        let targets = ["idle", "sysinit", "basic", "sockets", "network", "shutdown"].map {
            ("\($0).target", "[Unit]\nDefaultDependencies=no\n")
        }
        for (name, text) in Array(units) + targets { try Self.write(name, text, in: directory) }
        // Creates a control group first: systemd takes over the one in which it starts.
        let group = host.namespace
        let outside = """
            mount -t cgroup2 cgroup2 /mnt && mkdir -p "/mnt/$0" && echo $$ > "/mnt/$0/cgroup.procs" && umount /mnt &&
            exec unshare --mount --uts --ipc --pid --cgroup --fork --kill-child --mount-proc sh -c "$1" "$2"
            """
        let inside = """
            mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib &&
            (umount -R /sys/fs/cgroup || true) 2>/dev/null &&
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

    private static func write(_ name: String, _ text: String, in directory: String) throws {
        let file = URL(filePath: "\(directory)/\(name)")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    /// Writes a unit, or a part of one, and reloads the units.
    func write(_ name: String, _ text: String) async throws {
        try Self.write(name, text, in: "\(host.directory)/units")
        try await control("daemon-reload")
    }

    /// Waits until systemd accepts commands.
    private func isUp() async throws {
        do {
            _ = try await eventually("systemd", within: .seconds(60), every: .milliseconds(200)) { () -> Bool? in
                let response = try? await control("is-active", "idle.target")
                return response?.hasPrefix("active") == true ? true : nil
            }
        } catch {
            throw IntegrationError("\(error): \(process.lines.joined(separator: " | "))")
        }
    }

    /// Runs `systemctl` beside it.
    @discardableResult
    func control(_ arguments: String...) async throws -> String {
        try await run(try self.beside(["systemctl"] + arguments))
    }

    /// The arguments that run a program in its namespaces, as root.
    func beside(_ arguments: [String]) throws -> [String] {
        ["nsenter", "--target", "\(try process.processInside())"]
            + ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"] + arguments
    }

    /// The output of its services.
    var printed: String { (try? String(contentsOfFile: "\(host.directory)/printed", encoding: .utf8)) ?? "" }

    /// Ends systemd, and with it everything that it has started.
    private func stop() async {
        // systemd removes its services' directories in /tmp and /var/tmp when the services end, so they are stopped
        // first.
        if let stopping = try? self.beside(["timeout", "10", "systemctl", "stop", "*.service"]) {
            _ = try? await run(stopping)
        }
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
