// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §3: the host daemon of one machine, called from another one.
    @Suite struct HostDaemon {
        @Test func `a caller on another machine is referred to the port of an application started for it (R-26)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let player = try builtProgram("installed-application")
                let record = "\(a.host.directory)/record"
                try a.install(
                    "test.player",
                    start: #"{"exec": ["\#(player)", "test.player", "\#(record)", "-", "eth0"]}"#,
                    in: "\(a.host.directory)/data"
                )
                let host = try a.host.start(
                    [
                        "env", "XDG_DATA_HOME=\(a.host.directory)/data", try builtProgram("remotesystems"), "host",
                        "run",
                        "--json", "--state-directory", a.state,
                    ],
                    readsErrors: true
                )
                try await host.reported("ready", within: .seconds(15))

                let began = Date()
                let first = try await b.call(a.address, "test.echo", "test.player")
                report(
                    "calling an installed application on another machine, which is started",
                    [
                        Date().timeIntervalSince(began)
                    ]
                )
                let second = try await b.call(a.address, "test.echo", "test.player")
                #expect(first.echo == ["a": 1])
                #expect(first.pid == second.pid)
                let starts = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n")
                #expect(starts.count == 1)
                // The caller is connected to the application itself. The daemon only named its port, and may stop.
                await host.stop()
                let port = try await a.portOfApplication()
                let direct = try await b.call("\(a.address):\(port)", "test.echo", "test.player")
                #expect(direct.pid == first.pid)
            }
        }

        @Test
        func `an application on loopback alone is available only to its own machine, by any of its addresses (R-26)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let host = try a.host.start(
                    [try builtProgram("remotesystems"), "host", "run", "--json", "--state-directory", a.state],
                    readsErrors: true
                )
                try await host.reported("ready", within: .seconds(30))
                let player = try a.host.start([
                    "env", "REMOTE_SYSTEMS_STATE=\(a.state)", try builtProgram("installed-application"), "test.player",
                    "\(a.host.directory)/record",
                ])
                // It listens first, and then registers with the daemon, which lists it from then on.
                _ = try await eventually("the player", within: .seconds(30)) {
                    try? await a.call("127.0.0.1", "test.echo", "test.player")
                }
                for address in ["127.0.0.1", a.address] {
                    let response = try await a.call(address, "test.echo", "test.player")
                    #expect(response.pid == Int(player.id))
                }
                let refused = try await b.failedCall(a.address, "test.echo", "test.player")
                #expect(refused.contains("offers no service test.echo by an application test.player"), "\(refused)")
                let list = try b.command(["info", a.address])
                #expect(try await list.exit() == 0)
                #expect(!list.lines.contains { $0.contains("test.player") }, "\(list.lines)")
                await player.stop()
                await host.stop()
            }
        }

        /// The units of `host install`, under a user's systemd with a session bus.
        @Test func `a user's systemd runs the daemon, and starts an application's unit on a call (R-26, X-34)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await UserSession.with(on: a) { session in
                    try await session.control("start", "remotesystems-host.socket")
                    // The call starts the daemon, and the daemon starts the application.
                    let began = Date()
                    let response = try await b.call(a.address, "test.echo", "test.player")
                    report(
                        "calling an application's unit through a daemon's socket unit",
                        [
                            Date().timeIntervalSince(began)
                        ]
                    )
                    #expect(response.echo == ["a": 1])
                    #expect(try await session.mainProcess("player.service") == response.pid)
                    #expect(try await session.control("is-active", "player.service") == "active")
                    let host = try await session.control("show", "remotesystems-host.service", "--property=StatusText")
                    #expect(host == "StatusText=Port 47474, 1 installed application")
                }
            }
        }

        /// Leaves a process behind that is in a session of its own, and responds when it may.
        private static let leaving = """
            #!/bin/sh
            read -r request
            setsid sh -c 'trap "" TERM; exec sleep 600' >/dev/null 2>&1 </dev/null &
            sed 's/.*[/]//' /proc/self/cgroup >"$1/unit.new"
            mv "$1/unit.new" "$1/unit"
            for try in $(seq 250); do test -e "$1/go" && break; sleep 0.1; done
            echo '{"Content":{"Title":"changed"}}'

            """

        @Test func `an extension runs in a limited scope of the user's systemd, with all its children (X-51)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await UserSession.with(on: a) { session in
                    let program = "\(session.directory)/extension"
                    try writeProgram(Self.leaving, to: program)
                    try a.install(
                        "com.example.messenger",
                        ["/bin/false"],
                        #""notificationServiceExtension": {"exec": ["\#(program)", "\#(session.directory)"]}"#,
                        in: "\(session.directory)/.local/share"
                    )
                    try await session.control("start", "remotesystems-host.socket")
                    let payload = "\(b.host.directory)/payload.json"
                    try #"{"aps":{"alert":"sent","mutable-content":1}}"#
                        .write(toFile: payload, atomically: true, encoding: .utf8)
                    let sending = try b.command(
                        ["notify", a.address, "--application", "com.example.messenger", "--payload", payload]
                    )
                    let unit = try await eventually("the extension runs", within: .seconds(60)) {
                        try? String(contentsOfFile: "\(session.directory)/unit", encoding: .utf8)
                            .trimmingCharacters(in: .whitespacesAndNewlines)
                    }
                    #expect(unit.hasPrefix("remote-systems-extension-") && unit.hasSuffix(".scope"), "\(unit)")
                    let limits = try await session.control(
                        "show",
                        unit,
                        "--property=MemoryMax,MemorySwapMax,TasksMax,RuntimeMaxUSec"
                    )
                    for limit in ["MemoryMax=268435456", "MemorySwapMax=0", "TasksMax=64", "RuntimeMaxUSec=40s"] {
                        #expect(limits.contains(limit), "\(limits)")
                    }
                    try "".write(toFile: "\(session.directory)/go", atomically: true, encoding: .utf8)
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                    let reason = try await sending.allLines().joined()
                    #expect(!reason.contains("as it was sent"), "\(reason)")
                    // Its process in another session would keep the scope for ten minutes.
                    _ = try await eventually("the scope is gone", within: .seconds(30)) {
                        try await session.control("list-units", "--type=scope", "--no-legend").contains(unit)
                            ? nil : true
                    }
                }
            }
        }

        @Test func `the system's systemd runs the daemon as a separate user, in the account that it joined (X-34)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let place = "\(a.host.directory)/units"
                let program = try await a.host.programForEverybody()
                // The unit has a /tmp of its own.
                try await run(
                    program + [
                        "host", "install", "--system", "--directory", place, "--program", "/run/app/remotesystems",
                    ]
                )
                let more = "\(place)/remotesystems-host.service.d"
                try FileManager.default.createDirectory(atPath: more, withIntermediateDirectories: true)
                try "[Service]\nEnvironment=LD_LIBRARY_PATH=/run/app/lib\n"
                    .write(toFile: "\(more)/place.conf", atomically: true, encoding: .utf8)
                try await Systemd.with(on: a.host, units: [:]) { systemd in
                    let prepare = """
                        mkdir -m 755 /run/app && cp -r "$0/remotesystems" "$0/lib" /run/app &&
                        mkdir -m 700 /var/lib/private && cp -a "$1" /var/lib/private/remote-systems
                        """
                    try await run(try systemd.beside(["sh", "-c", prepare, a.host.directory, a.state]))
                    try await systemd.control("start", "remotesystems-host.socket")
                    let ping = try await b.ping(a.address)
                    #expect(ping.answered == 3, "\(systemd.process.lines.suffix(20))")
                    let unit = ["show", "remotesystems-host.service", "--property=MainPID", "--value"]
                    let host = try await run(try systemd.beside(["systemctl"] + unit))
                    let status = try await run(try systemd.beside(["cat", "/proc/\(host)/status"]))
                    let user = status.split(separator: "\n").first { $0.hasPrefix("Uid:") }?.split(separator: "\t")[1]
                    #expect((61184...65519).contains(Int(user ?? "") ?? 0), "\(status)")
                }
            }
        }

        @Test func `systemd restarts a daemon whose event loop hangs (X-34)`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                try await UserSession.with(on: a) { session in
                    try await session.control("start", "remotesystems-host.service")
                    let before = try await session.mainProcess("remotesystems-host.service")
                    #expect(try await b.ping(a.address).answered == 3)
                    // Longer than the watchdog timeout: a live daemon is not restarted.
                    try await Task.sleep(for: .seconds(7))
                    #expect(try await session.mainProcess("remotesystems-host.service") == before)

                    let freezing = try ChildProcess(
                        try session.systemd.beside(Python.freeze(before, thread: "NIO-")),
                        readsErrors: true
                    )
                    _ = try await eventually("a frozen thread", within: .seconds(10)) {
                        if let code = freezing.exitCode { throw IntegrationError("\(code): \(freezing.lines)") }
                        return freezing.lines.contains("frozen") ? true : nil
                    }
                    let after = try await eventually("another process", within: .seconds(40), every: .milliseconds(100))
                    {
                        let now = try await session.mainProcess("remotesystems-host.service")
                        return now != 0 && now != before ? now : nil
                    }
                    #expect(after != before)
                    let count = try await session.control("show", "remotesystems-host.service", "--property=NRestarts")
                    #expect(count == "NRestarts=1")
                    #expect(try await b.ping(a.address).answered == 3)
                    await freezing.stop()
                }
            }
        }
    }
}

/// The response of the test application.
struct EchoAnswer: Sendable, Decodable {
    let pid: Int32
    let echo: [String: Int]
}

extension Machine {
    /// Installs an application that offers `test.echo`.
    func install(_ id: String, start: String, in data: String) throws {
        let place = "\(data)/remote-systems/applications"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try """
        {"id": "\(id)", "services": [{"name": "test.echo", "supportsRemote": true}], "start": \(start)}
        """.write(toFile: "\(place)/\(id).json", atomically: true, encoding: .utf8)
    }

    /// Calls a service of an application, and returns its response.
    func call(_ system: String, _ service: String, _ application: String) async throws -> EchoAnswer {
        let call = try command(["call", system, service, "a:=1", "--application", application])
        let code = try await call.exit(within: .seconds(30))
        let lines = try await call.allLines()
        guard code == 0 else { throw IntegrationError("call ended with \(code): \(lines)") }
        struct Line: Decodable { let message: EchoAnswer }
        return try JSONDecoder().decode(Line.self, from: Data(lines.joined(separator: "\n").utf8)).message
    }

    /// The output of the command that calls a service, and fails.
    func failedCall(_ system: String, _ service: String, _ application: String) async throws -> String {
        let call = try command(["call", system, service, "a:=1", "--application", application])
        #expect(try await call.exit() == 2)
        return call.lines.joined(separator: "\n")
    }

    /// The port that `test.player` wrote to its lock file in the state directory.
    func portOfApplication() async throws -> Int {
        let locks = "\(state)/run/locks"
        let files = try FileManager.default.contentsOfDirectory(atPath: locks)
        for file in files {
            let data = try Data(contentsOf: URL(filePath: "\(locks)/\(file)"))
            // The file is empty before the application listens.
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
            guard object?["application"] as? String == "test.player", let port = object?["port"] as? Int, port > 0
            else { continue }
            return port
        }
        throw IntegrationError("no lock file of the application in \(files)")
    }
}

/// The session of an unprivileged user on a machine: a service manager and a message bus, the daemon as `host install`
/// sets it up, and an application that is a unit.
private struct UserSession {
    let systemd: Systemd
    let directory: String

    static func with(on machine: Machine, _ body: (UserSession) async throws -> Void) async throws {
        let host = machine.host
        let directory = "\(host.directory)/session"
        let units = "\(directory)/units"
        let program = try await host.programForEverybody()
        let player = try await host.programForEverybody("installed-application")
        let state = "\(directory)/.local/state/remote-systems"
        for part in ["units/remotesystems-host.service.d", "run", ".local/state", ".local/share"] {
            try FileManager.default.createDirectory(atPath: "\(directory)/\(part)", withIntermediateDirectories: true)
        }
        try await run(["cp", "-a", machine.state, state])
        try machine.install(
            "test.player",
            start: #"{"systemd": "player.service"}"#,
            in: "\(directory)/.local/share"
        )
        try await run(program + ["host", "install", "--directory", units, "--program", program.last ?? ""])
        let idle = "[Unit]\nDefaultDependencies=no\n"
        let texts = [
            "idle.target": idle, "basic.target": idle, "sockets.target": idle, "shutdown.target": idle,
            "dbus.socket": "[Socket]\nListenStream=%t/bus\n",
            "dbus.service": """
            [Service]
            ExecStart=/usr/bin/dbus-daemon --session --address=systemd: --nofork --nopidfile --systemd-activation
            """,
            "player.service": """
            [Service]
            ExecStart=\(player.joined(separator: " ")) test.player \(directory)/record - eth0
            """,
            // Shortens the unit's 30 s, and makes the watchdog the only reason for a restart. The daemon notifies it
            // every 3 s, and so survives a test machine that is suspended for as long.
            "remotesystems-host.service.d/soon.conf":
                "[Service]\nWatchdogSec=6\nRestart=on-watchdog\nRestartSec=200ms\n",
        ]
        for (name, text) in texts {
            try (text + "\n").write(toFile: "\(units)/\(name)", atomically: true, encoding: .utf8)
        }
        try await run(["chown", "-R", "65534:65534", directory])
        try await run(["chmod", "700", "\(directory)/run"])
        let manager = """
            [Unit]
            DefaultDependencies=no
            [Service]
            Type=notify
            User=65534
            Group=65534
            Delegate=yes
            Environment=HOME=\(directory) XDG_RUNTIME_DIR=\(directory)/run SYSTEMD_UNIT_PATH=\(units)
            Environment=DBUS_SESSION_BUS_ADDRESS=unix:path=\(directory)/run/bus LD_LIBRARY_PATH=\(host.directory)/lib
            ExecStart=/lib/systemd/systemd --user --unit=idle.target --log-target=console --log-level=notice
            StandardOutput=inherit
            StandardError=inherit
            """
        try await Systemd.with(on: host, units: ["session.service": manager]) { systemd in
            let session = UserSession(systemd: systemd, directory: directory)
            do {
                try await systemd.control("start", "session.service")
                try await session.control("start", "dbus.socket")
                try await session.control("start", "dbus.service")
                try await body(session)
            } catch {
                throw IntegrationError("\(error); said: \(systemd.process.lines.suffix(30).joined(separator: " | "))")
            }
        }
    }

    /// Runs `systemctl --user` as the user.
    @discardableResult
    func control(_ arguments: String...) async throws -> String {
        try await run(
            try self.systemd.beside(
                [
                    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
                    "XDG_RUNTIME_DIR=\(self.directory)/run",
                    "DBUS_SESSION_BUS_ADDRESS=unix:path=\(self.directory)/run/bus", "systemctl", "--user",
                ] + arguments
            )
        )
    }

    /// The main process of a service, by its number in the manager's namespace; 0 if it has none.
    func mainProcess(_ unit: String) async throws -> Int32 {
        Int32(try await self.control("show", unit, "--property=MainPID", "--value")) ?? 0
    }
}
