// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// A program on the session bus that a user's real service manager starts.
    @Suite struct StartedUnits {
        private static let id = "org.example.notes"

        @Test(.timeLimit(.minutes(4)))
        func `a program that does not run is started as a unit of the user and gets the activity (H-12)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let directory = b.host.directory
                let data = "\(directory)/data"
                let remotesystems = try builtProgram("remotesystems")
                let manifests = "\(data)/remote-systems/applications"
                try FileManager.default.createDirectory(atPath: manifests, withIntermediateDirectories: true)
                try #"""
                {"id": "\#(Self.id)", "activityTypes": ["org.example.note"], "start": {"systemd": "notes.service"}}
                """#.write(toFile: "\(manifests)/\(Self.id).json", atomically: true, encoding: .utf8)
                let offering = try a.command([
                    "activities", "offer", "org.example.note", "Text=milk", "--title", "Shopping",
                ])
                let units = try self.units(b, data: data)
                try await Systemd.with(on: b.host, units: units) { systemd in
                    func control(_ arguments: String...) async throws {
                        let manager = ["env", "XDG_RUNTIME_DIR=/run/user/0", "systemctl", "--user"]
                        try await run(try systemd.beside(manager + arguments))
                    }
                    try await systemd.control("start", "manager.service")
                    try await control("start", "dbus.socket", "dbus.service")
                    try await systemd.control("start", "daemon.service")
                    _ = try await eventually("'ready'", within: .seconds(60)) {
                        systemd.printed.contains("\"ready\"") ? true : nil
                    }
                    #expect(!systemd.printed.contains("continuing notes"))
                    let continued = try await run(
                        try systemd.beside([
                            remotesystems, "activities", "continue", "org.example.note", "--json",
                            "--state-directory", b.state,
                        ])
                    )
                    #expect(continued.contains(#""application":"\#(Self.id)""#), "\(continued)")
                    // Beside the daemon's events and its log.
                    let printed = systemd.printed.split(separator: "\n")
                        .filter { $0.hasPrefix("ready: ") || $0.hasPrefix("continued: ") }
                    #expect(printed == ["ready: continuing notes", "continued: Shopping: milk"], "\(printed)")
                    try await control("is-active", "notes.service")
                    #expect(try await offering.exit(within: .seconds(60)) == 0, "\(offering.lines)")
                }
            }
        }

        /// The host daemon, and a manager for the user's units, which are the session bus and the program.
        private func units(_ machine: Machine, data: String) throws -> [String: String] {
            let directory = machine.host.directory
            let runtime = "/run/user/0"
            let bus = "DBUS_SESSION_BUS_ADDRESS=unix:path=\(runtime)/bus"
            let sample = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Samples/other-languages/note.py").standardizedFileURL.path
            func unit(_ command: String, _ lines: String...) -> String {
                """
                [Unit]
                DefaultDependencies=no
                [Service]
                ExecStart=\(command)
                StandardOutput=append:\(directory)/printed
                \(lines.joined(separator: "\n"))

                """
            }
            return [
                "daemon.service": unit(
                    "\(try builtProgram("remotesystems")) host run --json --state-directory \(machine.state)",
                    "Environment=XDG_DATA_HOME=\(data) HOME=\(directory) XDG_RUNTIME_DIR=\(runtime) \(bus)"
                ),
                "manager.service": unit(
                    "/lib/systemd/systemd --user --unit=idle.target",
                    "Type=notify",
                    "Delegate=yes",
                    "Environment=XDG_RUNTIME_DIR=\(runtime) \(bus) HOME=\(directory)",
                    "Environment=SYSTEMD_UNIT_PATH=\(directory)/units",
                    "ExecStartPre=mkdir -p -m 700 \(runtime)"
                ),
                // Units of the user.
                "dbus.socket": "[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=%t/bus\n",
                "dbus.service": """
                [Unit]
                DefaultDependencies=no
                [Service]
                ExecStart=/usr/bin/dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation
                """,
                "notes.service": unit("/usr/bin/python3 \(sample) receive", "Environment=\(bus)"),
            ]
        }
    }
}
