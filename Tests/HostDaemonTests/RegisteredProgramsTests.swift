// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Synchronization
import Testing

extension HostDaemonTests {
    /// Programs as processes that register with the daemon.
    @Suite struct RegisteredPrograms {
        /// Starts the test application beside the daemon, and ends it after `body`.
        private func withProgram(
            _ id: String,
            _ daemon: Daemon,
            _ body: (ChildProcess) async throws -> Void
        ) async throws {
            let program = try ChildProcess(
                try daemon.program(id).split(separator: " ").map(String.init),
                environment: daemon.environment
            )
            let result: Result<Void, any Error>
            do { result = .success(try await body(program)) } catch { result = .failure(error) }
            await program.stop()
            try result.get()
        }

        private static func ids(_ watcher: RemoteSystemWatcher) -> [String]? {
            watcher.systems.first?.applications.filter(\.isRunning).map(\.id)
        }

        /// Waits until the watcher lists exactly these running applications.
        private func wait(for ids: [String], _ watcher: RemoteSystemWatcher) async throws {
            _ = try await eventually("\(ids)", within: .seconds(30), every: .milliseconds(2)) {
                Self.ids(watcher) == ids ? true : nil
            }
        }

        @Test func `the daemon drops a killed program at once (R-19, R-20)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, port in
                    let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                    try await watcher.start()
                    try await self.withProgram("test.player", daemon) { program in
                        try await self.wait(for: ["remote-systems.host", "test.player"], watcher)
                        // The watcher is connected to the daemon only, and calls go to the program directly.
                        #expect(watcher.statistics.connectionsOpened == 1)
                        let called = try await daemon.call("test.player", port: port)
                        #expect(called.2 == Int(program.id), "\(called.1.debugDescription)")
                        let killed = ContinuousClock.now
                        program.send(SIGKILL)
                        try await self.wait(for: ["remote-systems.host"], watcher)
                        print("killed program dropped after \(ContinuousClock.now - killed)")
                    }
                    await watcher.stop()
                }
            }
        }

        @Test func `a program stays listed when its daemon is killed and restarted (R-19, X-34)`() async throws {
            try await Daemon.with { daemon in
                let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                let wrong = Mutex<[String]>([])
                watcher.onUpdated { system in
                    guard system.application("test.player") == nil else { return }
                    wrong.withLock { $0.append("updated without it: \(system.applications.map(\.id))") }
                }
                watcher.onRemoved { _ in wrong.withLock { $0.append("removed") } }
                try await watcher.start()
                try await self.withProgram("test.player", daemon) { program in
                    try await self.wait(for: ["test.player"], watcher)
                    for _ in 0..<2 {
                        let process = try daemon.command(["host", "run", "--json", "--loopback", "--port", "0"])
                        _ = try await process.event("ready")
                        try await self.wait(for: ["remote-systems.host", "test.player"], watcher)
                        // The program withdraws its own advertisement within this time; no event reports it. If that
                        // takes longer, the expectations are the same.
                        try await Task.sleep(for: .seconds(2))
                        process.send(SIGKILL)
                        _ = try await process.exit()
                        try await self.wait(for: ["test.player"], watcher)
                    }
                    #expect(program.exitCode == nil)
                    #expect(wrong.withLock { $0 } == [])
                }
                await watcher.stop()
            }
        }

        @Test(.enabled(if: geteuid() == 0, "Only root can become another user."))
        func `the daemon closes connections of other users before it sends anything`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let socket = "\(daemon.directory)/state/run/registry/daemon.sock"
                    // Opens the way for another user, which the permissions would stop otherwise.
                    var directory = socket
                    for _ in 0..<4 {
                        directory = String(directory[..<(directory.lastIndex(of: "/") ?? directory.startIndex)])
                        let opened = unsafe chmod(directory, 0o711)
                        #expect(opened == 0)
                    }
                    let opened = unsafe chmod(socket, 0o666)
                    #expect(opened == 0)
                    for (user, isAnswered) in [(0, true), (65_534, false)] {
                        let script = """
                            import os, socket
                            os.setuid(\(user))
                            program = socket.socket(socket.AF_UNIX)
                            program.connect("\(socket)")
                            try:
                                program.sendall(b"no TLS at all")
                                print(len(program.recv(100)))
                            except OSError:
                                print(0)
                            """
                        let program = try ChildProcess(["/usr/bin/env", "python3", "-c", script])
                        #expect(try await program.exit(within: .seconds(30)) == 0)
                        let bytes = try await program.allLines().first.flatMap { Int($0) }
                        #expect(bytes.map { $0 > 0 } == isAnswered, "\(user): \(bytes.debugDescription)")
                    }
                }
            }
        }
    }
}
