// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Logging
import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

/// Processes of service extensions.
@Suite(.timeLimit(.minutes(5))) struct ServiceExtensionProcessTests {
    private static let environment = ["PATH": "/usr/bin:/bin", "TMPDIR": NSTemporaryDirectory()]

    private static func start(_ script: String, shell: String = "/bin/sh") throws -> ServiceExtensionProcess {
        try ServiceExtensionProcess([shell, "-c", script], environment: Self.environment)
    }

    @Test func `a program reads lines and writes one, with files of its own that are removed at its end (N-17)`()
        async throws
    {
        let echo = try Self.start(
            #"read -r a; read -r b; echo noise >&2; touch file; printf '%s\n' "$a$b $TMPDIR"; exec sleep 600"#
        )
        echo.send("{\"ä\":1}")
        echo.send("[2]")
        let line = try #require(await echo.response())
        #expect(line.hasPrefix("{\"ä\":1}[2] "))
        let own = String(line.drop { $0 != " " }.dropFirst())
        let attributes = try FileManager.default.attributesOfItem(atPath: own)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        // It is not awaited any longer.
        #expect(await echo.end() == "it was ended by signal 15")
        #expect(!FileManager.default.fileExists(atPath: own))
    }

    @Test(arguments: [
        ("exit 3", "exit status 3"),
        ("kill -9 $$", "signal 9"),
        ("printf unfinished; exit 0", "exit status 0"),
        // More than a line may have.
        ("head -c 3000000 /dev/zero | tr '\\0' a; exec sleep 600", "signal"),
        // More memory, processor time or disk space than it may use.
        ("exec /usr/bin/python3 -c 'bytearray(600 << 20)'", "exit status 1"),
        ("head -c 80000000 /dev/zero > \"$TMPDIR/large\" || exit 7", "exit status 7"),
    ])
    func `a program that ends or breaks a limit has no response (N-20, X-51)`(script: String, end: String)
        async throws
    {
        let program = try Self.start(script)
        // It may not read what is sent to it, either.
        program.send(String(repeating: "x", count: 300_000))
        #expect(await program.response() == nil)
        let how = await program.end()
        #expect(how.contains(end), "\(how)")
    }

    @Test func `a program that does not want to end is killed, with its children`() async throws {
        let program = try Self.start(
            #"trap '' TERM; (trap '' TERM; exec sleep 600) & echo "$!"; while :; do sleep 1; done"#
        )
        let line = try #require(await program.response())
        let child = try #require(Int32(line))
        #expect(kill(child, 0) == 0)
        #expect(await program.end() == "it was ended by signal 9")
        try await Self.isGone(child)
    }

    @Test func `the children of a program that has ended are ended, too`() async throws {
        let program = try Self.start(#"sleep 600 >&- & echo "$!""#)
        let line = try #require(await program.response())
        let child = try #require(Int32(line))
        #expect(await program.end().contains("ended"))
        try await Self.isGone(child)
    }

    /// Waits for the end of a process, which the first process of the system may not have reaped yet.
    private static func isGone(_ process: Int32) async throws {
        _ = try await eventually("the child is gone") {
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return status.map { $0.contains(") Z ") } ?? true ? true : nil
        }
    }

    @Test func `a program that cannot be started is an error that names it`() async throws {
        let registry = ApplicationRegistry(
            environment: Self.environment,
            stateDirectory: nil,
            logger: Logger(label: "t")
        )
        #expect(try await DesktopServiceExtensions(registry).start("com.example.none") == nil)
        // The limits are set by another program.
        let program = try ServiceExtensionProcess(["/nowhere/extension"], environment: Self.environment)
        #expect(await program.response() == nil)
        #expect(await program.end() == "it ended with exit status 127")
    }

    @Test func `with a service manager the program runs in a scope with limited memory and processes (X-51)`() {
        let command = ServiceExtensionLimits.command(["/opt/x", "--flag"], scope: "s.scope")
        #expect(command.first == "/usr/bin/systemd-run" && command.suffix(2) == ["/opt/x", "--flag"])
        for property in ["MemoryMax=268435456", "MemorySwapMax=0", "TasksMax=64", "RuntimeMaxSec=40"] {
            #expect(command.contains("--property=\(property)"))
        }
        #expect(command.contains("--scope") && command.contains("--unit=s.scope"))
        // Everywhere.
        #expect(command.contains("--data=536870912"))
        let bare = ServiceExtensionLimits.command(["/opt/x"], scope: nil)
        #expect(bare.prefix(3) == ["timeout", "--kill-after=1", "40"] && bare.contains("--data=536870912"))
    }
}
