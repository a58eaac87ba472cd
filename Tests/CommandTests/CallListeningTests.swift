// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension CommandTests {
    /// `call --listen` against a service in this process that sends requests.
    @Suite struct Listening {
        /// Sends three requests to each caller. The last one contains how the first was acknowledged.
        private struct StateChange: AppServiceProvider {
            func respond(to request: AppServiceRequest) async throws -> ValueSet { ["Subscribed": 1.0] }

            func connectionOpened(_ connection: AppServiceConnection, by caller: AppServiceCaller) {
                guard caller.claimedApplicationID == "remote-systems.command.call" else { return }
                Task {
                    let first = try await connection.send(["Headline": "one", "Degrees": 22.0])
                    _ = try await connection.send(["Headline": "two"])
                    _ = try await connection.send(["Headline": "three", "First": .string("\(first.status)")])
                }
            }
        }

        private static let change = AppService(
            "test.topics",
            requestSchema: .full,
            responseSchema: .full,
            provider: StateChange()
        )

        @Test func `requests from a service are printed and acknowledged until the count is reached`() async throws {
            try await Calling.with([Self.change]) { sandbox, address in
                let finished = try await sandbox.start([
                    "call", address, "test.topics", "--loopback", "--listen", "--count", "3", "--json",
                ]).finish()
                #expect(finished.status == 0, "\(finished.errors)")
                let messages = finished.json.filter { $0["event"] as? String == "request" }
                    .compactMap { $0["message"] as? JSONLine }
                #expect(messages.compactMap { $0["Headline"] as? String } == ["one", "two", "three"])
                #expect(messages.last?["First"] as? String == "success")
            }
        }

        @Test func `given fields are sent as a first message, and numbers are printed as they are written`()
            async throws
        {
            try await Calling.with([Self.change]) { sandbox, address in
                let finished = try await sandbox.start([
                    "call", address, "test.topics", "Topic=weather", "--loopback", "--follow", "--count", "1",
                ]).finish()
                #expect(finished.status == 0, "\(finished.errors)")
                let text = finished.lines.joined(separator: "\n")
                #expect(text.contains("\"Subscribed\" : 1.0"), "\(text)")
                #expect(text.contains("\"Degrees\" : 22.0"), "\(text)")
                #expect(!text.contains("$double"))
            }
        }
    }

    @Suite struct Spelling {
        @Test(arguments: [
            (["lst"], "'remotesystems' has no subcommand 'lst'. Did you mean 'list'?"),
            (["account", "jion"], "'remotesystems account' has no subcommand 'jion'. Did you mean 'join'?"),
            (["account", "shwo"], "Usage: remotesystems account <subcommand>"),
            (["lst"], "Usage: remotesystems <subcommand>"),
            (["host", "chek"], "Did you mean 'check'?"), (["help", "pnig"], "Did you mean 'ping'?"),
            (["list", "--filter", "knd=laptop"], "Did you mean 'kind'?"),
            (["list", "--filter", "platform=linus"], "Did you mean 'linux'?"),
            (["topic", "jsn"], "Did you mean 'json'?"),
            (["call", "atlas", "test.volume", "Level"], "A field is key=value or key:=JSON"),
            (["serve", "--port", "80000"], "--port takes 0 to 65535, not 80000."),
            (["list", "--lopback"], "Unknown option '--lopback'. Did you mean '--loopback'?"),
            // The value of an unknown option is no argument of the command.
            (["pair", "--link", "--activity-type", "org.example.story"], "Unknown option '--activity-type'."),
            (
                ["activities", "offer", "com.example.reading", "Note=hi", "--webpgae", "https://example.com/"],
                "Unknown option '--webpgae'. Did you mean '--webpage'?"
            ),
            (["activities", "offer", "--tilte", "Emma"], "Usage: remotesystems activities offer <type>"),
            (["host", "--config-fiel", "x"], "See 'remotesystems host run --help' for more information."),
        ])
        func `a misspelled option is reported with the probable one`(arguments: [String], says: String)
            async throws
        {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(arguments).finish()
                #expect(finished.status == 64)
                #expect(finished.errors.contains(says), "\(finished.errors)")
            }
        }

        @Test func `the value of an unknown option, which may be a secret, is not repeated`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(["account", "join", "--secrte=zqx"]).finish()
                #expect(finished.status == 64)
                #expect(finished.errors.contains("Unknown option '--secrte'."), "\(finished.errors)")
                #expect(!finished.errors.contains("zqx"), "\(finished.errors)")
            }
        }

        @Test func `an argument after two hyphens is no option`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(["pair", "--", "--frobnicate"]).finish()
                #expect(finished.status == 64)
                #expect(!finished.errors.contains("Unknown option"), "\(finished.errors)")
            }
        }
    }

    /// The topics that an installed command prints, since it has no documents beside it.
    @Suite struct Topics {
        private static var root: URL {
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
        }

        @Test func `every topic exists and fits into 80 columns`() async throws {
            try await Sandbox.with { sandbox in
                let list = try await sandbox.run("topic", "--json")
                let topics = list.json.compactMap { $0["topic"] as? String }
                #expect(topics == ["json", "exit-status", "host", "manifest", "findings", "notifications"])
                for topic in topics {
                    let text = try await sandbox.run("topic", topic)
                    #expect(text.status == 0)
                    #expect(text.lines.count > 5)
                    #expect(text.lines.filter { $0.count > 80 } == [], "\(topic)")
                }
            }
        }

        @Test func `the topic about JSON has the events and fields of the documentation`() async throws {
            let page = try String(contentsOf: Self.root.appending(path: "Docs/command-line.md"), encoding: .utf8)
            let section = try #require(page.components(separatedBy: "## What `--json` prints").last)
            try await Sandbox.with { sandbox in
                let printed = try await sandbox.run("topic", "json", "--json").event("topic")
                let text = try #require(printed?["text"] as? String)
                var documented = EventTable(markdown: section).fields
                var explained = EventTable(topic: text).fields
                // The page describes the fields of a failure in a list, with their values.
                documented["failed"] = nil
                let failure = try #require(explained["failed"])
                explained["failed"] = nil
                let list = try #require(section.components(separatedBy: "**A failure** has").last)
                #expect(failure.subtracting(EventTable.code(in: list)) == [])
                #expect(documented.count > 60)
                #expect(Set(documented.keys).symmetricDifference(explained.keys) == [])
                for (event, fields) in documented { #expect(explained[event] == fields, "\(event)") }
                for thing in ["A system", "A service", "An offer", "A notification"] {
                    let fields = EventTable.fields(of: thing, markdown: section)
                    #expect(fields.count > 5, "\(thing)")
                    #expect(EventTable.fields(of: thing, topic: text) == fields, "\(thing)")
                }
            }
        }

        @Test func `the topic about the host states a meaning, a range and a default for every setting`() async throws {
            try await Sandbox.with { sandbox in
                let lines = try await sandbox.run("topic", "host").lines
                let variables = lines.filter { $0.hasPrefix("    REMOTE_SYSTEMS_HOST_") }
                #expect(variables.count > 10)
                let settings = lines.joined(separator: " ").split(separator: "    REMOTE_SYSTEMS_HOST_").dropFirst()
                #expect(settings.count == variables.count)
                for setting in settings {
                    let words = setting.split(separator: " ").dropFirst()
                    let text = words.joined(separator: " ")
                    #expect(words.first != "Takes", "\(setting)")
                    #expect(text.contains(" Takes ") && text.contains(" Defaults to "), "\(setting)")
                }
            }
        }

        @Test func `the topic about findings names every code`() async throws {
            try await Sandbox.with { sandbox in
                let text = try await sandbox.run("topic", "findings").lines.joined(separator: "\n")
                for code in DiagnosisFinding.Code.known { #expect(text.contains("  \(code) "), "\(code)") }
            }
        }
    }
}
