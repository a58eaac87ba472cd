// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import Testing

extension CommandTests {
    /// `remotesystems app`.
    @Suite struct App {
        private static let id = "com.example.editor"

        /// Runs a command with the sandbox's own directory of data.
        private func app(_ sandbox: Sandbox, _ arguments: String...) async throws -> FinishedCommand {
            try await self.app(sandbox, arguments)
        }

        private func app(
            _ sandbox: Sandbox,
            _ arguments: [String],
            input: String = ""
        ) async throws -> FinishedCommand {
            try await sandbox.start(
                ["app"] + arguments,
                input: Array(input.utf8),
                around: ["env", "XDG_DATA_HOME=\(sandbox.directory)/data"]
            ).finish()
        }

        /// Initialises the manifest of an application, and returns its path.
        private func makeManifest(in sandbox: Sandbox) async throws -> String {
            let arguments = ["init", Self.id, "--exec", "/bin/sleep", "--directory", sandbox.directory]
            _ = try await self.app(sandbox, arguments)
            return "\(sandbox.directory)/\(Self.id).json"
        }

        private func publisher(_ finished: FinishedCommand, _ event: String) throws -> String {
            try #require(finished.event(event)?["publisher"] as? String, "\(finished)")
        }

        @Test func `an application is initialised, validated, signed, verified and registered (H-45, H-46, B-03)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let (key, manifest) = ("\(sandbox.directory)/key", "\(sandbox.directory)/\(Self.id).json")
                let made = try await self.app(sandbox, "keygen", key, "--json")
                let id = try self.publisher(made, "key")
                #expect(PublisherID(id) != nil)
                let wrote = try await self.app(
                    sandbox,
                    "init",
                    Self.id,
                    "--exec",
                    "/bin/sleep",
                    "--activity-type",
                    "com.example.editing",
                    "--directory",
                    sandbox.directory
                )
                #expect(wrote.status == 0, "\(wrote)")
                let valid = try await self.app(sandbox, "validate", manifest)
                #expect(valid.status == 0 && valid.lines.joined().contains("is not signed"), "\(valid)")
                let unsigned = try await self.app(sandbox, "verify", manifest, "--json")
                #expect(unsigned.status == 1 && unsigned.event("refused") != nil, "\(unsigned)")
                let signed = try await self.app(sandbox, "sign", manifest, "--key", key, "--json")
                #expect(try self.publisher(signed, "signed") == id)
                let verified = try await self.app(sandbox, "verify", manifest, "--publisher", id)
                #expect(verified.status == 0, "\(verified)")
                let other = PublisherKey().chain.id
                let foreign = try await self.app(sandbox, "verify", manifest, "--publisher", "\(other)")
                #expect(foreign.status == 1 && foreign.lines.joined().contains("another publisher"), "\(foreign)")
                let registered = try await self.app(sandbox, "register", manifest, "--json")
                #expect(try self.publisher(registered, "registered") == id)
                let installed = "\(sandbox.directory)/data/remote-systems/applications/\(Self.id).json"
                #expect(FileManager.default.contentsEqual(atPath: manifest, andPath: installed))
                // The host daemon would use it.
                let check = try await sandbox.start(
                    ["host", "check", "--json"],
                    around: ["env", "XDG_DATA_HOME=\(sandbox.directory)/data"]
                ).finish()
                #expect(check.event("application")?["id"] as? String == Self.id, "\(check)")
            }
        }

        @Test
        func `a script is initialised without executables, and validated with the advice how it is proven (H-46)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let (script, manifest) = ("\(sandbox.directory)/editor", "\(sandbox.directory)/\(Self.id).json")
                try writeProgram("#!/bin/sh\nsleep 60\n", to: script)
                let directory = ["--directory", sandbox.directory]
                let wrote = try await sandbox.start(["app", "init", Self.id, "--exec", script] + directory).finish()
                #expect(wrote.status == 0, "\(wrote)")
                let text = try String(contentsOfFile: manifest, encoding: .utf8)
                #expect(text.contains("\"units\"") && !text.contains("\"executables\""), "\(text)")
                let valid = try await self.app(sandbox, "validate", manifest)
                #expect(valid.status == 0, "\(valid)")
                #expect(valid.lines.contains { $0.contains("warning: \(script) is a script") }, "\(valid)")
            }
        }

        @Test func `a key is replaced by its successor, and may be encrypted (H-46, B-05)`() async throws {
            try await Sandbox.with { sandbox in
                let (first, second) = ("\(sandbox.directory)/first", "\(sandbox.directory)/second")
                let made = try await self.app(sandbox, "keygen", first, "--json")
                let passphrase = "a long passphrase\n"
                let options = ["--passphrase-file", "-", "--json"]
                let next = try await self.app(
                    sandbox,
                    ["keygen", second, "--successor-of", first] + options,
                    input: passphrase
                )
                #expect(try self.publisher(next, "key") == self.publisher(made, "key"))
                #expect(next.event("key")?["number"] as? Int == 2 && next.event("key")?["encrypted"] as? Bool == true)
                let attributes = try FileManager.default.attributesOfItem(atPath: second)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
                let manifest = try await self.makeManifest(in: sandbox)
                let signing = ["sign", manifest, "--key", second] + options
                let wrong = try await self.app(sandbox, signing, input: "another passphrase\n")
                #expect(wrong.status == 2 && wrong.event("failed")?["reason"] as? String == "wrongPassphrase")
                let right = try await self.app(sandbox, signing, input: passphrase)
                #expect(try self.publisher(right, "signed") == self.publisher(made, "key"), "\(right)")
                let again = try await self.app(sandbox, "keygen", second)
                #expect(again.status == 2, "\(again)")
            }
        }

        @Test func `a manifest that the daemon refuses because of its directory is not reported as registered`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let manifest = try await self.makeManifest(in: sandbox)
                let directory = "\(sandbox.directory)/data/remote-systems/applications"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                try FileManager.default.setAttributes([.posixPermissions: 0o775], ofItemAtPath: directory)
                let refused = try await self.app(sandbox, "register", manifest, "--json")
                #expect(refused.status == 2 && refused.event("registered") == nil, "\(refused)")
                let message = try #require(refused.event("failed")?["message"] as? String)
                #expect(message.hasSuffix("chmod g-w \(directory)"), "\(message)")
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
                let registered = try await self.app(sandbox, "register", manifest)
                #expect(registered.status == 0, "\(registered)")
            }
        }

        @Test func `an unsigned application is registered loudly, and does not replace a signed one (H-06, B-04)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let manifest = try await self.makeManifest(in: sandbox)
                let unsigned = try #require(FileManager.default.contents(atPath: manifest))
                let loud = try await self.app(sandbox, "register", manifest)
                #expect(loud.status == 0 && loud.errors.contains("THE APPLICATION IS NOT SIGNED"), "\(loud)")
                let key = "\(sandbox.directory)/key"
                _ = try await self.app(sandbox, "keygen", key)
                _ = try await self.app(sandbox, "sign", manifest, "--key", key)
                let first = try await self.app(sandbox, "register", manifest)
                #expect(first.status == 0 && first.errors.contains("the first signed application"), "\(first)")
                let other = "\(sandbox.directory)/other"
                _ = try await self.app(sandbox, "keygen", other)
                _ = try await self.app(sandbox, "sign", manifest, "--key", other)
                let foreign = try await self.app(sandbox, "register", manifest)
                #expect(foreign.status == 2 && foreign.errors.contains("manifest is signed by publisher"), "\(foreign)")
                try unsigned.write(to: URL(filePath: manifest))
                let refused = try await self.app(sandbox, "register", manifest)
                #expect(refused.status == 2 && refused.errors.contains("new manifest is not signed"), "\(refused)")
                #expect(try await self.app(sandbox, "register", manifest, "--replace").status == 0)
            }
        }

        @Test func `a hostile or damaged manifest is refused with its lines, and nothing is written (H-06)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let (key, manifest) = ("\(sandbox.directory)/key", "\(sandbox.directory)/\(Self.id).json")
                _ = try await self.app(sandbox, "keygen", key)
                for text in [
                    "", "[]", "{\"id\": \"\(Self.id)\"", String(repeating: "[", count: 100_000),
                    #"{"id": "com.example.editor", "start": {"exec": ["/bin/sh"]}, "executables": ["/bin/sh"]}"#,
                    #"{"id": "com.example.\u001b[2Jeditor", "start": {"exec": ["/bin/sleep"]}}"#,
                ] {
                    try text.write(toFile: manifest, atomically: true, encoding: .utf8)
                    for arguments in [["validate"], ["sign", "--key", key], ["register"]] {
                        let command = try await sandbox.start(
                            ["app"] + arguments + [manifest],
                            around: ["env", "XDG_DATA_HOME=\(sandbox.directory)/data"]
                        ).finish()
                        #expect([1, 2].contains(command.status), "\(arguments) \(text.prefix(40)): \(command)")
                        #expect(!"\(command)".contains("\u{1B}[2J"))
                    }
                    #expect(try String(contentsOfFile: manifest, encoding: .utf8) == text)
                }
                #expect(!FileManager.default.fileExists(atPath: "\(sandbox.directory)/data/remote-systems"))
            }
        }

        @Test(arguments: ["", "[]", "{\"id\": \"com.example.editor\"", "editor"])
        func `a manifest that is no JSON object has no valid signature`(text: String) async throws {
            try await Sandbox.with { sandbox in
                let manifest = "\(sandbox.directory)/\(Self.id).json"
                try text.write(toFile: manifest, atomically: true, encoding: .utf8)
                let refused = try await self.app(sandbox, "verify", manifest, "--json")
                #expect(refused.status == 1, "\(refused)")
                let message = try #require(refused.event("refused")?["message"] as? String)
                #expect(!message.contains("is not signed"), "\(message)")
                let lines = try await self.app(sandbox, "verify", manifest).lines
                #expect(lines.first?.hasPrefix("\(manifest): ") == true, "\(lines)")
            }
        }

        @Test func `a directory in place of a manifest is refused as one`() async throws {
            try await Sandbox.with { sandbox in
                for command in ["validate", "verify", "register"] {
                    let refused = try await self.app(sandbox, command, sandbox.directory)
                    #expect(refused.status == 2, "\(refused)")
                    #expect(refused.errors.contains("\(sandbox.directory) is a directory."), "\(refused)")
                }
            }
        }

        @Test func `developer mode is shown and changed (H-06)`() async throws {
            try await Sandbox.with { sandbox in
                func settings(_ arguments: String...) async throws -> JSONLine? {
                    try await sandbox.start(
                        ["activities", "settings", "--json"] + arguments,
                        around: ["env", "XDG_DATA_HOME=\(sandbox.directory)/data", "XDG_DATA_DIRS=/nowhere"]
                    ).finish().event("developer-mode")
                }
                let automatic = try #require(try await settings())
                #expect(automatic["setting"] as? String == "automatic" && automatic["isOn"] as? Bool == true)
                _ = try await self.app(sandbox, "keygen", "\(sandbox.directory)/key")
                let manifest = try await self.makeManifest(in: sandbox)
                _ = try await self.app(sandbox, "sign", manifest, "--key", "\(sandbox.directory)/key")
                _ = try await self.app(sandbox, "register", manifest)
                #expect(try await settings()?["isOn"] as? Bool == false)
                #expect(try await settings("--developer-mode", "on")?["isOn"] as? Bool == true)
                #expect(try await settings("--developer-mode", "off")?["isOn"] as? Bool == false)
            }
        }
    }
}
