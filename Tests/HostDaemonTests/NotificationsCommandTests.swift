// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension HostDaemonTests {
    /// `remotesystems notifications` and the daemon of the same system.
    @Suite struct NotificationsCommand {
        private static func run(_ daemon: Daemon, _ arguments: String...) async throws -> (Int32, String) {
            let (status, lines) = try await daemon.finish(["notifications"] + arguments + ["--loopback"])
            return (status, lines.joined(separator: "\n"))
        }

        /// Sends a question, and returns its key.
        private static func ask(_ daemon: Daemon) async throws -> String {
            let (status, lines) = try await daemon.finish(
                ["notify", "--all", "--title", "Deploy?", "--action", "yes=Deploy", "--text-action", "why=Why"]
                    + ["--loopback"]
            )
            #expect(status == 0, "\(lines)")
            let (_, list) = try await Self.run(daemon, "list", "--json")
            // The id of the system always, its name only if it is another one.
            #expect(list.contains(#""systemID":""#) && !list.contains(#""system":""#), "\(list)")
            return String(try #require(list.firstMatch(of: /"key":"([0-9]+)"/)).output.1)
        }

        @Test func `what has ended is listed with its key, and deleted one by one or as a whole`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    #expect(try await Self.run(daemon, "history").0 == 1)
                    for answer in ["yes", "dismiss", "default"] {
                        #expect(try await Self.run(daemon, "answer", try await Self.ask(daemon), answer).0 == 0)
                    }
                    let (_, history) = try await Self.run(daemon, "history")
                    // A date, a time, the end with the action, two spaces, the key, the texts.
                    let ends = history.matches(of: /(?m)^\S+ \S+ (\S.*?)  ([0-9]+) {2}/).map(\.output)
                    #expect(
                        ends.map { String($0.1) } == ["answered default", "dismissed", "answered yes"],
                        "\(history)"
                    )
                    let key = String(try #require(ends.dropFirst().first?.2))
                    #expect(try await Self.run(daemon, "history", "--delete", "--limit", "1").0 == 64)
                    let (unknown, reason) = try await Self.run(daemon, "history", "--delete", "--key", "999")
                    #expect(unknown == 1 && reason.contains("'999'") && !reason.contains("deleted"), "\(reason)")
                    #expect(try await Self.run(daemon, "history", "--delete", "--key", key).0 == 0)
                    let (_, rest) = try await Self.run(daemon, "history", "--limit", "10", "--json")
                    let lines = rest.split(separator: "\n")
                    #expect(lines.count == 2 && lines.allSatisfy { $0.contains(#""end":"answered""#) }, "\(rest)")
                    #expect(lines.last?.contains(#""action":"yes""#) == true, "\(rest)")
                    #expect(try await Self.run(daemon, "history", "--limit", "1").1.split(separator: "\n").count == 1)
                    #expect(try await Self.run(daemon, "history", "--delete").0 == 0)
                    #expect(try await Self.run(daemon, "history", "--delete").0 == 1)
                    #expect(try await Self.run(daemon, "history").0 == 1)
                }
            }
        }

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

        @Test func `a --wait below its range is refused with the range, with or without an equals sign`() async throws {
            try await Daemon.with { daemon in
                for wait in [["--wait=-5"], ["--wait", "-5"], ["--wait=-inf"], ["--wait", "-0.5"]] {
                    let (status, lines) = try await daemon.finish(
                        ["notify"] + wait + ["--all", "--title", "T", "--loopback"]
                    )
                    #expect(status == 64 && lines.joined().contains("--wait takes 1 to 2592000"), "\(lines)")
                }
            }
        }

        @Test func `no text and no sender of a notification looks like another sender`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--loopback", "--title", "Pay?  (Bank on laptop)  [read]"]
                            + ["--sender", "Bank” on “laptop"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, list) = try await Self.run(daemon, "list")
                    let line = "  “Bank' on 'laptop” on this system: Pay?  (Bank on laptop)  [read]"
                    #expect(list.contains(line), "\(list)")
                }
            }
        }

        @Test func `a text may begin with a hyphen`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--loopback", "--title", "--- x ---", "--subtitle", "-5", "--body"]
                            + ["--wait=5 is long", "--sender", "-me-", "--text-action", "why=Why"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, list) = try await Self.run(daemon, "list")
                    #expect(list.contains("“-me-” on this system: --- x --- – -5 – --wait=5 is long"), "\(list)")
                    let key = String(try #require(list.firstMatch(of: /([0-9]+)  “-me-/)).output.1)
                    let (answered, text) = try await Self.run(daemon, "answer", key, "why", "--text", "-5")
                    #expect(answered == 0 && text.hasSuffix(": -5"), "\(text)")
                    let texts = ["--title", "-1", "--subtitle", "-2", "--body", "- item", "--sender", "-me-"]
                    let (scheduled, line) = try await daemon.finish(
                        ["notifications", "schedule", "--loopback", "--in", "3600"] + texts
                    )
                    #expect(scheduled == 0, "\(line)")
                    let (_, pending) = try await Self.run(daemon, "pending")
                    #expect(pending.contains("-1 – -2 – - item"), "\(pending)")
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

        @Test func `a permission for an unknown system is kept, with a note`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let own = try await daemon.finish(["account", "show", "--json"]).1.joined()
                    let known = String(try #require(own.firstMatch(of: /"systemID":"([^"]+)"/)).output.1)
                    let unknown = String(known.dropLast(4)) + (known.hasSuffix("aaaa") ? "bbbb" : "aaaa")
                    for (id, isKnown) in [(known, true), (unknown, false)] {
                        let (status, text) = try await Self.run(daemon, "permit", "silent", "--system", id)
                        #expect(status == 0 && text.contains("silent  all applications of \(id)"), "\(text)")
                        #expect(text.contains("No system of the account") != isKnown, "\(text)")
                    }
                    let (_, list) = try await Self.run(daemon, "permit", "--json")
                    #expect(list.contains(#""systemID":"\#(unknown)""#), "\(list)")
                }
            }
        }

        @Test func `a sender is limited, and what was not accepted is listed (X-56)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let application = "remote-systems.command.notify"
                    for arguments in [
                        ["denied", "--per-hour", "1"], ["silent", "--per-hour", "0"], ["--per-hour", "1"],
                    ] {
                        let (status, text) = try await daemon.finish(["notifications", "permit"] + arguments)
                        #expect(status == 64, "\(text)")
                    }
                    let (status, text) = try await Self.run(
                        daemon,
                        "permit",
                        "allowed",
                        "--per-hour",
                        "1",
                        "--application",
                        application
                    )
                    #expect(status == 0 && text.contains("allowed, 1 an hour  \(application)"), "\(text)")
                    for (title, isAccepted) in [("First", true), ("Second", false)] {
                        let (status, lines) = try await daemon.finish([
                            "notify", "--all", "--title", title, "--loopback",
                        ])
                        #expect((status == 0) == isAccepted, "\(lines)")
                        #expect(lines.joined().contains("permits 1 of these") != isAccepted, "\(lines)")
                    }
                    let (_, list) = try await Self.run(daemon, "permit")
                    #expect(list.contains("not accepted: 1 beyond the limit  \(application) of "), "\(list)")
                    let (_, json) = try await Self.run(daemon, "permit", "--json")
                    #expect(json.contains(#""perHour":1"#) && json.contains(#""limited":1"#), "\(json)")
                }
            }
        }

        @Test(arguments: [
            (["--action", "yes=Yes", "--action", "yes=No"], "--action 'yes=No': Another action"),
            (["--text-action", "a=\(String(repeating: "x", count: 5000))"], "--text-action 'a=x"),
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

        @Test func `a notification without a view is not opened, and the reason is stated (N-13)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let key = try await Self.ask(daemon)
                    for (argument, hint) in [
                        ("999", "No notification with the key '999'"), (key, "has no view that can be shown"),
                    ] {
                        let (status, lines) = try await daemon.finish(["notifications", "open", argument, "--loopback"])
                        #expect(status == 2 && lines.joined().contains(hint), "\(lines)")
                    }
                    // It waits as before.
                    #expect(try await Self.run(daemon, "list").0 == 0)
                }
            }
        }

        @Test func `a view whose program does not exist is not opened (N-13)`() async throws {
            try await Daemon.with { daemon in
                let program = "\(daemon.directory)/missing"
                try """
                {"id": "test.calendar", "start": {"exec": ["/bin/true"]},
                 "notificationContentExtensions": [{"exec": ["\(program)"], "categories": "invite"}]}
                """.write(
                    toFile: "\(daemon.directory)/data/remote-systems/applications/test.calendar.json",
                    atomically: true,
                    encoding: .utf8
                )
                // Nothing is shown there.
                try await daemon.whileRunning(environment: ["DISPLAY": ":999"]) { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--title", "T", "--category", "invite", "--application", "test.calendar"]
                            + ["--loopback"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, list) = try await Self.run(daemon, "list", "--json")
                    let key = String(try #require(list.firstMatch(of: /"key":"([0-9]+)"/)).output.1)
                    let (opened, text) = try await Self.run(daemon, "open", key)
                    #expect(opened == 2 && text.contains("cannot be run: there is no file \(program)."), "\(text)")
                    #expect(try await Self.run(daemon, "list").0 == 0)
                }
            }
        }

        @Test func `a watch goes on with a daemon that was restarted, and states how notifications end`() async throws {
            try await Daemon.with { daemon in
                var (kept, watching) = ("", [ChildProcess]())
                try await daemon.whileRunning { _, _ in
                    kept = try await Self.ask(daemon)
                    for arguments in [[], ["--json"]] {
                        let command = try daemon.command(["notifications", "watch", "--loopback"] + arguments)
                        watching.append(command)
                        _ = try await eventually("it is listed", within: .seconds(60)) {
                            command.lines.contains { $0.contains("Deploy?") } ? true : nil
                        }
                    }
                }
                let (text, json) = (watching[0], watching[1])
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish([
                        "notify", "--all", "--loopback", "--title", "Second",
                    ])
                    #expect(status == 0, "\(lines)")
                    for command in [text, json] {
                        _ = try await eventually("the second one is listed", within: .seconds(60)) {
                            command.lines.contains { $0.contains("Second") } ? true : nil
                        }
                    }
                    #expect(try await Self.run(daemon, "answer", kept, "yes").0 == 0)
                    _ = try await json.event("answered")
                    _ = try await eventually("its end is listed", within: .seconds(60)) {
                        text.lines.contains { $0.contains(" - answered \(kept)  from this system: Deploy?") }
                            ? true : nil
                    }
                }
                // It was listed once, although the second daemon has it too.
                #expect(json.lines.count { $0.contains("Deploy?") && $0.contains(#""event":"delivered""#) } == 1)
                #expect(text.lines.contains { $0.hasPrefix("The host daemon has ended.") })
                for command in [text, json] {
                    command.send(SIGINT)
                    #expect(try await command.exit(within: .seconds(60)) == 0)
                }
            }
        }

        @Test func `an answer is reported, and one that is not valid is refused with a hint`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let key = try await Self.ask(daemon)
                    let refused = [
                        (["999", "yes"], "No notification with the key '999'"),
                        ([key, "yess"], "Its actions: default, dismiss, why and yes."),
                        ([key, "why"], "Give it with --text."),
                        ([key, "yes", "--text", "now"], "Omit --text."),
                    ]
                    for (arguments, hint) in refused {
                        let (status, lines) = try await daemon.finish(
                            ["notifications", "answer", "--loopback"] + arguments
                        )
                        #expect(status == 2 && lines.joined().contains(hint), "\(lines)")
                    }
                    let (status, text) = try await Self.run(daemon, "answer", key, "why", "--text", "It is late")
                    #expect(status == 0 && text == "answered: Deploy? – why (Why): It is late", "\(text)")
                    let second = try await Self.ask(daemon)
                    let (_, json) = try await Self.run(daemon, "answer", second, "yes", "--json")
                    #expect(json.contains(#""action":"yes","event":"answered""#), "\(json)")
                }
            }
        }

        @Test func `notifications of a thread are listed together, and selected by thread and criterion (X-60)`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    for (title, keys) in [
                        ("First", #""thread-id":"builds","filter-criteria":"work""#), ("Other", #""badge":1"#),
                        ("Best", #""thread-id":"builds","relevance-score":0.5,"target-content-id":"w""#),
                    ] {
                        let path = "\(daemon.directory)/\(title).json"
                        try #"{"aps":{"alert":{"title":"\#(title)"},\#(keys)}}"#
                            .write(toFile: path, atomically: true, encoding: .utf8)
                        let (status, lines) = try await daemon.finish(
                            ["notify", "--all", "--payload", path, "--loopback"]
                        )
                        #expect(status == 0, "\(lines)")
                    }
                    func titles(_ arguments: String...) async throws -> [String] {
                        let (_, lines) = try await daemon.finish(
                            ["notifications"] + arguments + ["--loopback", "--json"]
                        )
                        return lines.compactMap {
                            $0.firstMatch(of: /"title":"([A-Za-z]+)"/).map { String($0.output.1) }
                        }
                    }
                    let (all, thread) = (try await titles("list"), try await titles("list", "--thread", "builds"))
                    #expect(all == ["Best", "First", "Other"])
                    #expect(thread == ["Best", "First"])
                    let work = try await titles("list", "--filter", "work")
                    #expect(work == ["First"])
                    let (_, list) = try await Self.run(daemon, "list")
                    #expect(list.contains("[thread builds]"), "\(list)")
                    let (_, json) = try await Self.run(daemon, "list", "--json")
                    #expect(json.contains(#""target":"w""#) && json.contains(#""filter":"work""#), "\(json)")
                    #expect(json.contains(#""relevance":0.5"#) && json.contains(#""thread":"builds""#), "\(json)")
                    #expect(try await Self.run(daemon, "list", "--filter", "play").0 == 1)
                    for key in json.matches(of: /"key":"([0-9]+)"/).map({ String($0.output.1) }) {
                        #expect(try await Self.run(daemon, "answer", key, "dismiss").0 == 0)
                    }
                    let history = try await titles("history", "--filter", "work", "--limit", "1")
                    #expect(history == ["First"])
                    let ended = try await titles("history")
                    #expect(ended == ["Other", "Best", "First"])
                    #expect(try await Self.run(daemon, "history", "--delete", "--filter", "work").0 == 64)
                }
            }
        }

        @Test func `a notification is snoozed and marked as read, and the list shows both`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let key = try await Self.ask(daemon)
                    for time in ["59s", "31d", "10x", "m", "-1", ""] {
                        let (status, text) = try await Self.run(daemon, "snooze", key, "--for", time)
                        #expect(status == 64 && text.contains("--for takes 1m to 30d"), "\(time): \(text)")
                    }
                    let (unknown, reason) = try await Self.run(daemon, "snooze", "999", "--for", "10m")
                    #expect(unknown == 2 && reason.contains("No notification with the key '999'"), "\(reason)")
                    let (status, text) = try await Self.run(daemon, "snooze", key, "--for", "10m")
                    #expect(status == 0 && text.hasPrefix("snoozed: \(key) until 2"), "\(text)")
                    let (opened, hidden) = try await Self.run(daemon, "open", key)
                    let time = try #require(text.firstMatch(of: /until (\S+ \S+)/)).output.1
                    #expect(opened == 2 && hidden.contains("is snoozed until \(time)."), "\(hidden)")
                    #expect(try await Self.run(daemon, "read").0 == 64)
                    #expect(try await Self.run(daemon, "read", key, "--all").0 == 64)
                    let (missing, hint) = try await Self.run(daemon, "read", key, "999")
                    #expect(missing == 2 && hint.contains("No notification with the key '999'"), "\(hint)")
                    #expect(try await Self.run(daemon, "read", key).0 == 0)
                    #expect(try await Self.run(daemon, "read", "--all").0 == 1)
                    let (_, list) = try await Self.run(daemon, "list")
                    #expect(list.contains("[read, snoozed until 2"), "\(list)")
                    let (_, json) = try await Self.run(daemon, "list", "--json")
                    #expect(json.contains(#""isRead":true"#) && json.contains(#""snoozedUntil":"2"#), "\(json)")
                }
            }
        }

        @Test func `errors of the daemon name the option`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--all", "--title", "Short", "--expire", "600", "--loopback"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, list) = try await Self.run(daemon, "list", "--json")
                    let key = String(try #require(list.firstMatch(of: /"key":"([0-9]+)"/)).output.1)
                    let (late, reason) = try await Self.run(daemon, "snooze", key, "--for", "1h")
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

        @Test func `what is scheduled is listed with its sender and its attachments`() async throws {
            try await Daemon.with { daemon in
                let file = "\(daemon.directory)/song.mp3"
                try Data("ID3\u{3} music".utf8).write(to: URL(filePath: file))
                try await daemon.whileRunning { _, _ in
                    let (status, lines) = try await daemon.finish(
                        ["notifications", "schedule", "--loopback", "--in", "3600", "--title", "Tea", "--attach", file]
                            + ["--sender", "Kitchen"]
                    )
                    #expect(status == 0, "\(lines)")
                    let (_, text) = try await Self.run(daemon, "pending")
                    #expect(
                        text.contains("Tea  (Kitchen, remote-systems.command.notifications)\n    a sound, '"),
                        "\(text)"
                    )
                    let (_, json) = try await Self.run(daemon, "pending", "--json")
                    #expect(json.contains(#""sender":"Kitchen""#), "\(json)")
                }
            }
        }

        @Test func `without a daemon, the remedy is the host daemon`() async throws {
            try await Daemon.with { daemon in
                let (status, text) = try await Self.run(daemon, "list", "--search-time", "0.5")
                #expect(status == 2 && text.contains("'remotesystems host run'"), "\(text)")
                let doctor = ["doctor", "--loopback", "--json", "--port", "0"]
                let (_, without) = try await daemon.finish(doctor)
                let warning = try #require(without.first { $0.contains(#""code":"notifications""#) })
                #expect(warning.contains(#""status":"warning""#) && warning.contains("remotesystems host run"))
                try await daemon.whileRunning { _, _ in
                    let (_, lines) = try await daemon.finish(doctor)
                    let finding = try #require(lines.first { $0.contains(#""code":"notifications""#) })
                    #expect(finding.contains(#""status":"ok""#), "\(finding)")
                }
            }
        }

        @Test func `a scheduled notification is cancelled by the beginning of its id`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    for id in ["tea-green", "tea-black", "coffee"] {
                        let (status, text) = try await Self.run(
                            daemon,
                            "schedule",
                            "--in",
                            "3600",
                            "--title",
                            "Ready",
                            "--id",
                            id
                        )
                        #expect(status == 0, "\(text)")
                    }
                    let (ambiguous, text) = try await Self.run(daemon, "cancel", "tea-")
                    #expect(ambiguous == 2 && text.contains("tea-black and tea-green"), "\(text)")
                    #expect(try await Self.run(daemon, "cancel", "cof").0 == 1)
                    #expect(try await Self.run(daemon, "cancel", "coff", "tea-g").0 == 0)
                    let (_, pending) = try await Self.run(daemon, "pending")
                    #expect(pending.contains("tea-black") && !pending.contains("tea-green"))
                    #expect(!pending.contains("coffee"))
                    // As of another system, which is named.
                    let own = try await daemon.finish(["account", "show", "--json"]).1.joined()
                    let id = String(try #require(own.firstMatch(of: /"systemID":"([^"]+)"/)).output.1)
                    let (status, named) = try await Self.run(daemon, "pending", id)
                    #expect(status == 0 && named.contains("tea-black"), "\(named)")
                    #expect(try await Self.run(daemon, "pending", "").0 == 64)
                }
            }
        }

        @Test(
            arguments: [
                (["--in", "60", "--title", ""], "--title, --subtitle or --body"),
                (["--at", "2020-01-01T10:00", "--title", "Over"], "--at: There is no such date in the future."),
                (["--in", "0", "--title", "Now"], "--in: The interval must be"),
                (["--near", "1,2", "--radius", "5", "--title", "Near"], "--radius: The radius must be from 10"),
                (["--near", "91,2", "--title", "Far"], "--near: The latitude must be from -90"),
            ]
        )
        func `what cannot be shown is refused, and the option is named`(options: [String], reason: String) async throws
        {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(["notifications", "schedule", "--loopback"] + options)
                #expect(status == 64 && lines.joined().contains(reason), "\(lines)")
            }
        }
    }
}
