// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

extension HostDaemonTests.NotificationsCommand {
    /// `remotesystems notifications dismiss` and `permit`.
    @Suite struct Dismissing {
        private static func run(_ daemon: Daemon, _ arguments: String...) async throws -> (Int32, String) {
            let (status, lines) = try await daemon.finish(["notifications"] + arguments + ["--loopback"])
            return (status, lines.joined(separator: "\n"))
        }

        private static func notify(_ daemon: Daemon, _ title: String, sender: String = "Build") async throws {
            let (status, lines) = try await daemon.finish(
                ["notify", "--all", "--title", title, "--sender", sender, "--loopback"]
            )
            #expect(status == 0, "\(lines)")
        }

        private static func keys(_ daemon: Daemon) async throws -> [String] {
            try await Self.run(daemon, "list", "--json").1.matches(of: /"key":"([0-9]+)"/).map { String($0.output.1) }
        }

        @Test func `notifications are dismissed by their keys, or all, and an unknown key dismisses none`() async throws
        {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    for number in 1...4 { try await Self.notify(daemon, "Build \(number)") }
                    let keys = try await Self.keys(daemon)
                    #expect(keys.count == 4)
                    #expect(try await Self.run(daemon, "dismiss").0 == 64)
                    #expect(try await Self.run(daemon, "dismiss", keys[0], "--all").0 == 64)
                    let (unknown, reason) = try await Self.run(daemon, "dismiss", keys[0], "999")
                    #expect(unknown == 2 && reason.contains("'999'"), "\(reason)")
                    #expect(try await Self.keys(daemon) == keys)
                    let (status, text) = try await Self.run(daemon, "dismiss", keys[0], keys[2], "--json")
                    #expect(status == 0 && text.contains(#""event":"dismissed""#), "\(text)")
                    #expect(text.contains(#""count":2"#), "\(text)")
                    #expect(try await Self.keys(daemon) == [keys[1], keys[3]])
                    #expect(try await Self.run(daemon, "dismiss", "--all").0 == 0)
                    #expect(try await Self.run(daemon, "dismiss", "--all").0 == 1)
                    let (_, history) = try await Self.run(daemon, "history", "--json")
                    #expect(history.matches(of: /"end":"dismissed"/).count == 4, "\(history)")
                }
            }
        }

        @Test func `a permission for a name that is shown notes the id of the application`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    try await Self.notify(daemon, "Red", sender: "Build server")
                    let id = "remote-systems.command.notify"
                    let (_, text) = try await Self.run(daemon, "permit", "silent", "--application", "build server")
                    #expect(
                        text.contains("No notification of the application 'build server' is known here."),
                        "\(text)"
                    )
                    #expect(text.contains("the name that is shown for \(id)."), "\(text)")
                    let (_, other) = try await Self.run(daemon, "permit", "silent", "--application", "unknown")
                    #expect(other.contains("'unknown' is known here.") && other.contains("list --json"), "\(other)")
                    let (_, known) = try await Self.run(daemon, "permit", "silent", "--application", id)
                    #expect(!known.contains("is known here"), "\(known)")
                }
            }
        }

        @Test func `a permission takes the name of a system or the beginning of its id, and lists both`() async throws {
            try await Daemon.with { daemon in
                let id = try await daemon.addSystem("cellar")
                #expect(try await daemon.finish(["account", "rename", "kitchen"]).0 == 0)
                let own = try await daemon.finish(["account", "show", "--json"]).1.joined()
                let ownID = String(try #require(own.firstMatch(of: /"systemID":"([^"]+)"/)).output.1)
                try await daemon.whileRunning { _, _ in
                    let (status, text) = try await Self.run(
                        daemon,
                        "permit",
                        "denied",
                        "--system",
                        String(id.prefix(8))
                    )
                    #expect(status == 0 && text.contains("denied  all applications of \(id)"), "\(text)")
                    let (named, list) = try await Self.run(daemon, "permit", "silent", "--system", "kitchen")
                    #expect(named == 0, "\(list)")
                    #expect(list.contains("silent  all applications of \(ownID) (“kitchen”)"), "\(list)")
                    let (_, json) = try await Self.run(daemon, "permit", "--json")
                    #expect(json.contains(#""system":"kitchen""#), "\(json)")
                    for (text, hint) in [(String(id.prefix(3)), "at least four characters"), ("garage", "is called")] {
                        let (status, reason) = try await Self.run(daemon, "permit", "denied", "--system", text)
                        #expect(status == 2 && reason.contains(hint), "\(reason)")
                    }
                    // What is stored already can be removed.
                    for text in ["garage", "kitchen", String(id.prefix(4))] {
                        #expect(try await Self.run(daemon, "permit", "allowed", "--system", text).0 == 0)
                    }
                    #expect(try await Self.run(daemon, "permit").1.contains("Everything is allowed."))
                }
            }
        }
    }
}
