// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension CommandTests {
    /// `remotesystems activities`, with the processes of two systems on the loopback interface.
    @Suite struct Activities {
        private func offer(_ sandbox: Sandbox, _ arguments: String...) throws -> RunningCommand {
            try sandbox.start(["activities", "offer", "--loopback", "--json"] + arguments)
        }

        /// The offers that the desk lists, once there are as many.
        private func listed(_ count: Int, _ sandbox: Sandbox) async throws -> [JSONLine] {
            try await eventually("the offers in the list", within: .seconds(60)) { () -> [JSONLine]? in
                let list = try await sandbox.run("activities", "list", "--loopback", "--json", as: "desk")
                let offers = list.json.filter { $0["event"] as? String == "activity" }
                #expect(list.status == (offers.isEmpty ? 1 : 0))
                return offers.count == count ? offers : nil
            }
        }

        @Test func `an activity is offered, listed on another system, and printed there (H-09, H-11)`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let offering = try self.offer(
                    sandbox,
                    "com.example.reading",
                    "Book=Emma",
                    "Page:=17",
                    "--title",
                    "Emma, page 17"
                )
                let id = try #require(try await offering.event("offering")["id"] as? String)
                let listed = try #require(try await self.listed(1, sandbox).first)
                #expect(listed["id"] as? String == id)
                #expect(listed["type"] as? String == "com.example.reading")
                #expect(listed["title"] as? String == "Emma, page 17")
                let own = try await sandbox.run("activities", "current", "--loopback", "--json")
                #expect(own.event("activity")?["id"] as? String == id, "\(own)")
                // A system does not continue its own activities.
                let none = try await sandbox.run("activities", "list", "--loopback", "--json")
                #expect(none.status == 1 && none.event("activity") == nil, "\(none)")

                // The shell knows the ids and types of the offers. A busy machine may not respond within two seconds.
                for command in ["continue", "why-not"] {
                    let words = ["remotesystems", "activities", command, "--loopback", ""]
                    _ = try await eventually("the completion of \(command)", within: .seconds(30)) { () -> Bool? in
                        let completed = try await sandbox.start(
                            ["---completion", "activities", command, "--", "positional@0", "4", "0"] + words,
                            as: "desk"
                        ).finish().lines
                        return completed.contains(String(id.prefix(8))) && completed.contains("com.example.reading")
                            ? true : nil
                    }
                }

                let printed = try await sandbox.start(
                    ["activities", "continue", String(id.prefix(8)), "--print", "--loopback", "--json"],
                    as: "desk"
                ).finish()
                #expect(printed.status == 0, "\(printed)")
                let content = try #require(printed.event("content")?["content"] as? JSONLine)
                #expect(content["Book"] as? String == "Emma" && content["Page"] as? Int == 17)
                let finished = try await offering.finish()
                #expect(finished.status == 0, "\(finished)")
                let desk = try #require(try await sandbox.account("desk")["systemID"] as? String)
                #expect(finished.event("continued")?["systemID"] as? String == desk)
                #expect(try await self.listed(0, sandbox).isEmpty)
            }
        }

        @Test func `in a pipe, the list shows the whole type and title of an activity, to be copied`() async throws {
            try await Sandbox.withDesk { sandbox in
                let type = "com.example.reading.books-of-a-library"
                let title = String(repeating: "Emma ", count: 30) + "page 17"
                let offering = try self.offer(sandbox, type, "--title", title)
                _ = try await self.listed(1, sandbox)
                let lines = try await eventually("the offer in the list", within: .seconds(60)) { () -> [String]? in
                    let list = try await sandbox.run("activities", "list", "--loopback", as: "desk")
                    return list.status == 0 ? list.lines : nil
                }
                #expect(lines.contains { $0.contains(" \(type) ") && $0.hasSuffix(title) }, "\(lines)")
                offering.process.send(SIGTERM)
                #expect(try await offering.finish().status == 1)
            }
        }

        @Test func `an advice names the state directory whose settings it changes (H-97)`() async throws {
            try await Sandbox.withDesk { sandbox in
                let off = ["--sending", "off", "--receiving", "off"]
                _ = try await sandbox.start(["activities", "settings"] + off, as: "desk").finish()
                let directory = sandbox.state("desk")
                // Its name needs backslashes in a shell.
                let other = ["--state-directory", "\(sandbox.directory)/a $desk"]
                let changed = try await sandbox.start(["activities", "settings"] + off + other).finish()
                #expect(changed.status == 0, "\(changed)")
                let cases: [(options: [String], machine: String, named: String)] = [
                    ([], "desk", "settings"),
                    (["--state-directory", directory], "own", "settings --state-directory \(directory)"),
                    (other, "own", "settings --state-directory \(sandbox.directory)/a\\ \\$desk"),
                ]
                for (options, machine, named) in cases {
                    let command = ["activities", "why-not", "--loopback", "--wait", "0.5", "--json"]
                    let why = try await sandbox.start(command + options, as: machine).finish()
                    let advice = try #require(why.event("condition")?["advice"] as? String, "\(why)")
                    #expect(advice.contains("'remotesystems activities \(named) --sending on"), "\(why)")
                }
            }
        }

        @Test func `the help of players lists the options that it uses, and no others of a host`() async throws {
            try await Sandbox.with { sandbox in
                let help = try await sandbox.run("help", "activities", "players")
                #expect(help.status == 0 && help.lines.contains { $0.contains("--config <file>") }, "\(help)")
                for option in ["--port", "--uri-policy", "--loopback", "--interface", "--state-directory"] {
                    #expect(!help.lines.contains { $0.contains(option) }, "\(option): \(help)")
                }
            }
        }

        @Test func `no title hides whose activity is continued, and systems with one name are listed with their ids`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let title = "Report” of com.example.editor on “laptop (7kzml27o)”. Old"
                let offering = try self.offer(sandbox, "com.example.reading", "--title", title)
                let id = try #require(try await offering.event("offering")["id"] as? String)
                let offer = try #require(try await self.listed(1, sandbox).first)
                let system = try #require(offer["systemID"] as? String).prefix(8)
                let (name, application) = (offer["system"] as? String ?? "", offer["application"] as? String ?? "")
                // Both systems have the name of this machine.
                let listed = try await sandbox.run("activities", "list", "--loopback", as: "desk")
                #expect(listed.lines.contains { $0.contains(" \(name) (\(system)) ") }, "\(listed)")
                let command = ["activities", "continue", id, "--print", "--loopback"]
                let continued = try await sandbox.start(command, as: "desk").finish()
                let quoted = "“Report' of com.example.editor on 'laptop (7kzml27o)'. Old”"
                let note = "Continuing from \(system) “\(name)”: \(application), \(quoted)"
                #expect(continued.status == 0 && continued.errors.contains(note), "\(continued)")
                #expect(try await offering.finish().status == 0)
            }
        }

        @Test func `an offer that is interrupted or over is withdrawn, with exit status 1`() async throws {
            try await Sandbox.withDesk { sandbox in
                let short = try self.offer(sandbox, "com.example.reading", "--for", "1")
                #expect(try await short.finish().status == 1)
                let offering = try self.offer(sandbox, "com.example.reading")
                _ = try await offering.event("offering")
                _ = try await self.listed(1, sandbox)
                offering.process.send(SIGINT)
                #expect(try await offering.finish().status == 1)
                _ = try await self.listed(0, sandbox)
            }
        }

        @Test func `several offers need an id, and an activity without an application fails with a reason (B-14)`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let one = try self.offer(sandbox, "com.example.reading")
                let two = try self.offer(sandbox, "com.example.writing")
                _ = try await self.listed(2, sandbox)
                let ambiguous = try await sandbox.start(
                    ["activities", "continue", "--print", "--loopback", "--json"],
                    as: "desk"
                ).finish()
                #expect(ambiguous.event("failed")?["error"] as? String == "invalidArgument", "\(ambiguous)")
                let unhandled = try await sandbox.start(
                    ["activities", "continue", "com.example.writing", "--loopback", "--json"],
                    as: "desk"
                ).finish()
                #expect(unhandled.status == 2)
                #expect(unhandled.event("failed")?["error"] as? String == "noHandler", "\(unhandled)")
                let unknown = try await sandbox.start(
                    ["activities", "continue", "com.example.else", "--loopback", "--json"],
                    as: "desk"
                ).finish()
                #expect(unknown.status == 1, "\(unknown)")
                let misspelt = try await eventually("the offers", within: .seconds(60)) { () -> String? in
                    let ended = try await sandbox.start(
                        ["activities", "continue", "com.example.reeding", "--print", "--loopback"],
                        as: "desk"
                    ).finish()
                    #expect(ended.status == 1, "\(ended)")
                    return ended.errors.contains("com.example.writing on ") ? ended.errors : nil
                }
                #expect(misspelt.contains("'com.example.reeding'. Did you mean 'com.example.reading'?"))
                let id = try #require(try await one.event("offering")["id"] as? String)
                let printed = try await sandbox.start(
                    ["activities", "continue", id, "--print", "--loopback", "--json"],
                    as: "desk"
                ).finish()
                #expect(printed.status == 0 && printed.event("content") != nil, "\(printed)")
                #expect(try await one.finish().status == 0)
                two.process.send(SIGTERM)
                #expect(try await two.finish().status == 1)
            }
        }

        @Test func `an id that another application has copied continues nothing before its origin is stated`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let offering = try self.offer(
                    sandbox,
                    "com.example.reading",
                    "Page:=17",
                    "--application-id",
                    "com.example.reader"
                )
                let id = try #require(try await offering.event("offering")["id"] as? String)
                let topic = ApplicationTopic("org.remotesystems.activities")
                try topic.put(
                    id,
                    [
                        "Type": "com.example.reading", "Title": "Copied", "Lifetime": 600,
                        "Expires": .date(secondsSince1970: 4_000_000_000),
                    ]
                )
                var options = RemoteSystemHost.Options()
                options.features.append(HostFeature(topics: [topic]))
                let copying = RemoteSystemHost(
                    RemoteSystemsConfiguration(
                        applicationID: "com.example.copier",
                        network: .loopback,
                        stateDirectory: sandbox.state()
                    ),
                    services: [],
                    options: options
                )
                let running = Task { try await copying.run() }
                defer { running.cancel() }
                let listed = try await self.listed(2, sandbox)
                #expect(listed.allSatisfy { $0["id"] as? String == id })
                let command = ["activities", "continue", "--print", "--loopback", "--json"]
                // With the beginning of the id, which waits until both are found.
                let beginning = String(id.prefix(8))
                let refused = try await sandbox.start(command + [beginning], as: "desk").finish()
                let failed = try #require(refused.event("failed"), "\(refused)")
                #expect(failed["error"] as? String == "invalidArgument", "\(refused)")
                let message = try #require(failed["message"] as? String)
                #expect(message.contains("  com.example.reader  “") && message.contains("  com.example.copier  “"))
                #expect(message.contains("An id is unique unless a system copies it."), "\(message)")
                #expect(message.contains("activities continue \(id) --from APPLICATION'"), "\(message)")
                let why = try await sandbox.run("activities", "why-not", id, "--loopback", "--json", as: "desk")
                #expect(why.json.last?["condition"] as? String == "offered" && why.status == 1, "\(why)")
                // With the whole id, it is continued as soon as this application's offer is found.
                let printed = try await sandbox.start(
                    command + [id, "--from", "com.example.reader"],
                    as: "desk"
                ).finish()
                #expect(printed.status == 0, "\(printed)")
                #expect(printed.event("continuing")?["application"] as? String == "com.example.reader", "\(printed)")
                let content = try #require(printed.event("content")?["content"] as? JSONLine, "\(printed)")
                #expect(content["Page"] as? Int == 17)
                #expect(try await offering.finish().status == 0)
            }
        }

        @Test func `without an application, the default browser opens the address (H-79, B-01, B-15)`() async throws {
            try await Sandbox.withDesk { sandbox in
                let (data, opened) = ("\(sandbox.directory)/data", "\(sandbox.directory)/opened")
                let script = "\(sandbox.directory)/browser"
                try writeProgram("#!/bin/sh\necho \"$1\" > '\(opened)'\n", to: script)
                try Sandbox.installBrowser(script, in: data)
                let offering = try self.offer(
                    sandbox,
                    "com.example.reading",
                    "--webpage",
                    "https://example.com/emma?page=17"
                )
                _ = try await offering.event("offering")
                _ = try await self.listed(1, sandbox)
                let continued = try await sandbox.start(
                    ["activities", "continue", "--loopback", "--json"],
                    as: "desk",
                    around: ["env", "XDG_DATA_HOME=\(data)", "XDG_CONFIG_HOME=\(data)", "HOME=\(sandbox.directory)"]
                ).finish()
                #expect(continued.status == 0, "\(continued)")
                #expect(continued.event("continued")?["application"] as? String == "browser", "\(continued)")
                // The command says why it is no application.
                #expect(
                    continued.event("continued")?["reasons"] as? [String]
                        == ["No application of this system continues activities of the type com.example.reading."],
                    "\(continued)"
                )
                let address = try await eventually("the address") { () -> String? in
                    // The shell makes the file before it writes to it.
                    (try? String(contentsOfFile: opened, encoding: .utf8)).flatMap { $0.hasSuffix("\n") ? $0 : nil }
                }
                #expect(address == "https://example.com/emma?page=17\n")
                #expect(try await offering.finish().status == 0)
            }
        }

        @Test func `without a browser, nothing is continued, and the activity remains offered (H-79, H-97, B-15)`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let offering = try self.offer(sandbox, "com.example.reading", "--web", "https://example.com/")
                _ = try await offering.event("offering")
                _ = try await self.listed(1, sandbox)
                let nowhere = ["XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"].map {
                    "\($0)=\(sandbox.directory)/nowhere"
                }
                let continued = try await sandbox.start(
                    ["activities", "continue", "--loopback", "--json"],
                    as: "desk",
                    around: ["env", "HOME=\(sandbox.directory)"] + nowhere
                ).finish()
                let failed = try #require(continued.event("failed"), "\(continued)")
                #expect(continued.status == 2 && failed["error"] as? String == "noHandler", "\(continued)")
                // Also why it is no application.
                #expect(
                    failed["message"] as? String
                        == "No application that opens https: URIs is installed here. No application of this system "
                        + "continues activities of the type com.example.reading.",
                    "\(continued)"
                )
                let why = try await sandbox.start(
                    ["activities", "why-not", "--loopback", "--json"],
                    as: "desk",
                    around: ["env", "HOME=\(sandbox.directory)"] + nowhere
                ).finish()
                let handled = why.json.first { $0["condition"] as? String == "handled" }
                #expect(why.status == 1 && handled?["isMet"] as? Bool == false, "\(why)")
                _ = try await self.listed(1, sandbox)
                offering.process.send(SIGTERM)
                #expect(try await offering.finish().status == 1)
            }
        }

        @Test func `what may be sent is a setting that a running offer follows, and why-not names it (X-14, H-97)`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let offering = try self.offer(sandbox, "com.example.reading", "--application-id", "com.example.reader")
                _ = try await offering.event("offering")
                _ = try await self.listed(1, sandbox)
                let off = try await sandbox.start(
                    ["activities", "settings", "--application", "com.example.reader", "--sending", "off"]
                ).finish()
                #expect(off.status == 0 && off.lines.last == "com.example.reader: sending off, receiving on", "\(off)")
                _ = try await self.listed(0, sandbox)
                let current = try await sandbox.run("activities", "current", "--loopback")
                #expect(current.errors.contains("Sending is off for com.example.reader."), "\(current)")
                let own = try await sandbox.run("activities", "why-not", "--loopback", "--json")
                let permitted = own.json.first?["message"] as? String
                #expect(permitted?.contains("Sending is off for com.example.reader.") == true, "\(own)")
                let why = try await sandbox.run("activities", "why-not", "--loopback", "--json", as: "desk")
                #expect(why.status == 1, "\(why)")
                let last = try #require(why.json.last)
                #expect(last["condition"] as? String == "offered" && last["isMet"] as? Bool == false, "\(why)")
                // It is still the application's current activity, and offered again when the user permits it.
                _ = try await sandbox.start(
                    ["activities", "settings", "--application", "com.example.reader", "--sending", "on"]
                ).finish()
                _ = try await self.listed(1, sandbox)
                let unhandled = try await sandbox.run("activities", "why-not", "--loopback", "--json", as: "desk")
                #expect(unhandled.json.last?["condition"] as? String == "handled", "\(unhandled)")
                let cause = unhandled.json.last?["message"] as? String
                #expect(cause?.contains("The host daemon of this system") == true, "\(unhandled)")
                // The application for which receiving is off is named, whether or not it is installed.
                let reader = ["--application", "com.example.reader"]
                _ = try await sandbox.start(
                    ["activities", "settings", "--receiving", "off"] + reader,
                    as: "desk"
                ).finish()
                let one = try await sandbox.start(
                    ["activities", "continue", "--loopback", "--json"] + reader,
                    as: "desk"
                ).finish()
                #expect(one.event("failed")?["error"] as? String == "disabled", "\(one)")
                _ = try await sandbox.run("activities", "settings", "--receiving", "off", as: "desk")
                let disabled = try await sandbox.run("activities", "continue", "--loopback", "--json", as: "desk")
                #expect(disabled.event("failed")?["error"] as? String == "disabled", "\(disabled)")
                let refused = try await sandbox.start(
                    ["activities", "continue", "--print", "--loopback", "--json"],
                    as: "desk"
                ).finish()
                #expect(refused.event("failed")?["error"] as? String == "disabled", "\(refused)")
                offering.process.send(SIGTERM)
                #expect(try await offering.finish().status == 1)
            }
        }

        @Test func `a setting of an application that does not exist is kept with a warning that names a similar one`()
            async throws
        {
            try await Sandbox.withDesk { sandbox in
                let offering = try self.offer(sandbox, "com.example.reading", "--application-id", "com.example.reader")
                _ = try await offering.event("offering")
                func change(_ id: String, _ choice: String) async throws -> FinishedCommand {
                    try await sandbox.start(["activities", "settings", "--application", id, "--sending", choice])
                        .finish()
                }
                let mistyped = try await change("com.example.raeder", "off")
                #expect(mistyped.status == 0, "\(mistyped)")
                #expect(mistyped.lines.last == "com.example.raeder: sending off, receiving on", "\(mistyped)")
                let warning = "warning: No application 'com.example.raeder' is installed here or runs now. "
                #expect(mistyped.errors.contains("\(warning)Did you mean 'com.example.reader'?"), "\(mistyped)")
                let other = try await change("net.other.unlike", "off")
                #expect(other.errors.contains("There are: com.example.reader, org.remotesystems."), "\(other)")
                // What exists, and what removes a setting, need no warning.
                for (id, choice) in [("com.example.raeder", "on"), ("com.example.reader", "off")] {
                    let silent = try await change(id, choice)
                    #expect(silent.status == 0 && !silent.errors.contains("warning"), "\(silent)")
                }
                offering.process.send(SIGTERM)
                _ = try await offering.finish()
            }
        }

        @Test(arguments: [
            ["activities", "continue", ""], ["activities", "offer", "bad type"],
            ["activities", "offer", "com.example.reading", "--web", "ftp://example.com/"],
            ["activities", "settings", "--application", "bad id", "--sending", "off"],
            ["app", "init", "bad id", "--exec", "/bin/true"],
            ["app", "init", "com.example.editor", "--exec", "/bin/true", "--activity-type", "bad type"],
        ])
        func `arguments that can never be right are usage errors`(arguments: [String]) async throws {
            try await Sandbox.with { sandbox in
                let refused = try await sandbox.start(arguments).finish()
                #expect(refused.status == 64, "\(refused)")
            }
        }

        @Test func `content that no system could receive is refused with its size, and not offered (X-01)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let offering = try self.offer(
                    sandbox,
                    "com.example.big",
                    "Text=" + String(repeating: "x", count: 70_000)
                )
                let refused = try await offering.finish()
                #expect(refused.status == 2 && refused.event("offering") == nil, "\(refused)")
                let failed = try #require(refused.event("failed"))
                #expect(failed["error"] as? String == "payloadTooLarge", "\(failed)")
                let message = failed["message"] as? String ?? ""
                let bytes = message.firstMatch(of: /has ([0-9]+) bytes; at most 65536/).flatMap { Int($0.1) }
                #expect((bytes ?? 0) > 70_000, "\(message)")
            }
        }

        @Test func `an offer while sending is switched off says so, and damaged settings are an error (X-14)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let off = try await sandbox.start(["activities", "settings", "--sending", "off"]).finish()
                #expect(off.status == 0)
                let offering = try self.offer(sandbox, "com.example.reading")
                #expect(try await offering.event("offering")["isPermitted"] as? Bool == false)
                offering.process.send(SIGTERM)
                _ = try await offering.finish()
                let explained = try sandbox.start(["activities", "offer", "--loopback", "com.example.reading"])
                _ = try await eventually("the remedy", within: .seconds(60)) {
                    explained.errors.contains("activities settings --sending on") ? true : nil
                }
                explained.process.send(SIGTERM)
                _ = try await explained.finish()
                let path = "\(sandbox.state())/hand-off.json"
                try "{".write(toFile: path, atomically: true, encoding: .utf8)
                let refused = try await self.offer(sandbox, "com.example.reading").finish()
                #expect(refused.status == 2 && refused.event("offering") == nil, "\(refused)")
            }
        }

        @Test(arguments: [
            ["offer", "com.example.reading", "--title", String(repeating: "x", count: 513)], ["offer", "nodots"],
            ["offer", "com.example.reading", "--for", "0"],
            ["offer", "com.example.reading", "--web", "ftp://example.com/"],
            ["offer", "com.example.reading", "--web", "https://me:secret@example.com/"],
            ["offer", "com.example.reading", "A=1", "A=2"], ["continue", "--print", "--in", "com.example.editor"],
            ["continue", "--from", ""],
            ["settings", "--application", "com.example.editor"], ["settings", "--sending", "maybe"],
        ])
        func `what cannot be offered is refused, without the secrets in it`(arguments: [String]) async throws {
            try await Sandbox.with { sandbox in
                let refused = try await sandbox.start(
                    ["activities"] + arguments + (arguments[0] == "settings" ? [] : ["--loopback"])
                ).finish()
                #expect(refused.status != 0 && refused.status != 1, "\(refused)")
                #expect(!refused.errors.isEmpty && !refused.errors.contains("secret"), "\(refused)")
            }
        }
    }
}
