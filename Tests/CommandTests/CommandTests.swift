// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// The command as a process with arguments, standard streams and an exit status. Serialized, since each test starts
/// processes.
@Suite(.serialized, .timeLimit(.minutes(2))) struct CommandTests {}

extension CommandTests {
    @Suite struct Usage {
        @Test func `every help fits into 80 columns, and names no file that an installed command does not have`()
            async throws
        {
            try await Sandbox.with { sandbox in
                var commands: [[String]] = [[]]
                var index = 0
                while index < commands.count {
                    let command = commands[index]
                    let help = try await sandbox.start(command + ["--help"]).finish()
                    #expect(help.status == 0)
                    #expect(help.lines.filter { $0.count > 80 } == [], "\(command)")
                    #expect(!help.lines.contains { $0.contains("Docs/") || $0.contains(".md") }, "\(command)")
                    // A summary that is wrapped, and the last line, begin in another way.
                    commands += help.lines.drop { $0 != "SUBCOMMANDS:" }.compactMap { line -> [String]? in
                        guard line.hasPrefix("  "), line.dropFirst(2).first?.isLowercase == true else { return nil }
                        return line.split(separator: " ").first.map { command + [String($0)] }
                    }
                    index += 1
                }
                #expect(commands.contains(["account", "rotate-root-key"]) && commands.count > 60, "\(commands)")
            }
        }

        @Test(arguments: [
            (["list", "--search-time", "0"], "--wait takes 0.1 to 3600 seconds"),
            (
                ["activities", "continue", "--print", "--application", "com.example.editor"],
                "--print and --application cannot be combined."
            ),
            (["activities", "offer", "com.example.reading", "--web", "ftp://example.com/"], "--webpage takes an http"),
        ])
        func `an option has the same name in every subcommand, and its earlier name remains`(
            arguments: [String],
            says: String
        ) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(arguments).finish()
                #expect(finished.status == 64)
                #expect(finished.errors.contains(says), "\(finished.errors)")
            }
        }

        @Test(arguments: [
            (["list", "--wait", "50ms"], "--wait takes 0.1 to 3600 seconds, not 50ms."),
            (["notifications", "list", "--search-time", "7200"], "--search-time takes 0.1 to 3600 seconds, not 2h."),
            (["ping", "somewhere", "--interval", "24h"], "--interval takes 0 to 3600 seconds, not 1d."),
            (["call", "somewhere", "x", "--timeout", "2880m"], "--timeout takes 0.001 to 86400 seconds, not 2d."),
            (
                ["activities", "offer", "com.example.reading", "--for", "25h"],
                "--for takes 1 to 86400 seconds, not 25h."
            ),
        ])
        func `each option with a time takes a unit`(arguments: [String], says: String) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(arguments).finish()
                #expect(finished.status == 64)
                #expect(finished.errors.contains(says), "\(finished.errors)")
            }
        }

        @Test(arguments: [
            ["frobnicate"], ["list", "--frobnicate"], ["list", "--loopback", "--interface", "eth0"],
            ["list", "--wait", "0"], ["list", "--wait", "soon"], ["watch", "--filter", "kind"],
            ["watch", "--filter", "colour=red"], ["watch", "--filter", "platform=plan9"], ["ping", "--count", "0"],
            ["list", "--filter", "status=bogus"], ["list", "--filter", "remote=maybe"],
            ["serve", "--application-id", "a\u{1b}[31m"], ["call", "somewhere", "x\u{200b}"],
            ["ping", "--service", "a\nb"],
            ["launch", "somewhere", "https://example.com", "--application", "a\u{202e}"],
            ["ping", "--size", "-1"], ["ping", "--interval", "-1"], ["ping", "--service", ""], ["ping", ""],
            ["serve", "--port", "65536"], ["serve", "--state-directory", ""],
            ["values", "encode", "--format", "octal"],
            ["values", "encode", "--format", "raw", "--json"], ["values", "decode", "--format", "raw", "00"],
            ["account", "export"], ["doctor", "--port", "x"],
            ["info"], ["info", ""], ["apps"], ["call"], ["call", "somewhere"], ["call", "somewhere", ""],
            ["call", "somewhere", "x", "key"], ["call", "somewhere", "x", "=value"], ["call", "somewhere", "x", ":=1"],
            ["call", "somewhere", "x", "a=1", "--describe"], ["call", "somewhere", "x", "--timeout", "0"],
            ["serve", "--application-id", ""], ["serve", "--application-id", "org.remotesystems.media-players"],
            ["activities", "offer", "a.b", "--application-id", "org.remotesystems.web-browser.chromium"],
            ["ping", "192.0.2.1", "--loopback"], ["info", "kitchen:5000", "--loopback"],
            ["doctor", "[2001:db8::1]:80", "--loopback"], ["notify", "192.0.2.1", "--loopback", "--title", "T"],
            ["notifications", "pending", "192.0.2.1", "--loopback"],
            ["ping", "127.0.0.1:99999"], ["ping", "127.0.0.1:0"], ["info", "1.2.3.999"], ["apps", "1.2.3.999:80"],
            ["call", "[::1", "x"], ["doctor", "[kitchen]:80"], ["launch", "[::1]47474", "https://example.com"],
        ])
        func `invalid arguments end with status 64 and a hint`(arguments: [String]) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(arguments).finish()
                #expect(finished.status == 64)
                #expect(finished.errors.contains("Error:"))
                #expect(finished.lines.isEmpty)
            }
        }

        @Test(arguments: [
            ["ping", "--count"], ["ping", "--size"], ["ping", "--interval"], ["ping", "--wait"], ["serve", "--port"],
            ["doctor", "--port"], ["account", "invite", "--port"], ["host", "run", "--port"],
            ["call", "somewhere", "x", "--timeout"], ["ping", "--timeout"],
            ["notify", "--all", "--title", "T", "--wait"], ["notify", "--all", "--title", "T", "--expire"],
            ["notifications", "history", "--limit"],
        ])
        func `a number below the minimum is reported with its range, wrapped at 80 columns`(arguments: [String])
            async throws
        {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(arguments + ["-1"]).finish()
                #expect(finished.status == 64)
                #expect(finished.errors.contains("Error: \(arguments.last ?? "") takes "), "\(finished.errors)")
                #expect(finished.errors.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(finished.errors)")
            }
        }

        @Test func `an error is one line in a log and wrapped on a terminal`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                try Data("damaged".utf8).write(to: URL(fileURLWithPath: sandbox.state() + "/account/system-key.pem"))
                let logged = try await sandbox.run("account", "show")
                #expect(logged.status == 2)
                #expect(logged.errors.split(separator: "\n").count == 1)
                let seen = try await sandbox.run(
                    "account",
                    "show",
                    around: [Python.interpreter, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"]
                )
                #expect(seen.status == 2)
                let lines = seen.lines.map { $0.trimmingCharacters(in: .newlines) }
                #expect(lines.count > 3)
                // A path may be longer than a line.
                #expect(lines.allSatisfy { $0.count <= 80 || !$0.contains(" ") }, "\(lines)")
                #expect(lines.joined(separator: " ").contains("remotesystems account import"))
            }
        }

        @Test func `completion scripts exist for the usual shells`() async throws {
            try await Sandbox.with { sandbox in
                for shell in ["bash", "zsh", "fish"] {
                    let script = try await sandbox.run("--generate-completion-script", shell)
                    #expect(script.status == 0)
                    #expect(script.lines.contains { $0.contains("state-directory") }, "\(shell)")
                }
            }
        }

        @Test(arguments: ["call", "info", "apps", "ping", "pair"])
        func `completing a name with nothing known prints nothing and creates no account`(command: String) async throws
        {
            try await Sandbox.with { sandbox in
                let completion = try await sandbox.start(
                    ["---completion", command, "--", "positional@0", "2", "0", "remotesystems", command, ""]
                ).finish()
                #expect(completion.status == 0)
                #expect(completion.errors == "")
                #expect(completion.lines.allSatisfy { $0.isEmpty })
                #expect(!FileManager.default.fileExists(atPath: sandbox.state()))
            }
        }

        @Test func `output whose reader has closed ends the command quietly`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(
                    ["values", "encode", "{}"],
                    around: ["/bin/sh", "-c", #""$@" | true; exit 0"#, "sh"]
                ).finish()
                #expect(finished.errors == "")
            }
        }

        @Test func `a full disk is reported`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(
                    ["values", "encode", "{}"],
                    around: ["/bin/sh", "-c", #"exec "$@" >/dev/full"#, "sh"]
                ).finish()
                #expect(finished.status == 2)
                #expect(finished.errors.contains("No space left on device"))
            }
        }
    }
}
