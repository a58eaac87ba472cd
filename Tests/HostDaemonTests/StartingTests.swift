// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// The daemon as a process, with applications that it starts.
    @Suite struct Starting {
        @Test func `an application is listed, started once for two callers, and runs (R-20, R-26, X-34)`() async throws
        {
            try await Daemon.with { daemon in
                try daemon.install("test.player", start: try daemon.exec("test.player"))
                try await daemon.whileRunning { process, port in
                    let listed = try await daemon.system { $0.application("test.player") != nil }
                    #expect(listed.application("test.player")?.isRunning == false)
                    #expect(listed.application("test.player")?.services.first?.summary == "Says it again.")
                    #expect(listed.application("remote-systems.host")?.isRunning == true)

                    async let one = daemon.call("test.player", port: port)
                    async let other = daemon.call(nil, port: port)
                    let (first, second) = try await (one, other)
                    #expect(first.0 == .success, "\(first.1.debugDescription)")
                    #expect(second.0 == .success, "\(second.1.debugDescription)")
                    #expect(first.2 == second.2)
                    #expect(daemon.starts.count == 1)

                    let running = try await daemon.system {
                        $0.application("test.player")?.isRunning == true && $0.application("remote-systems.host") != nil
                    }
                    #expect(running.applications.map(\.id) == ["remote-systems.host", "test.player"])

                    // The environment at its start: a session of its own, no descriptors and no variables of the host.
                    let start = try #require(daemon.starts.first)
                    #expect(start.hasSuffix("descriptors=4 session=true"), "\(start)")
                    #expect(!start.contains("SECRET_OF_THE_HOST"))
                    #expect(start.contains("REMOTE_SYSTEMS_STATE"))

                    // A killed application is started again.
                    kill(pid_t(try #require(first.2)), SIGKILL)
                    let again = try await daemon.call("test.player", port: port)
                    #expect(again.0 == .success || again.1?.canRetry == true, "\(again.1.debugDescription)")
                    let later = try await daemon.call("test.player", port: port)
                    #expect(later.0 == .success, "\(later.1.debugDescription)")
                    #expect(later.2 != first.2)
                    #expect(process.exitCode == nil)
                }
            }
        }

        @Test func `a program that fails and one that never registers end in a clear status`() async throws {
            try await Daemon.with { daemon in
                // Longer than the daemon needs to notice the end of a program, on a busy machine too.
                try daemon.configure(#"{"startTimeout": 3}"#)
                try daemon.install("test.broken", start: #"{"exec": ["/bin/false"]}"#)
                try daemon.install("test.idle", start: #"{"exec": ["/bin/sleep", "5"]}"#)
                try await daemon.whileRunning { _, port in
                    let broken = try await daemon.call("test.broken", port: port)
                    #expect(broken.0 == .appUnavailable)
                    #expect(broken.1?.message.contains("exit status 1") == true, "\(broken.1.debugDescription)")
                    let idle = try await daemon.call("test.idle", port: port)
                    #expect(idle.0 == .appUnavailable)
                    #expect(idle.1?.message.contains("did not come up") == true, "\(idle.1.debugDescription)")
                }
            }
        }

        @Test func `a program that hangs is ended with its process group, and then started again (R-26)`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.configure(#"{"startTimeout": 3}"#)
                // The program and its child ignore SIGTERM. Once this file exists, the program works.
                let well = "\(daemon.directory)/well"
                let program = try daemon.script(
                    "hung",
                    """
                    if test -e '\(well)'; then exec \(try daemon.program("test.hung")); fi
                    trap '' TERM
                    sleep 600 &
                    echo "$$ $!" >> '\(daemon.directory)/processes'
                    sleep 600
                    """
                )
                try daemon.install("test.hung", start: #"{"exec": ["\#(program)"]}"#)
                try await daemon.whileRunning { process, port in
                    let first = try await daemon.call("test.hung", port: port)
                    #expect(first.0 == .appUnavailable)
                    #expect(first.1?.message.contains("did not come up") == true, "\(first.1.debugDescription)")
                    let text = try String(contentsOfFile: "\(daemon.directory)/processes", encoding: .utf8)
                    let hung = text.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
                    #expect(hung.count == 2)
                    // The daemon logs this before it responds, but this process may read the log later.
                    _ = try await eventually("a word of its end") {
                        process.lines.contains { $0.contains("did not come up is ended") } ? true : nil
                    }

                    // The old timeout would leave a working program little time after the old program has ended.
                    try daemon.configure(#"{"startTimeout": 30}"#)
                    process.send(SIGHUP)
                    _ = try await process.event("reloaded")
                    // A call while the program is being ended starts it afterwards, and not beside it.
                    _ = FileManager.default.createFile(atPath: well, contents: nil)
                    let response = try await eventually("the program", within: .seconds(40), every: .milliseconds(200))
                    {
                        let again = try await daemon.call("test.hung", port: port)
                        return again.0 == .success ? again.2 : nil
                    }
                    #expect(!hung.contains(where: isAlive))
                    #expect(!hung.contains { $0 == response })
                    #expect(daemon.starts.count == 1)
                }
            }
        }

        @Test func `a program started by a desktop entry is not ended, since it may have a window (R-26)`() async throws
        {
            try await Daemon.with { daemon in
                try daemon.configure(#"{"startTimeout": 2}"#)
                let program = try daemon.script("window", "echo $$ > '\(daemon.directory)/pid'; exec sleep 600")
                try daemon.installEntry("window", "Exec=\(program)", "X-RemoteSystems-NeedsDisplay=false")
                try daemon.install("test.window", start: #"{"desktop": "window.desktop"}"#)
                try await daemon.whileRunning { process, port in
                    let call = try await daemon.call("test.window", port: port)
                    #expect(call.1?.message.contains("did not come up") == true, "\(call.1.debugDescription)")
                    // The file exists before the number is written.
                    let pid = try await eventually("the process") { () -> pid_t? in
                        let text = try? String(contentsOfFile: "\(daemon.directory)/pid", encoding: .utf8)
                        return text.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
                    }
                    // A program to be ended gets SIGTERM at once. Both its end and the log line would show well before
                    // this.
                    try await Task.sleep(for: .milliseconds(500))
                    #expect(kill(pid, SIGKILL) == 0)
                    #expect(!process.lines.contains { $0.contains("did not come up is ended") })
                }
            }
        }

        @Test func `ping waits as long as its timeout for an application to start`() async throws {
            try await Daemon.with { daemon in
                try daemon.install("test.idle", start: #"{"exec": ["/bin/sleep", "5"]}"#)
                try await daemon.whileRunning { _, port in
                    let began = ContinuousClock.now
                    let (status, lines) = try await daemon.finish(
                        [
                            "ping", "127.0.0.1:\(port)", "--loopback", "--service", "test.echo", "--timeout", "0.5",
                            "--json",
                        ]
                    )
                    #expect(status == 2, "\(lines)")
                    #expect(lines.contains { $0.contains("deadlineExceeded") }, "\(lines)")
                    // The host's own timeout is ten seconds.
                    #expect(ContinuousClock.now - began < .seconds(9))
                }
            }
        }

        @Test func `an application is started by the message bus (R-26)`() async throws {
            try await Daemon.with { daemon in
                try daemon.install("test.player", start: #"{"dbus": "test.player.Service"}"#)
                try daemon.install("test.unknown", start: #"{"dbus": "test.unknown.Service"}"#)
                try await daemon.withBus(starting: ["test.player.Service": try daemon.program("test.player")]) {
                    try await daemon.whileRunning { _, port in
                        let player = try await daemon.call("test.player", port: port)
                        #expect(player.0 == .success, "\(player.1.debugDescription)")
                        #expect(daemon.starts.count == 1)
                        let unknown = try await daemon.call("test.unknown", port: port)
                        #expect(unknown.0 == .appUnavailable)
                        #expect(
                            unknown.1?.message.contains("test.unknown.Service") == true,
                            "\(unknown.1.debugDescription)"
                        )
                    }
                }
            }
        }

        @Test func `a daemon that ends while a caller waits is reported as ended, not as unreachable`()
            async throws
        {
            try await Daemon.with { daemon in
                let program = try daemon.script("slow", "touch '\(daemon.directory)/began'; exec sleep 3")
                try daemon.install("test.slow", start: #"{"exec": ["\#(program)"]}"#)
                try await daemon.whileRunning { process, port in
                    async let call = daemon.call("test.slow", port: port)
                    _ = try await eventually("the start") {
                        FileManager.default.fileExists(atPath: "\(daemon.directory)/began") ? true : nil
                    }
                    process.send(SIGKILL)
                    let (_, error, _) = try await call
                    let message = error?.message ?? ""
                    #expect(message.contains("ended, before the connection was open"), "\(message)")
                    #expect(error?.canRetry == true)
                }
            }
        }

        @Test
        func `an application started by a launch gets URI, input data and verified caller (R-17, X-34; activation)`()
            async throws
        {
            try await Daemon.with { daemon in
                let program =
                    #""\#(try builtProgram("installed-application"))", "test.player", "\#(daemon.record)", "test""#
                try daemon.install("test.player", start: "{\"exec\": [\(program)]}")
                try await daemon.whileRunning { _, _ in
                    let system = try await daemon.system {
                        $0.application("test.player") != nil && $0.application("remote-systems.host") != nil
                    }
                    #expect(system.application("test.player")?.isRunning == false)
                    let result = try await RemoteLauncher().launchURI(
                        "test:album/42",
                        with: .system(system),
                        inputData: ["position": 12.5]
                    )
                    #expect(result.status == .success, "\(result.error.debugDescription)")
                    #expect(result.applicationID == "test.player")
                    // Its manifest states three arguments. Nothing of the launch is one.
                    #expect(daemon.starts.first?.contains(" arguments=3 ") == true, "\(daemon.starts)")
                    let given = daemon.starts.filter { !$0.hasPrefix("started ") }
                    #expect(
                        given == ["opened test:album/42", "given {\"position\":12.5} by test.watcher of \(system.id)"]
                    )
                }
            }
        }

        @Test func `a program that does not open its manifest's scheme is reported to the launcher (X-20)`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.install("test.player", start: try daemon.exec("test.player"))
                try await daemon.whileRunning { _, _ in
                    let system = try await daemon.system {
                        $0.application("test.player") != nil && $0.application("remote-systems.host") != nil
                    }
                    let result = try await RemoteLauncher().launchURI("test:x", with: .system(system))
                    #expect(result.status == .protocolUnavailable)
                    let message = result.error?.message ?? ""
                    #expect(message.contains("test.player there opens no URIs"), "\(message)")
                    #expect(message.contains("manifest"), "\(message)")
                }
            }
        }

        @Test func `without a service manager its units are not started, and callers get an error`() async throws {
            try await Daemon.with { daemon in
                try daemon.install("test.unit", start: #"{"systemd": "test.service"}"#)
                try await daemon.whileRunning { _, port in
                    let unit = try await daemon.call("test.unit", port: port)
                    #expect(unit.0 == .appUnavailable)
                    #expect(unit.1?.message.contains("StartUnit on the session bus failed") == true)
                }
            }
        }
    }
}
