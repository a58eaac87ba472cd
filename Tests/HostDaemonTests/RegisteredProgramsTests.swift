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
        @Test func `the daemon drops a killed program at once (R-19, R-20)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, port in
                    let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                    try await watcher.start()
                    try await daemon.withProgram("test.player") { program in
                        try await daemon.wait(for: ["remote-systems.host", "test.player"], by: watcher)
                        // The watcher is connected to the daemon only, and calls go to the program directly.
                        #expect(watcher.statistics.connectionsOpened == 1)
                        let called = try await daemon.call("test.player", port: port)
                        #expect(called.2 == Int(program.id), "\(called.1.debugDescription)")
                        let killed = ContinuousClock.now
                        program.send(SIGKILL)
                        try await daemon.wait(for: ["remote-systems.host"], by: watcher)
                        let duration = ContinuousClock.now - killed
                        print("killed program dropped after \(duration)")
                        // A program that only falls silent is dropped after 15 s.
                        #expect(duration < .seconds(8))
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
                try await daemon.withProgram("test.player") { program in
                    try await daemon.wait(for: ["test.player"], by: watcher)
                    for _ in 0..<2 {
                        let process = try daemon.command(["host", "run", "--json", "--loopback", "--port", "0"])
                        _ = try await process.event("ready")
                        try await daemon.wait(for: ["remote-systems.host", "test.player"], by: watcher)
                        // The program withdraws its own advertisement within this time; no event reports it. If that
                        // takes longer, the expectations are the same.
                        try await Task.sleep(for: .seconds(2))
                        process.send(SIGKILL)
                        _ = try await process.exit()
                        try await daemon.wait(for: ["test.player"], by: watcher)
                    }
                    #expect(program.exitCode == nil)
                    #expect(wrong.withLock { $0 } == [])
                }
                await watcher.stop()
            }
        }

        @Test func `a program is found without its daemon while that hangs (R-19, X-34)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { process, _ in
                    try await daemon.withProgram("test.player") { _ in
                        let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                        try await watcher.start()
                        try await daemon.wait(for: ["remote-systems.host", "test.player"], by: watcher)
                        await watcher.stop()
                        // The program withdraws its own advertisement within this time; no event reports it.
                        try await Task.sleep(for: .seconds(2))
                        process.send(SIGSTOP)
                        defer { process.send(SIGCONT) }
                        let began = ContinuousClock.now
                        let other = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                        try await other.start()
                        try await daemon.wait(for: ["test.player"], by: other)
                        print("found beside a daemon that hangs after \(ContinuousClock.now - began)")
                        process.send(SIGCONT)
                        try await daemon.wait(for: ["remote-systems.host", "test.player"], by: other)
                        await other.stop()
                    }
                }
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
