// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import RemoteSystemsTesting
import Testing

extension HostDaemonTests {
    /// The daemon under a service manager.
    @Suite struct Life {
        @Test func `a second daemon with the same state directory ends and names the first, until that ends (X-34)`()
            async throws
        {
            try await Daemon.with { daemon in
                let arguments = ["host", "run", "--loopback", "--port", "0"]
                try await daemon.whileRunning { process, port in
                    let second = try await daemon.finish(arguments)
                    #expect(second.0 == 2)
                    let message = second.1.joined(separator: " ")
                    #expect(message.contains("process \(process.id), port \(port)"), "\(message)")
                    // The same holds after the first was killed.
                    process.send(SIGKILL)
                    _ = try await process.exit()
                    try await daemon.whileRunning { _, _ in }
                }
            }
        }

        @Test func `the service manager is notified that the daemon is ready, alive, reloading and stopping`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.install("test.one", start: #"{"exec": ["/bin/false"]}"#)
                let manager = try NotifySocket(path: "\(daemon.directory)/notify")
                // A watchdog message every two seconds. The socket queues ten unread messages, and the next send
                // blocks.
                try await daemon.whileRunning(environment: [
                    "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "4000000",
                ]) { process, port in
                    _ = try await manager.line("READY") { $0 == "READY=1" }
                    _ = try await manager.line("STATUS") { $0 == "STATUS=Port \(port), 1 installed application" }
                    _ = try await manager.line("WATCHDOG") { $0 == "WATCHDOG=1" }

                    // An open connection stays open during a reload.
                    let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                    let opened = try await connection.open(
                        RemoteSystemConnectionRequest(
                            host: "127.0.0.1",
                            port: port,
                            configuration: daemon.configuration()
                        )
                    )
                    #expect(opened == .success)
                    try daemon.install("test.two", start: #"{"exec": ["/bin/false"]}"#)
                    try daemon.configure("{\n\"displayName\": \"Attic\",\n\"port\": 1\n}")
                    process.send(SIGHUP)
                    let reloaded = try await process.event("reloaded")
                    #expect(reloaded["applications"] as? Int == 2)
                    #expect((reloaded["problems"] as? [String])?.isEmpty == true)
                    let monotonic = try await manager.line("MONOTONIC_USEC") { $0.hasPrefix("MONOTONIC_USEC=") }
                    #expect(manager.lines.contains("RELOADING=1"))
                    #expect(UInt64(monotonic.dropFirst(15)) ?? 0 > 0)
                    _ = try await manager.line("STATUS") { $0.contains("2 installed applications") }
                    _ = try await eventually("READY again") {
                        manager.lines.count { $0 == "READY=1" } == 2 ? true : nil
                    }
                    let pong = try await connection.send(["Type": "ping"]).get()
                    #expect(pong["Type"] == "pong")
                    await connection.close()

                    let place = process.lines.count
                    try daemon.configure("{\n\n\"prot\": 1\n}")
                    process.send(SIGHUP)
                    let refused = try await process.event("reloaded", from: place)
                    let problem = try #require((refused["problems"] as? [String])?.first)
                    #expect(problem.hasPrefix("\(daemon.configurationFile):3: 'prot' is not known here."))

                    process.send(SIGTERM)
                    let found1 = try await process.exit()
                    #expect(found1 == 0)
                    #expect(manager.lines.contains("STOPPING=1"))
                }
            }
        }

        @Test func `the log of all details names the services of the daemon, and not what they consist of`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.whileRunning(["--port", "0", "--verbose"]) { process, _ in
                    let line = try await eventually("the services") {
                        process.lines.first { $0.contains("Starting service lifecycle") }
                    }
                    #expect(line.contains("HostSupervision") && line.contains("RemoteSystemHost"), "\(line)")
                    #expect(line.utf8.count < 1000, "\(line)")
                }
            }
        }

        @Test(arguments: [["host"], ["host", "run"]])
        func `a SIGHUP during the start is handled once the daemon is ready, and does not end it`(
            command: [String]
        ) async throws {
            try await Daemon.with { daemon in
                let manager = try NotifySocket(path: "\(daemon.directory)/notify")
                let process = try daemon.command(
                    command + ["--json", "--loopback", "--port", "0"],
                    environment: ["NOTIFY_SOCKET": manager.path]
                )
                // The daemon creates this directory early. Before its own code runs, it cannot handle the signal.
                _ = try await eventually("the state directory", every: .milliseconds(1)) {
                    FileManager.default.fileExists(atPath: "\(daemon.directory)/state") ? true : nil
                }
                process.send(SIGHUP)
                _ = try await process.event("reloaded")
                let events = process.lines.filter { $0.contains("\"event\"") }
                #expect(events.first?.contains("\"ready\"") == true, "\(events)")
                let notes = manager.lines.filter { $0 == "READY=1" || $0 == "RELOADING=1" }
                #expect(notes.first == "READY=1", "\(notes)")
                await process.stop()
            }
        }

        @Test func `completions of a call include the service's fields and the applications that offer it`()
            async throws
        {
            try await Daemon.with { daemon in
                for (id, field) in [("test.one", "Level"), ("test.two", "Rooms")] {
                    try """
                    {"id": "\(id)", "start": {"exec": ["/bin/false"]}, "services": [
                      {"name": "test.set", "supportsRemote": true, "requestSchema":
                        {"fields": {"\(field)": {"type": "string"}, "Name": {"type": "string"},
                                    "a b": {"type": "string"}}}},
                      {"name": "test.\(field)", "supportsRemote": true}]}
                    """.write(
                        toFile: "\(daemon.directory)/data/remote-systems/applications/\(id).json",
                        atomically: true,
                        encoding: .utf8
                    )
                }
                try daemon.configure(#"{"displayName": "attic"}"#)
                try await daemon.whileRunning { _, _ in
                    func complete(_ what: String, _ more: String...) async throws -> [String] {
                        let words = ["remotesystems", "call", "--loopback", "attic"] + more
                        let place = ["\(words.count - 1)", "\(more.last?.count ?? 0)"]
                        // Completions browse for two seconds. A busy machine may not respond within that time, so this
                        // repeats.
                        return try await eventually("completions", within: .seconds(30)) { () -> [String]? in
                            let lines = try await daemon.finish(["---completion", "call", "--", what] + place + words).1
                            return lines.allSatisfy(\.isEmpty) ? nil : lines.filter { !$0.isEmpty }
                        }
                    }
                    let field = "positional@2"
                    let all = try await complete(field, "test.set", "")
                    #expect(all == ["Level=", "Name=", "Rooms="])
                    let further = try await complete(field, "test.set", "Name=x", "")
                    #expect(further == ["Level=", "Rooms="])
                    let ofOne = try await complete(field, "--application", "test.two", "test.set", "R")
                    #expect(ofOne == ["Rooms="])
                    let applications = try await complete("--application", "test.Rooms", "--application", "")
                    #expect(applications == ["test.two"])
                }
            }
        }

        @Test func `most settings apply on reload, and the log names those that do not (X-34)`() async throws {
            try await Daemon.with { daemon in
                try daemon.installHandler("test")
                try daemon.install("test.one", start: #"{"exec": ["/bin/false"]}"#)
                try await daemon.whileRunning { process, port in
                    func reload(_ text: String) async throws -> [String] {
                        let place = process.lines.count
                        try daemon.configure(text)
                        process.send(SIGHUP)
                        return try await process.event("reloaded", from: place)["needsRestart"] as? [String] ?? []
                    }
                    let system = try await daemon.system { _ in true }
                    #expect(system.application("remote-systems.host")?.uriSchemes == [])
                    let before = try await daemon.launch("test:x", port: port)
                    #expect(before.status == .deniedByRemoteSystem)
                    #expect(!process.lines.contains { $0.contains(" debug ") })

                    var waiting = try await reload(
                        #"{"uriPolicy": ["test=allow"], "logLevel": "debug", "advertise": false, "startTimeout": 3}"#
                    )
                    #expect(waiting == [])
                    let after = try await daemon.launch("test:x", port: port)
                    #expect(after.status == .success)
                    _ = try await daemon.call("test.one", port: port)
                    _ = try await eventually("a word of the start") {
                        process.lines.contains { $0.contains(" debug ") && $0.contains("Starting an application") }
                            ? true : nil
                    }

                    // The daemon is not discoverable until it advertises again. The watcher finds nothing in two
                    // seconds of real time.
                    let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                    try await watcher.start()
                    try await Task.sleep(for: .seconds(2))
                    #expect(watcher.systems.isEmpty)
                    waiting = try await reload(
                        #"{"uriPolicy": ["test=allow"], "stateDirectory": "/a", "network": "all", "port": 7}"#
                    )
                    // The network is that of the command line.
                    #expect(waiting == ["stateDirectory"])
                    let found = try? await eventually("the system", within: .seconds(20)) { watcher.systems.first }
                    await watcher.stop()
                    #expect(found?.application("remote-systems.host")?.uriSchemes == ["test"])
                    #expect(
                        process.lines.contains {
                            $0.contains("only when the host starts again") && $0.contains("stateDirectory")
                        }
                    )
                }
            }
        }

        @Test func `another port applies on reload, open calls continue, and watchers report an update (X-34)`()
            async throws
        {
            try await Daemon.with { daemon in
                let held = [try HeldPort(), try HeldPort()]
                let ports = held.map(\.number)
                try daemon.configure(#"{"displayName": "Attic", "port": \#(ports[0])}"#)
                try daemon.install("test.player", start: try daemon.exec("test.player"))
                try await daemon.whileRunning([]) { process, port in
                    #expect(port == ports[0])
                    let connection = try await daemon.openPing(port: port)
                    let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                    let recorder = EventRecorder(watcher)
                    try await watcher.start()
                    /// Whether the system can be called at the endpoint that the watcher reports.
                    func canBeCalled() async throws -> Bool? {
                        guard let found = watcher.systems.first?.application("remote-systems.host") else { return nil }
                        let call = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                        guard try await call.open(.application(found)) == .success else { return nil }
                        await call.close()
                        return true
                    }
                    _ = try await eventually("the system", within: .seconds(20)) { try await canBeCalled() }
                    // An application beside the daemon. It knows only the machine's own name.
                    _ = try await daemon.call("test.player", port: port)
                    _ = try await eventually("the player", within: .seconds(20)) {
                        watcher.systems.first?.application("test.player")?.isRunning == true ? true : nil
                    }
                    // The daemon and the application both report within a second that the application runs, and the
                    // second report may change more. So this waits until no event has arrived for three seconds.
                    var before = 0
                    repeat {
                        before = recorder.story.count
                        try await Task.sleep(for: .seconds(3))
                    } while recorder.story.count != before

                    func reload(port: Int) async throws -> [String: Any] {
                        let place = process.lines.count
                        try daemon.configure(#"{"displayName": "Attic", "port": \#(port)}"#)
                        process.send(SIGHUP)
                        return try await process.event("reloaded", from: place)
                    }
                    let moved = try await reload(port: ports[1])
                    #expect(moved["port"] as? Int == ports[1])
                    #expect((moved["problems"] as? [String])?.isEmpty == true)
                    let pong = try await connection.send(["Type": "ping"]).get()
                    #expect(pong["Type"] == "pong")
                    await connection.close()
                    try await daemon.openPing(port: ports[1]).close()
                    await #expect(throws: IntegrationError.self) { try await daemon.openPing(port: ports[0]) }
                    // The old port has no listener now, so the connection uses the new one.
                    _ = try await eventually("the new address", within: .seconds(20)) { try await canBeCalled() }
                    // Outlasts the time in which the daemon redirects watchers that were connected to the old port.
                    try await Task.sleep(for: .seconds(12))
                    let story = recorder.story.dropFirst(before).filter { $0 != "enumeration completed" }
                    #expect(story == ["updated Attic"], "\(recorder.events.dropFirst(before))")
                    await watcher.stop()

                    // A port that is in use is reported, and the old one stays.
                    let taken = try HeldPort()
                    taken.block()
                    let stays = try await reload(port: taken.number)
                    #expect(stays["port"] as? Int == ports[1])
                    #expect(
                        (stays["problems"] as? [String])?.first?.contains("another program uses it") == true,
                        "\(stays)"
                    )
                    try await daemon.openPing(port: ports[1]).close()
                    withExtendedLifetime((held, taken)) {}
                }
            }
        }

        @Test(arguments: [#""network": "lo""#, #""stateDirectory": "/a""#, #""snoozeMinutes": 10"#])
        func `settings that need a restart are named at each reload, and the rest applies (X-34)`(setting: String)
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.configure(#"{"network": "loopback"}"#)
                try await daemon.whileRunning(network: []) { process, port in
                    let name = setting.split(separator: "\"").first.map(String.init) ?? ""
                    for _ in 0..<2 {
                        let place = process.lines.count
                        let network = name == "network" ? "" : #""network": "loopback", "#
                        try daemon.configure("{\(network)\(setting), \"logLevel\": \"debug\"}")
                        process.send(SIGHUP)
                        let reloaded = try await process.event("reloaded", from: place)
                        #expect(reloaded["needsRestart"] as? [String] == [name])
                        let reported = process.lines.dropFirst(place)
                        #expect(
                            reported.contains { $0.contains("only when the host starts again") && $0.contains(name) }
                        )
                    }
                    _ = try await daemon.call("test.none", port: port)
                    _ = try await eventually("a line of the new level") {
                        process.lines.contains { $0.contains(" debug ") } ? true : nil
                    }
                }
            }
        }

        @Test func `the daemon takes its port from a service manager and drops no earlier caller`() async throws {
            try await Daemon.with { daemon in
                let held = try HeldPort()
                let port = held.number
                try await daemon.whileRunning(
                    [],
                    // systemd-socket-activate passes on almost none of its environment by itself.
                    around: [
                        "systemd-socket-activate", "--listen=127.0.0.1:\(port)",
                        "--setenv=REMOTE_SYSTEMS_STATE=\(daemon.directory)/state",
                    ],
                    afterStarting: {
                        // The daemon starts only on the first connection.
                        let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                        let status = try await eventually("an answer", within: .seconds(20)) {
                            let status = try await connection.open(
                                RemoteSystemConnectionRequest(
                                    host: "127.0.0.1",
                                    port: port,
                                    configuration: daemon.configuration()
                                )
                            )
                            return status == .success ? status : nil
                        }
                        #expect(status == .success)
                        await connection.close()
                    }
                ) { _, reported in
                    #expect(reported == port)
                }
                withExtendedLifetime(held) {}
            }
        }
    }
}
