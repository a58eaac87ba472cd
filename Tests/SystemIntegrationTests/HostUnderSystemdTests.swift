// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §3: the host daemon with the units of `host install --system`, under a systemd of its own.
    @Suite struct HostUnderSystemd {
        private static let service = "remotesystems-host.service"
        private static let units = ["remotesystems-host.socket", service]

        @Test func `a killed daemon is restarted, ten times at most (X-34)`() async throws {
            try await Self.with { systemd in
                try await Self.start(systemd)
                for count in 1...9 {
                    try await systemd.control("kill", "--signal=KILL", "--kill-whom=main", Self.service)
                    try await systemd.reaches("SubState=running", "NRestarts=\(count)")
                }
                try await systemd.control("kill", "--signal=KILL", "--kill-whom=main", Self.service)
                try await systemd.reaches("SubState=failed", "Result=signal")
                // Calls must not restart it again and again, either.
                let socket = try await systemd.control("show", Self.units[0], "--property=Result")
                #expect(socket.contains("Result=service-start-limit-hit"), "\(socket)")
            }
        }

        @Test func `a daemon with an invalid configuration is not restarted (X-34)`() async throws {
            try await Self.with { systemd in
                try await systemd.write(
                    "\(Self.service).d/faulty.conf",
                    "[Service]\nEnvironment=REMOTE_SYSTEMS_HOST_PROT=1\n"
                )
                _ = try? await Self.start(systemd)
                try await systemd.reaches("SubState=failed", "ExecMainStatus=78", "NRestarts=0")
                #expect(systemd.printed.contains("REMOTE_SYSTEMS_HOST_PROT is not known"))
            }
        }

        @Test
        func `the daemon starts a system unit if a polkit rule allows it, and otherwise reports why not (R-26, X-34)`()
            async throws
        {
            let polkit = Polkit()
            try await Self.with(units: polkit.units) { systemd in
                try await polkit.prepare(systemd)
                try await Self.start(systemd)
                let caller = try await Self.caller(systemd)
                let refused = try await caller.call()
                #expect(refused.contains("Interactive authentication required"), "\(refused)")

                try await polkit.allow(systemd)
                // A failed start is not repeated for two seconds.
                _ = try await eventually("the application", within: .seconds(20), every: .milliseconds(500)) {
                    try await caller.call().contains("pong") ? true : nil
                }
            }
        }

        // MARK: The environment

        /// Runs the body with the daemon's units. Files of this machine that the units cannot see, above all the
        /// program, are mounted for them.
        private static func with(
            units more: [String: String] = [:],
            _ body: @escaping (Systemd) async throws -> Void
        ) async throws {
            try await SimulatedNetwork.with { network in
                let host = try await network.addHost("alpha")
                let program = try await host.programForEverybody()
                let written = "\(host.directory)/written"
                try await run(
                    program + ["host", "install", "--system", "--directory", written, "--program", program[2]]
                )
                var units = more
                for name in Self.units {
                    units[name] = try String(contentsOfFile: "\(written)/\(name)", encoding: .utf8)
                }
                units["\(Self.service).d/here.conf"] = """
                    [Service]
                    BindReadOnlyPaths=\(host.directory)
                    Environment=\(program[1]) XDG_DATA_DIRS=\(host.directory)/share
                    StandardOutput=append:\(host.directory)/printed
                    StandardError=append:\(host.directory)/printed
                    RestartSec=100ms

                    """
                try await Systemd.with(on: host, units: units, body)
            }
        }

        @discardableResult
        private static func start(_ systemd: Systemd) async throws -> String {
            try await systemd.control("start", Self.units[0], Self.units[1])
        }

        /// The root user of the same machine as a system of the account, with a copy of its state.
        private static func caller(_ systemd: Systemd) async throws -> Caller {
            let state = "\(systemd.host.directory)/caller"
            try await run(try systemd.beside(["cp", "-a", "/var/lib/private/remote-systems", state]))
            try await run(["rm", "-rf", "\(state)/run", "\(state)/host.lock"])
            try await run(["chown", "-R", "0:0", state])
            return Caller(systemd: systemd, state: state)
        }

        private struct Caller {
            let systemd: Systemd
            let state: String

            /// The output of the command that calls the application by the daemon's address.
            func call() async throws -> String {
                let arguments = [
                    "call", "127.0.0.1", "remote-systems.ping", "Type=ping", "--application", Polkit.application,
                ]
                return try await systemd.host.output(
                    of: [try builtProgram("remotesystems")] + arguments + ["--json", "--state-directory", state]
                )
            }
        }
    }
}

extension Systemd {
    /// Waits until systemd reports these properties of the daemon.
    fileprivate func reaches(_ properties: String...) async throws {
        let names = properties.map { $0.prefix { $0 != "=" } }.joined(separator: ",")
        var last = ""
        do {
            _ = try await eventually("\(properties)", within: .seconds(15), every: .milliseconds(50)) {
                last = try await control("show", "remotesystems-host.service", "--property=\(names)")
                return Set(properties).isSubset(of: last.split(separator: "\n").map(String.init)) ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); it was \(last); printed: \(printed)")
        }
    }
}

/// A system bus and polkitd for a ``Systemd``, and an application that is a system unit.
private struct Polkit {
    static let application = "test.unit"
    private static let user = "remotesystems-host"

    var units: [String: String] {
        [
            "dbus.socket": """
            [Unit]
            DefaultDependencies=no
            [Socket]
            ListenStream=/run/dbus/system_bus_socket
            """,
            "dbus.service": """
            [Unit]
            DefaultDependencies=no
            [Service]
            Type=notify
            ExecStart=dbus-daemon --system --address=systemd: --nofork --nopidfile --syslog-only
            """,
            "polkit.service": """
            [Unit]
            DefaultDependencies=no
            [Service]
            Type=dbus
            BusName=org.freedesktop.PolicyKit1
            ExecStart=/usr/lib/polkit-1/polkitd --no-debug
            """,
        ]
    }

    /// Starts both, and creates the daemon's user permanently, as the system bus requires it. The machine's own files
    /// are unchanged: only the systemd's processes see the files that are mounted over them.
    func prepare(_ systemd: Systemd) async throws {
        let directory = systemd.host.directory
        for (file, line) in [
            ("passwd", "\(Self.user):x:64999:64999::/:/usr/sbin/nologin"), ("group", "\(Self.user):x:64999:"),
        ] {
            let text = try String(contentsOfFile: "/etc/\(file)", encoding: .utf8)
            try "\(text)\(line)\n".write(toFile: "\(directory)/\(file)", atomically: true, encoding: .utf8)
            try await mount("\(directory)/\(file)", on: "/etc/\(file)", systemd)
        }
        let rules = "\(directory)/rules"
        try await run(["mkdir", "-p", rules, "\(directory)/share/remote-systems/applications"])
        try await mount(rules, on: "/etc/polkit-1/rules.d", systemd)
        try """
        {"id": "\(Self.application)", "services": [{"name": "remote-systems.ping", "supportsRemote": true}],
        "start": {"systemd": "wanted.service"}}
        """.write(
            toFile: "\(directory)/share/remote-systems/applications/\(Self.application).json",
            atomically: true,
            encoding: .utf8
        )
        try await systemd.write(
            "wanted.service",
            """
            [Unit]
            DefaultDependencies=no
            [Service]
            # The daemon's state, so that both are one system.
            DynamicUser=true
            User=\(Self.user)
            StateDirectory=remote-systems
            StateDirectoryMode=0700
            BindReadOnlyPaths=\(directory)
            Environment=LD_LIBRARY_PATH=\(directory)/lib REMOTE_SYSTEMS_STATE=/var/lib/remote-systems
            ExecStart=\(directory)/remotesystems serve --application-id \(Self.application) --port 0
            """
        )
        try await systemd.control("start", "dbus.socket", "dbus.service", "polkit.service")
    }

    /// Installs the rule of Docs/host-daemon.md.
    func allow(_ systemd: Systemd) async throws {
        try """
        polkit.addRule(function(action, subject) {
            if (action.id == "org.freedesktop.systemd1.manage-units" && subject.user == "\(Self.user)" &&
                action.lookup("unit") == "wanted.service" && action.lookup("verb") == "start") {
                return polkit.Result.YES;
            }
        });
        """.write(toFile: "\(systemd.host.directory)/rules/50-remotesystems.rules", atomically: true, encoding: .utf8)
        try await systemd.control("restart", "polkit.service")
    }

    private func mount(_ source: String, on place: String, _ systemd: Systemd) async throws {
        try await run(try systemd.beside(["mount", "--bind", source, place]))
    }
}
