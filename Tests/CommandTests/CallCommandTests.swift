// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension CommandTests {
    /// `call`, `apps` and `info` against a host in this process, reached by its address on the loopback interface.
    @Suite struct Calling {
        static let schema = AllowedValueSchema(
            fields: [
                .required("Level", .number), .optional("Rooms", .array(of: .string)), .optional("Muted", .bool),
                .optional("Steps", .integer), .optional("At", .date), .optional("Id", .uuid),
                .optional("Name", .string),
            ],
            allowsFurtherKeys: false
        )

        static let volume = AppService(
            "test.volume",
            requestSchema: schema,
            responseSchema: AllowedValueSchema(fields: [.required("Was", .number)], allowsFurtherKeys: true),
            options: .init(version: "2.1", summary: "Sets the volume.")
        ) { request in
            if request.message["Level"] == 11 { throw AppServiceFailure("It does not go to eleven.", canRetry: true) }
            var response = request.message
            response["Was"] = 3
            return response
        }

        static let services = [
            volume,
            AppService("test.free", requestSchema: .full, responseSchema: .full) { $0.message },
            AppService("test.friends", options: .init(callers: .applications(["test.friend"]))) { $0.message },
        ]

        /// Runs `body` with the host's address. Other commands of the sandbox run on the same simulated machine.
        static func with(
            _ services: [AppService] = Self.services,
            named name: String = "atlas",
            attributes: [String: String] = ["room": "attic"],
            _ body: (Sandbox, String) async throws -> Void
        ) async throws {
            try await Sandbox.with { sandbox in
                var configuration = RemoteSystemsConfiguration(
                    applicationID: "test.player",
                    network: .loopback,
                    discovery: [],
                    stateDirectory: sandbox.state()
                )
                configuration.systemDisplayName = name
                configuration.transport.helloTimeout = .seconds(10)
                var options = RemoteSystemHost.Options()
                options.attributes = attributes
                options.displayName = "Player"
                let host = RemoteSystemHost(configuration, services: services, options: options)
                let running = Task { try await host.run() }
                do {
                    try await body(sandbox, "127.0.0.1:\(try await host.port)")
                } catch {
                    running.cancel()
                    _ = await running.result
                    throw error
                }
                running.cancel()
                try await running.value
            }
        }

        static func call(
            _ sandbox: Sandbox,
            _ address: String,
            _ arguments: String...
        ) async throws -> FinishedCommand {
            try await sandbox.start(["call", address, "--loopback"] + arguments).finish()
        }

        // MARK: Responses

        @Test func `fields are parsed by their declared types, and the response is printed as JSON`() async throws {
            try await Self.with { sandbox, address in
                let finished = try await Self.call(
                    sandbox,
                    address,
                    "test.volume",
                    "Level=0.4",
                    "Rooms:=[\"attic\",\"hall\"]",
                    "Muted=false",
                    "Steps=-2",
                    "At=2026-01-31T12:00:00Z",
                    "Id=E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
                    "Name=42"
                )
                #expect(finished.status == 0, "\(finished.errors)")
                let response = try ValueSet(json: finished.lines.joined(separator: "\n"))
                #expect(response["Level"] == 0.4)
                #expect(response["Rooms"] == ["attic", "hall"])
                #expect(response["Muted"] == false)
                #expect(response["Steps"] == -2)
                #expect(response["At"] == "2026-01-31T12:00:00Z")
                #expect(response["Id"] == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
                #expect(response["Name"] == "42")
                #expect(response["Was"] == 3)
            }
        }

        @Test func `a field without a declared type is sent as text or JSON`() async throws {
            try await Self.with { sandbox, address in
                let finished = try await Self.call(
                    sandbox,
                    address,
                    "test.free",
                    "text=1=2",
                    "nested:={\"a\":[1,null]}",
                    "--json"
                )
                #expect(finished.status == 0, "\(finished.errors)")
                let response = try #require(finished.event("answer"))
                #expect(response["status"] as? String == "success")
                let message = try #require(response["message"] as? JSONLine)
                #expect(message["text"] as? String == "1=2")
                #expect((message["nested"] as? JSONLine)?["a"] as? [Any] != nil)
            }
        }

        @Test func `a field whose name resembles a missing one is pointed out`() async throws {
            try await Self.with { sandbox, address in
                let finished = try await sandbox.start(
                    ["call", address, "test.volume", "--loopback", "Levle=0.5", "Muted=true"]
                ).finish()
                #expect(finished.errors.contains("no field 'Levle'. Did you mean 'Level'?"), "\(finished.errors)")
                #expect(!finished.errors.contains("no field 'Muted'"))
            }
        }

        struct Wrong: Sendable, CustomTestStringConvertible {
            var fields: [String]
            var says: [String]
            var testDescription: String { self.fields.joined(separator: " ") }
        }

        @Test(arguments: [
            Wrong(fields: ["Level=loud"], says: ["Level", "'loud'", "number"]),
            Wrong(fields: ["Level=1", "Steps=1.5"], says: ["Steps", "'1.5'", "integer"]),
            Wrong(fields: ["Level=1", "Muted=yes"], says: ["Muted", "'yes'", "bool"]),
            Wrong(fields: ["Level=1", "At=soon"], says: ["At", "'soon'", "date"]),
            Wrong(fields: ["Level=1", "Rooms:=[1]"], says: ["Rooms[0]", "integer", "string"]),
            Wrong(fields: ["Level=1", "Rooms:=["], says: ["Rooms", "JSON"]),
            Wrong(fields: ["Level=1", "Rooms:={\"a\":[1e400]}"], says: ["Rooms", "a[0]", "byte 6", "too large"]),
            Wrong(fields: ["Level=1", "Rooms:={\"a\":1,\"a\":2}"], says: ["Rooms", "byte 7", "twice"]),
            Wrong(fields: ["Level=1", "Level=2"], says: ["Level", "twice"]),
            Wrong(fields: ["Level=1", "Colour=red"], says: ["Colour", "declared", "Muted"]),
            Wrong(fields: [], says: ["Level", "missing"]),
        ])
        func `a message that violates the schema is not sent: the error names field, found and allowed`(wrong: Wrong)
            async throws
        {
            try await Self.with { sandbox, address in
                let finished = try await sandbox.start(
                    ["call", address, "test.volume", "--loopback", "--json"] + wrong.fields
                ).finish()
                #expect(finished.status == 2)
                let failed = try #require(finished.event("failed"))
                #expect(failed["error"] as? String == "invalidMessage")
                let message = try #require(failed["message"] as? String)
                for word in wrong.says { #expect(message.contains(word), "\(message)") }
            }
        }

        @Test func `a failing service is a failure, and its reason is reported`() async throws {
            try await Self.with { sandbox, address in
                let finished = try await Self.call(sandbox, address, "test.volume", "Level=11")
                #expect(finished.status == 1)
                #expect(finished.lines.isEmpty)
                #expect(finished.errors.contains("It does not go to eleven. Trying again may help."))
                let json = try await Self.call(sandbox, address, "test.volume", "Level=11", "--json")
                #expect(json.status == 1)
                #expect(json.event("answer")?["status"] as? String == "failure")
                #expect(json.event("answer")?["reason"] as? String == "It does not go to eleven.")
            }
        }

        @Test func `a service that does not exist or is not offered to this caller is reported`() async throws {
            try await Self.with { sandbox, address in
                let friends = try await Self.call(sandbox, address, "test.friends", "--json")
                #expect(friends.status == 2)
                let message = friends.event("failed")?["message"] as? String
                #expect(message?.contains("remote-systems.command.call") == true)
                let nothing = try await Self.call(sandbox, address, "test.nothing", "--json")
                #expect(nothing.status == 2)
                #expect((nothing.event("failed")?["message"] as? String)?.contains("test.volume") == true)
                let misspelt = try await Self.call(sandbox, address, "test.volmue")
                #expect(misspelt.status == 2)
                #expect(misspelt.errors.contains("Did you mean 'test.volume'?"))
                let other = try await Self.call(sandbox, address, "test.volume", "--application", "test.other")
                #expect(other.status == 2)
                #expect(other.errors.contains("test.other"))
            }
        }

        // MARK: Describing

        @Test func `a service's description fits into 80 columns`() async throws {
            try await Self.with { sandbox, address in
                let finished = try await Self.call(sandbox, address, "test.volume", "--describe")
                #expect(finished.status == 0)
                #expect(finished.lines.first == "test.volume  2.1")
                let text = finished.lines.joined(separator: "\n")
                for part in ["Sets the volume.", "Offered by test.player on atlas.", "array of string", "Was"] {
                    #expect(text.contains(part), "\(text)")
                }
                #expect(finished.lines.contains { $0.contains("Level") && $0.hasSuffix("number, required") })
                #expect(finished.lines.contains("  and further fields"))
                #expect(finished.lines.allSatisfy { $0.count <= 80 })
                let json = try await Self.call(sandbox, address, "test.volume", "--describe", "--json")
                let service = try #require(json.event("service"))
                #expect(service["name"] as? String == "test.volume")
                #expect(service["version"] as? String == "2.1")
                #expect(service["application"] as? String == "test.player")
                #expect((service["requestSchema"] as? JSONLine)?["fields"] != nil)
            }
        }

        @Test func `the applications of a system are listed with their services (R-19)`() async throws {
            try await Self.with { sandbox, address in
                let apps = try await sandbox.run("apps", address, "--loopback")
                #expect(apps.status == 0, "\(apps.errors)")
                #expect(apps.lines.first == "test.player  Player")
                #expect(apps.lines.contains("  test.volume  2.1  Sets the volume."))
                #expect(apps.lines.contains("  room=attic"))
                let json = try await sandbox.run("apps", address, "--loopback", "--json")
                let application = try #require(json.event("application"))
                #expect(application["id"] as? String == "test.player")
                #expect(application["isRunning"] as? Bool == true)
                #expect((application["connectionToken"] as? String)?.hasPrefix("remote-systems-connection:1:") == true)
                #expect((application["services"] as? [JSONLine])?.count == 3)
                #expect(json.event("summary")?["applications"] as? Int == 1)
            }
        }

        @Test func `info reports every property of a system (X-25)`() async throws {
            try await Self.with { sandbox, address in
                let info = try await sandbox.run("info", address, "--loopback")
                #expect(info.status == 0, "\(info.errors)")
                #expect(info.lines.first == "name:          atlas (this one)")
                #expect(info.lines.contains("capabilities:  appService"))
                #expect(info.lines.allSatisfy { $0.count <= 80 })
                let json = try await sandbox.run("info", address, "--loopback", "--json")
                let system = try #require(json.event("system"))
                #expect(system["name"] as? String == "atlas")
                #expect((system["id"] as? String)?.count == 52)
                #expect(system["capabilities"] as? [String] == ["appService"])
            }
        }

        // MARK: Naming systems

        @Test func `every subcommand finds a system by name, id and address`() async throws {
            try await Sandbox.with { sandbox in
                let serving = try sandbox.start([
                    "serve", "--loopback", "--port", "0", "--json", "--application-id", "test.pinger",
                ])
                let port = try await serving.event("ready")["port"] as? Int
                let list = try await sandbox.list("--json")
                let system = try #require(list.event("system"))
                let name = try #require(system["name"] as? String)
                let id = try #require(system["id"] as? String)
                for target in [name, String(id.prefix(8)), "127.0.0.1:\(port ?? 0)"] {
                    let apps = try await sandbox.run("apps", target, "--loopback", "--json")
                    #expect(apps.event("application")?["id"] as? String == "test.pinger", "\(target) \(apps.errors)")
                    let info = try await sandbox.run("info", target, "--loopback", "--json")
                    #expect(info.event("system")?["id"] as? String == id)
                    let call = try await sandbox.start(
                        [
                            "call", target, "remote-systems.ping", "Type=ping", "CreationDate=now", "--loopback",
                            "--json",
                        ]
                    ).finish()
                    let message = call.event("answer")?["message"] as? JSONLine
                    #expect(message?["Type"] as? String == "pong", "\(target) \(call.errors)")
                    #expect(message?["CreationDate"] as? String == "now")
                }
                let words = ["remotesystems", "call", "--loopback", ""]
                // Completions browse for two seconds. A busy machine may not respond within that time, so this repeats.
                _ = try await eventually("the system's completion", within: .seconds(30)) { () -> Bool? in
                    let completion = try await sandbox.start(
                        ["---completion", "call", "--", "positional@0", "3", "0"] + words
                    ).finish()
                    return completion.lines.contains { [name, String(id.prefix(8))].contains($0) } ? true : nil
                }
                _ = try await eventually("the service's completion", within: .seconds(30)) { () -> Bool? in
                    let services = try await sandbox.start(
                        ["---completion", "call", "--", "positional@1", "4", "0"] + words.dropLast() + [name, ""]
                    ).finish()
                    return services.lines.contains("remote-systems.ping") ? true : nil
                }
                await serving.process.stop()
            }
        }

        @Test(arguments: ["info", "apps"])
        func `an unreachable target ends with status 2`(command: String) async throws {
            try await Sandbox.with { sandbox in
                for target in ["missing", "127.0.0.1:1"] {
                    let finished = try await sandbox.run(command, target, "--loopback", "--wait", "0.5", "--json")
                    #expect(finished.status == 2)
                    #expect(finished.event("failed")?["error"] as? String == "unreachable")
                }
            }
        }
    }
}
