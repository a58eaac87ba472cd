// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Programs in service units of a real systemd, and of its user manager, for which the host daemon vouches.
    @Suite struct VouchedUnits {
        private static let script = "org.example.notes"
        private static let program = "test.author"

        @Test(.timeLimit(.minutes(4)))
        func `a program is proven in the unit that its signed manifest names, and nowhere else (H-05, H-46, B-04)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let data = "\(a.host.directory)/data"
                let key = "\(a.host.directory)/own.key"
                try await a.app("keygen", key)
                // Neither manifest names the file: a script's is the interpreter's, and the program is known by its
                // unit only.
                try await a.register(
                    Self.script,
                    #""units": ["notes.service"], "start": {"dbus": "\#(Self.script)"}"#,
                    key: key,
                    in: data
                )
                try await a.register(Self.program, #""start": {"systemd": "author.service"}"#, key: key, in: data)
                let commands = try Commands(a, data: data)
                try await Systemd.with(on: a.host, units: commands.units) { systemd in
                    try await systemd.control("start", "bus.service", "daemon.service", "manager.service")
                    _ = try await eventually("'ready'", within: .seconds(60)) {
                        systemd.printed.contains("\"ready\"") ? true : nil
                    }
                    // A Python program on the session bus, and one of the SDK as a unit of the user.
                    try await systemd.control("start", "notes.service")
                    try await systemd.controlUser("start", "author.service")
                    try await b.lists(Self.script, proof: "proven")
                    try await b.lists(Self.program, proof: "proven")

                    // The same program in another unit, and the same script in none.
                    try await systemd.controlUser("stop", "author.service")
                    try await systemd.controlUser("start", "other.service")
                    try await systemd.control("stop", "notes.service")
                    let outside = try a.host.start(try systemd.beside(commands.notes), readsErrors: true)
                    try await b.lists(Self.program, proof: "unproven")
                    try await b.lists(Self.script, proof: "unproven")
                    await outside.stop()
                }
            }
        }
    }
}

/// What runs on the machine: the session bus, the host daemon, two applications, and a manager for the user's units.
private struct Commands {
    let units: [String: String]
    /// The script with its environment.
    let notes: [String]

    init(_ machine: Machine, data: String) throws {
        let directory = machine.host.directory
        let bus = "DBUS_SESSION_BUS_ADDRESS=unix:path=\(directory)/session"
        let remotesystems = try builtProgram("remotesystems")
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Samples/other-languages/note.py").standardizedFileURL.path
        let author = [
            try builtProgram("activity-probe"), "test.author", "\(directory)/steps", "eth0", "-",
            "offer=com.example.writing",
        ]
        let state = "REMOTE_SYSTEMS_STATE=\(machine.state)"
        let notes = ["/usr/bin/env", bus, "/usr/bin/python3", script, "offer", "Shopping", "milk"]
        let runtime = "/run/user/0"
        func unit(_ command: [String], _ lines: String...) -> String {
            """
            [Unit]
            DefaultDependencies=no
            StartLimitIntervalSec=0
            [Service]
            ExecStart=\(command.joined(separator: " "))
            StandardOutput=append:\(directory)/printed
            StandardError=append:\(directory)/printed
            \(lines.joined(separator: "\n"))

            """
        }
        self.notes = notes
        self.units = [
            "bus.service": unit(["dbus-daemon", "--session", "--address=unix:path=\(directory)/session", "--nofork"]),
            "daemon.service": unit(
                [remotesystems, "host", "run", "--json", "--state-directory", machine.state],
                "Environment=XDG_DATA_HOME=\(data) HOME=\(directory) \(bus)"
            ),
            // The daemon may not have its name on the bus yet.
            "notes.service": unit(notes, "Restart=on-failure", "RestartSec=500ms"),
            "manager.service": unit(
                ["/lib/systemd/systemd", "--user", "--unit=idle.target"],
                "Type=notify",
                "Delegate=yes",
                "Environment=XDG_RUNTIME_DIR=\(runtime) HOME=\(directory) SYSTEMD_UNIT_PATH=\(directory)/units",
                "ExecStartPre=mkdir -p -m 700 \(runtime)"
            ),
            // Units of the user.
            "author.service": unit(author, "Environment=\(state)"),
            "other.service": unit(author, "Environment=\(state)"),
        ]
    }
}

extension Systemd {
    /// Runs `systemctl` for the user's manager.
    fileprivate func controlUser(_ arguments: String...) async throws {
        try await run(try self.beside(["env", "XDG_RUNTIME_DIR=/run/user/0", "systemctl", "--user"] + arguments))
    }
}
