// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// Other programs of the session bus, and other users of the machine, attack the daemon and its programs.
    @Suite struct RegistryAttacks {
        private static let bus = "org.remotesystems.Registry1"
        /// Makes the test application look for its daemon on the bus, too.
        private static let onBus = ["SESSION_BUS_DAEMON": "1"]
        private static let run = ["host", "run", "--json", "--loopback", "--port", "0"]

        private func script(_ name: String, _ arguments: String...) -> [String] {
            Python.script(name, arguments, test: #filePath)
        }

        /// Starts a program that takes the daemon's name on the bus.
        private func squatter(_ daemon: Daemon, as user: Int) throws -> ChildProcess {
            try ChildProcess(
                self.script("registry_squatter.py", "\(daemon.directory)/bus", "\(user)", "\(daemon.directory)/trap")
            )
        }

        private func line(_ start: String, of program: ChildProcess) async throws -> String {
            try await eventually("'\(start)'", within: .seconds(30)) {
                if let code = program.exitCode { throw IntegrationError("it ended with \(code): \(program.lines)") }
                return program.lines.first { $0.hasPrefix(start) }
            }
        }

        // MARK: Name squatting

        @Test(.enabled(if: geteuid() == 0, "Only root can become another user."), arguments: [0, 65_534])
        func `a program that takes the daemon's name on the bus learns nothing of a program that looks for the daemon`(
            user: Int
        ) async throws {
            try await Daemon.with { daemon in
                try await daemon.withBus(starting: [:]) {
                    let squatter = try self.squatter(daemon, as: user)
                    _ = try await self.line("owner", of: squatter)
                    let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                    try await watcher.start()
                    try await daemon.withProgram("test.player", environment: Self.onBus) { _ in
                        // The program has called the name's owner, and got a socket.
                        _ = try await self.line("called", of: squatter)
                        if user == 0 {
                            // A program of the same user gets the beginning of TLS, which is the same for all systems.
                            let received = try await self.line("received", of: squatter).dropFirst("received ".count)
                            #expect(received.hasPrefix("16") && received.count < 4000, "\(received.count) digits")
                            let own = try RemoteSystemsAccount(daemon.configuration()).identity()
                            for id in ["\(own.systemID)", "\(own.accountID)"] {
                                #expect(!received.contains(Python.hex(id)))
                                #expect(!received.contains(Python.hex(Array(Python.base32(id).prefix(8)))))
                            }
                            #expect(!received.contains(Python.hex("test.player")))
                        } else {
                            // The kernel reports the other user before anything is sent.
                            #expect(try await self.line("received", of: squatter) == "received ")
                        }
                        // The program runs, and advertises itself.
                        try await daemon.wait(for: ["test.player"], by: watcher)
                    }
                    await watcher.stop()
                    await squatter.stop()
                }
            }
        }

        @Test func `a daemon whose name on the bus is taken serves its programs by its socket's path`() async throws {
            try await Daemon.with { daemon in
                try await daemon.withBus(starting: [:]) {
                    let squatter = try self.squatter(daemon, as: Int(geteuid()))
                    _ = try await self.line("owner", of: squatter)
                    let process = try daemon.command(Self.run)
                    _ = try await process.event("ready")
                    try await daemon.withProgram("test.player", environment: Self.onBus) { _ in
                        _ = try await eventually("the program is registered", within: .seconds(60)) {
                            () async throws -> Bool? in
                            let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                            try await watcher.start()
                            try await daemon.wait(for: ["remote-systems.host", "test.player"], by: watcher)
                            let connections = watcher.statistics.connectionsOpened
                            await watcher.stop()
                            return connections == 1 ? true : nil
                        }
                    }
                    await process.stop()
                    await squatter.stop()
                }
            }
        }

        // MARK: Calls of the bus

        /// dbus-daemon itself refuses messages that break the format. The calls that arrive have other arguments,
        /// members and paths than the interface, attached files, and long texts.
        @Test
        func `odd and malformed bus calls stop nothing (CVE-2022-42010, CVE-2022-42011, CVE-2022-42012)`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.withBus(starting: [:]) {
                    try await daemon.whileRunning { process, port in
                        let system = try RemoteSystemsAccount(daemon.configuration()).identity().systemID.description
                        let address = "\(daemon.directory)/bus"
                        func calls(_ rounds: Int) async throws -> [String] {
                            let caller = try ChildProcess(
                                self.script("registry_calls.py", address, system, "\(rounds)")
                            )
                            #expect(try await caller.exit(within: .seconds(60)) == 0)
                            return try await caller.allLines()
                        }
                        // The daemon opens some files when they are first needed, such as those of its threads. What
                        // it leaves open for calls grows with their number: 100 at least.
                        let first = try await calls(20)
                        #expect(first.last == "socket", "\(first)")
                        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd").count
                        let lines = try await calls(100)
                        #expect(lines.last == "socket", "\(lines.suffix(3))")
                        let answered = lines.filter { $0.hasPrefix("error ") }
                        #expect(answered.count == 100 * 9, "\(answered.count)")
                        #expect(lines.count { $0 == "cut" } == 6, "\(lines.filter { !$0.hasPrefix("error ") })")
                        let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd").count
                        #expect(after <= files + 20, "\(files) files before, \(after) after")
                        let connection = try await daemon.openPing(port: port)
                        await connection.close()
                        #expect(process.exitCode == nil)
                    }
                }
            }
        }

        // MARK: Other users

        @Test(.enabled(if: geteuid() == 0, "Only root can become another user."))
        func `another user can neither read the state directory, hold its locks, nor reach its socket`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let state = "\(daemon.directory)/state"
                    let files = try #require(FileManager.default.enumerator(atPath: state)).compactMap { $0 as? String }
                    #expect(
                        files.contains { $0.hasSuffix("system-key.pem") } && files.contains { $0.hasSuffix(".lock") }
                    )
                    #expect(files.contains { $0.hasSuffix("daemon.sock") })
                    let paths = files.map { "\(state)/\($0)" } + [state]
                    let attack = try ChildProcess(self.script("other_user.py", "65534", paths.joined(separator: "\n")))
                    #expect(try await attack.exit(within: .seconds(30)) == 0)
                    #expect(try await attack.allLines() == ["refused \(paths.count)"])
                }
            }
        }
    }
}
