// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension HostDaemonTests {
    /// The arguments of `remotesystems notify` and `notifications` that are refused, and the options that errors name.
    @Suite struct NotificationArguments {
        @Test(arguments: [
            ["notifications", "permit", "denied", "--application", ""], ["notifications", "permit", "--system", "x"],
            ["notifications", "history", "--limit", "0"], ["notifications", "history", "--key", "1"],
            ["notify", "--all", "--title", "T", "--wait=abc"], ["notify", "--all", "--title", "T", "--wait=0"],
            ["notify", "--all", "--title", "T", "--wait=-5"], ["notify", "--wait", "-5", "--all", "--title", "T"],
        ])
        func `arguments that would concern more than is meant are refused`(arguments: [String]) async throws {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(arguments + ["--loopback"])
                #expect(status == 64, "\(lines)")
            }
        }

        @Test func `a --wait that is mistyped or below its range is refused with the range`() async throws {
            try await Daemon.with { daemon in
                for wait in [
                    ["--wait=-5"], ["--wait", "-5"], ["--wait=-inf"], ["--wait", "-0.5"], ["--wait", "10min"],
                ] {
                    let (status, lines) = try await daemon.finish(
                        ["notify"] + wait + ["--all", "--title", "T", "--loopback"]
                    )
                    #expect(status == 64 && lines.joined().contains("--wait takes 1 to 2592000"), "\(lines)")
                }
            }
        }

        @Test func `the standard input cannot be attached, and a file of that name can`() async throws {
            try await Daemon.with { daemon in
                for command in [["notify", "--all"], ["notifications", "schedule", "--in", "60"]] {
                    let arguments = command + ["--title", "T", "--loopback", "--attach"]
                    let (status, lines) = try await daemon.finish(arguments + ["-"])
                    #expect(status == 64 && lines.joined().contains("does not read the standard input"), "\(lines)")
                    // It is looked for.
                    let (otherStatus, otherLines) = try await daemon.finish(arguments + ["./-"])
                    #expect(otherStatus != 64 && otherLines.joined().contains("No such file"), "\(otherLines)")
                }
            }
        }

        @Test(arguments: [
            (["--category", "c", "--action", "yes=Yes", "--action", "yes=No"], "--action 'yes=No': Another action"),
            (["--category", "c", "--text-action", "a=\(String(repeating: "x", count: 5000))"], "--text-action 'a=x"),
            (["--sender", "a\u{7}b"], "--sender: "), (["--id", String(repeating: "x", count: 5000)], "--id: "),
            (["--body", String(repeating: "x", count: 50_000)], "--body: "),
            (["--body", String(repeating: "x", count: 9000)], "at most 4096 bytes in all"),
            (
                ["--body", String(repeating: "x", count: 5000)],
                "larger than 4096 bytes, with all texts and actions. Shorten them."
            ),
        ])
        func `an error in what notify sends names the option`(arguments: [String], beginning: String) async throws {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(
                    ["notify", "--all", "--title", "T"] + arguments + ["--loopback"]
                )
                #expect(status == 2 && lines.joined().contains(beginning), "\(status) \(lines)")
                // The command has no such option.
                #expect(!lines.joined().contains("user info"))
            }
        }

        @Test func `errors of the daemon name the option`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--title", "Short", "--expire", "600", "--loopback"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, list) = try await NotificationsCommand.run(daemon, "list", "--json")
                    let key = String(try #require(list.firstMatch(of: /"key":"([0-9]+)"/)).output.1)
                    let (late, reason) = try await NotificationsCommand.run(daemon, "snooze", key, "--for", "1h")
                    #expect(late == 2 && reason.contains("--for: ") && !reason.contains("Seconds"), "\(reason)")
                    let long = String(repeating: "x", count: 600)
                    for (option, value) in [("--title", long), ("--subtitle", long), ("--sender", "a\u{7}b")] {
                        let title = option == "--title" ? [] : ["--title", "T"]
                        let (refused, text) = try await daemon.finish(
                            ["notifications", "schedule", "--loopback", "--in", "60", option, value] + title
                        )
                        #expect(refused == 2 && text.joined().contains("\(option): "), "\(text)")
                        #expect(!text.joined().contains("content.") && !text.joined().contains("applicationName"))
                    }
                }
            }
        }

        @Test func `a text may begin with a hyphen`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--loopback", "--title", "--- x ---", "--subtitle", "-5", "--body"]
                            + ["--wait=5 is long", "--sender", "-me-", "--text-action", "why=Why", "--category", "c"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, list) = try await NotificationsCommand.run(daemon, "list")
                    #expect(list.contains("“-me-” on this system: --- x --- – -5 – --wait=5 is long"), "\(list)")
                    let key = String(try #require(list.firstMatch(of: /([0-9]+)  “-me-/)).output.1)
                    let (answered, text) = try await NotificationsCommand.run(
                        daemon,
                        "answer",
                        key,
                        "why",
                        "--text",
                        "-5"
                    )
                    #expect(answered == 0 && text.hasSuffix(": -5"), "\(text)")
                    let texts = ["--title", "-1", "--subtitle", "-2", "--body", "- item", "--sender", "-me-"]
                    let (scheduled, line) = try await daemon.finish(
                        ["notifications", "schedule", "--loopback", "--in", "3600"] + texts
                    )
                    #expect(scheduled == 0, "\(line)")
                    let (_, pending) = try await NotificationsCommand.run(daemon, "pending")
                    #expect(pending.contains("-1 – -2 – - item"), "\(pending)")
                }
            }
        }
    }
}
