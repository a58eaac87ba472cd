// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension HostDaemonTests {
    /// `remotesystems notifications` and the daemon of the same system.
    @Suite struct NotificationsCommand {
        static func run(_ daemon: Daemon, _ arguments: String...) async throws -> (Int32, String) {
            let (status, lines) = try await daemon.finish(["notifications"] + arguments + ["--loopback"])
            return (status, lines.joined(separator: "\n"))
        }

        /// Sends a question, and returns its key.
        private static func ask(_ daemon: Daemon) async throws -> String {
            let (status, lines) = try await daemon.finish(
                ["notify", "--all", "--title", "Deploy?", "--action", "yes=Deploy", "--text-action", "why=Why"]
                    + ["--category", "deploy", "--loopback"]
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
                    // The command may have tried it again.
                    #expect(list.firstMatch(of: /not accepted: [1-9] beyond the limit/) != nil, "\(list)")
                    #expect(list.contains("beyond the limit  \(application) of "), "\(list)")
                    let (_, json) = try await Self.run(daemon, "permit", "--json")
                    #expect(json.contains(#""perHour":1"#) && json.firstMatch(of: /"limited":[1-9]/) != nil, "\(json)")
                }
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
                try await daemon.whileRunning(environment: ["REMOTE_SYSTEMS_HOST_NOTIFICATIONS": "false"]) { _, _ in
                    let (_, lines) = try await daemon.finish(doctor)
                    let finding = try #require(lines.first { $0.contains(#""code":"notifications""#) })
                    #expect(finding.contains(#""status":"warning""#) && finding.contains("setting 'notifications'"))
                    let (status, text) = try await daemon.finish(["notify", "--all", "--title", "T", "--loopback"])
                    #expect(status == 2, "\(text)")
                }
            }
        }
    }
}
