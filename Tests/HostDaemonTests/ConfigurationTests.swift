// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsDesktop
import Testing

extension HostDaemonTests {
    /// Configuration and unit files, through the command.
    @Suite struct Configuring {
        private func message(_ lines: [String]) -> String {
            lines.compactMap { (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any] }
                .first { $0["event"] as? String == "failed" }?["message"] as? String ?? "\(lines)"
        }

        @Test func `check reports an asking program and a manifest that do not exist`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.configure(#"{"uriPolicy": ["*=ask"], "askProgram": ["/nonexistent"]}"#)
                let (status, lines) = try await daemon.finish(["host", "check"])
                #expect(status == 1)
                #expect(lines.contains { $0.hasPrefix("/nonexistent: ") && $0.contains("askProgram") }, "\(lines)")
                try daemon.configure(#"{"uriPolicy": ["*=ask"], "askProgram": ["/bin/true"]}"#)
                let fine = try await daemon.finish(["host", "check"])
                #expect(fine.0 == 0)
                let path = "\(daemon.directory)/data/remote-systems/applications/test.link.json"
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nonexistent/file")
                let (linked, reported) = try await daemon.finish(["host", "check"])
                #expect(linked == 1)
                #expect(reported.contains { $0.hasPrefix("\(path): ") && $0.contains("link") }, "\(reported)")
            }
        }

        @Test func `the example in the topic about manifests is valid, and the topic names every key`()
            async throws
        {
            try await Daemon.with { daemon in
                let text = try await daemon.finish(["topic", "manifest"]).1.joined(separator: "\n") + "\n"
                let start = try #require(text.range(of: "  {\n"))
                let end = try #require(text.range(of: "\n  }\n", range: start.upperBound..<text.endIndex))
                let example = text[start.lowerBound..<end.upperBound].utf8
                var problems: [ConfigurationFileError] = []
                let file = ConfigurationFile(path: "/a/org.example.pinger.json", bytes: Array(example))
                let manifest = ApplicationManifest.read(file, problems: &problems)
                #expect(problems.isEmpty && manifest?.warnings.isEmpty == true, "\(problems)")
                for key in ApplicationManifest.documentedKeys { #expect(text.contains(key), "\(key)") }
            }
        }

        @Test func `an invalid option and an impossible path are reported by their names`()
            async throws
        {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(["host", "check", "--uri-policy", "foo"])
                #expect(status == 64)
                #expect(lines.contains { $0.contains("--uri-policy") && $0.contains("foo") }, "\(lines)")
                let (install, reported) = try await daemon.finish(["host", "install", "--directory", "/proc/nope"])
                #expect(install == 2)
                #expect(reported.contains { $0.contains("/proc/nope") && $0.contains("No such file") }, "\(reported)")
                #expect(!reported.contains { $0.contains("NSCocoa") }, "\(reported)")
            }
        }

        @Test(arguments: [
            ("{\n\"port\": \"high\"\n}", 2, "'port' must be a number."),
            ("{\n\n\"port\": 70000\n}", 3, "'port' takes a port from 0 to 65535."),
            ("{\n\"startTimeout\": 0\n}", 2, "'startTimeout' takes seconds"),
            ("{\n\n\"displayName\": \"a\\u001B[31m\"\n}", 3, "without control characters"),
            ("{\n\n\"displayName\": \"a\u{202E}b\"\n}", 3, "without control characters"),
            ("{\n\"displayName\": \"a\\nb\"\n}", 2, "without control characters"),
            ("{\n\"network\": \"a b\"\n}", 2, "'network' takes"),
            ("{\n\"logLevel\": \"loud\"\n}", 2, "'logLevel' takes one of trace"),
            ("{\n\"uriPolicy\": [\"a=allow\",\n\"https:=deny\"]\n}", 3, "'uriPolicy' takes up to 256 rules"),
            ("{\n\"uriPolicy\": [\"a=allow\",\n\"b=perhaps\"]\n}", 3, "'uriPolicy' takes"),
            ("{\n\"uriPolicy\": [\n\"a=allow\",\n\"A=deny\"]\n}", 4, "names the scheme 'a' twice"),
            ("{\n\"uriPolicy\": [\"*=ask\"]\n}", 2, "has the rule 'ask' for '*', but 'askProgram' is not set"),
            ("{\n\"askProgram\": [\"zenity\"]\n}", 2, "'askProgram' takes the absolute path"),
            ("{\n\"askProgram\": []\n}", 2, "'askProgram' takes"),
            ("{\n\"askTimeout\": 0\n}", 2, "'askTimeout' takes seconds"),
            ("{\n\"mediaPlayers\": 1\n}", 2, "mediaPlayers"),
            ("{\n\"snoozeMinutes\": 43201\n}", 2, "'snoozeMinutes' takes minutes from 0 to 43200"),
            ("{\n\"snoozeMinutes\": 0.5\n}", 2, "'snoozeMinutes' must be a whole number"),
            ("{\n\"documentRoots\": [\"music\"]\n}", 2, "'documentRoots' takes up to 64 folders"),
            ("{\n\"documentRoots\": [\"a b=/srv\"]\n}", 2, "'documentRoots' takes up to 64 folders"),
            ("{\n\"documentRoots\": [\"a=srv\"]\n}", 2, "'documentRoots' takes up to 64 folders"),
            ("{\n\"documentRoots\": [\"a=/srv\", \"a=/tmp\"]\n}", 2, "uses the name 'a' twice"),
            ("{\n\"password\": \"x\"\n}", 2, "'password' is not known here."),
            ("{\n\"port\": 1,\n}", 3, "not valid JSON: at line"),
            ("{\n\n\"port\": 12abc\n}", 3, "not valid JSON: at line"),
            ("{\n\n\"advertise\": tru\n}", 3, "not valid JSON: at line"),
            ("{\n\n\"displayName\": \"\\x\"\n}", 3, "not valid JSON: at line"),
            ("{\n\n\"port\": 47474.5\n}", 3, "'port' must be a whole number"),
            ("{\n\n\"port\": 99999999999999999999\n}", 3, "'port' must be a whole number"),
        ])
        func `an error in the file is reported with its line`(text: String, line: Int, message: String)
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.configure(text)
                let (status, lines) = try await daemon.finish(["host", "check", "--json"])
                #expect(status == 78)
                let found = self.message(lines)
                #expect(found.hasPrefix("\(daemon.configurationFile):\(line): "), "\(found)")
                #expect(found.contains(message), "\(found)")
            }
        }

        @Test func `flags take precedence over the environment, and the environment over the file`() async throws {
            try await Daemon.with { daemon in
                try daemon.configure(#"{"port": 70000}"#)
                // A setting is validated only where it takes effect.
                let variable = ["REMOTE_SYSTEMS_HOST_PORT": "0"]
                let found2 = try await daemon.finish(["host", "check"], environment: variable).0
                #expect(found2 == 0)
                let found3 = try await daemon.finish(["host", "check", "--port", "0"]).0
                #expect(found3 == 0)
                let bad = ["REMOTE_SYSTEMS_HOST_PORT": "many"]
                let found4 = try await daemon.finish(["host", "check", "--port", "0"], environment: bad).0
                #expect(found4 == 0)
                let (status, lines) = try await daemon.finish(["host", "check", "--json"], environment: bad)
                #expect(status == 78)
                #expect(self.message(lines).contains("The variable REMOTE_SYSTEMS_HOST_PORT takes a port"))
                let unknown = try await daemon.finish(
                    ["host", "check", "--port", "0", "--json"],
                    environment: ["REMOTE_SYSTEMS_HOST_PROT": "1"]
                )
                #expect(unknown.0 == 78)
                #expect(self.message(unknown.1).contains("REMOTE_SYSTEMS_HOST_PROT is not known"))
            }
        }

        @Test func `the URI policy can also come from a flag or a variable`() async throws {
            try await Daemon.with { daemon in
                let flag = ["host", "check", "--uri-policy", "https=deny", "--uri-policy", "player=allow"]
                let taken = try await daemon.finish(flag).0
                #expect(taken == 0)
                let twice = ["--uri-policy", "https=deny", "--uri-policy", "https=allow"]
                let refused = try await daemon.finish(["host", "check", "--json"] + twice)
                #expect(refused.0 == 78)
                #expect(self.message(refused.1).contains("The option for 'uriPolicy' names the scheme 'https' twice."))
                for (rules, status) in [
                    ("https=deny,player=allow", Int32(0)), ("https=deny,player", 78), ("https=ask", 78),
                ] {
                    let found = try await daemon.finish(
                        ["host", "check", "--json"],
                        environment: ["REMOTE_SYSTEMS_HOST_URI_POLICY": rules]
                    )
                    #expect(found.0 == status)
                    if status != 0 { #expect(self.message(found.1).contains("REMOTE_SYSTEMS_HOST_URI_POLICY")) }
                }
            }
        }

        @Test func `a relative state directory is handled as in the other commands`() async throws {
            try await Daemon.with { daemon in
                let process = try daemon.command(
                    ["host", "run", "--loopback", "--json", "--port", "0", "--state-directory", "here"],
                    around: ["env", "-C", daemon.directory]
                )
                let ready = try? await process.event("ready")
                await process.stop()
                #expect(ready != nil, "\(process.lines)")
                #expect(FileManager.default.fileExists(atPath: "\(daemon.directory)/here"))
                // In a file, a relative path has no directory that it refers to.
                try daemon.configure("{\n\"stateDirectory\": \"here\"\n}")
                let refused = try await daemon.finish(["host", "check", "--json"])
                #expect(refused.0 == 78)
                #expect(self.message(refused.1).contains("'stateDirectory' takes the absolute path"))
            }
        }

        @Test func `check reports every error in the file`() async throws {
            try await Daemon.with { daemon in
                try daemon.configure(
                    "{\n\"prot\": 1,\n\"port\": 99999,\n\"advertise\": \"yes\",\n\"logLevel\": \"loud\"\n}"
                )
                let (status, lines) = try await daemon.finish(["host", "check", "--json"])
                #expect(status == 78)
                let found = self.message(lines).split(separator: "\n")
                #expect(found.count == 4, "\(found)")
                for line in 2...5 {
                    #expect(found.contains { $0.hasPrefix("\(daemon.configurationFile):\(line): ") }, "\(found)")
                }
                #expect(found.contains { $0.contains("Did you mean 'port'?") })
            }
        }

        @Test func `a configuration file that was named must exist`() async throws {
            try await Daemon.with { daemon in
                let found5 = try await daemon.finish(["host", "check", "--config", "/no/such/file"]).0
                #expect(found5 == 78)
                let found6 = try await daemon.finish(["host", "check", "--config-if-present", "/no/such/file"]).0
                #expect(found6 == 0)
            }
        }

        @Test func `check lists the installed applications and the problems of the others`() async throws {
            try await Daemon.with { daemon in
                try daemon.install("test.good", start: #"{"exec": ["/bin/true"]}"#)
                let (fine, _) = try await daemon.finish(["host", "check"])
                #expect(fine == 0)
                try daemon.install("test.bad", start: "7")
                try daemon.install("test.gone", start: #"{"exec": ["/nonexistent/player"]}"#)
                let (status, lines) = try await daemon.finish(["host", "check"])
                #expect(status == 1)
                #expect(lines.contains("test.good  Test application"))
                #expect(lines.contains { $0.contains("test.bad.json:6: ") })
                #expect(lines.contains { $0.contains("test.gone.json:6: 'exec' cannot be run: there is no file") })
            }
        }

        @Test func `check warns of unknown keys and still succeeds`() async throws {
            try await Daemon.with { daemon in
                let path = "\(daemon.directory)/data/remote-systems/applications/test.later.json"
                try "{\"id\": \"test.later\",\n\"sevices\": [],\n\"start\": {\"exec\": [\"/bin/true\"]}}"
                    .write(toFile: path, atomically: true, encoding: .utf8)
                let (status, lines) = try await daemon.finish(["host", "check"])
                #expect(status == 0)
                #expect(lines.contains("test.later  test.later"))
                let text = "'sevices' is not known here and is ignored. Did you mean 'services'?"
                #expect(lines.contains("\(path):2: warning: \(text)"), "\(lines)")
                let machine = try await daemon.finish(["host", "check", "--json"]).1
                    .compactMap { (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any] }
                let warning = try #require(machine.first { $0["event"] as? String == "warning" })
                #expect(warning["file"] as? String == path)
                #expect(warning["line"] as? Int == 2)
                #expect(warning["message"] as? String == text)
                #expect(!machine.contains { $0["event"] as? String == "problem" })
            }
        }

        @Test func `units are shown, written, recognised and removed; foreign files stay`() async throws {
            try await Daemon.with { daemon in
                let place = "\(daemon.directory)/config/systemd/user"
                let service = "\(place)/remotesystems-host.service"
                let dry = try await daemon.finish(["host", "install", "--dry-run"])
                #expect(dry.0 == 0)
                #expect(dry.1.contains { $0.contains("would write \(service):") })
                #expect(!FileManager.default.fileExists(atPath: service))
                #expect(dry.1.contains { $0.contains("is in a build folder") })
                let elsewhere = try await daemon.finish(["host", "install", "--dry-run", "--program", "/usr/bin/a"])
                #expect(elsewhere.0 == 0)
                #expect(!elsewhere.1.contains { $0.contains("is in a build folder") })

                #expect(!elsewhere.1.contains { $0.contains("systemd-sysusers") })
                let machine = try await daemon.finish(["host", "install", "--system", "--dry-run"])
                #expect(machine.1.contains { $0.contains("systemd-sysusers --inline 'u remotesystems-host - ") })

                for _ in 0..<2 {
                    let (installed, _) = try await daemon.finish(["host", "install"])
                    #expect(installed == 0)
                }
                #expect(FileManager.default.fileExists(atPath: service))
                let found7 = try await daemon.finish(["host", "uninstall"]).0
                #expect(found7 == 0)
                #expect(!FileManager.default.fileExists(atPath: service))
                let found8 = try await daemon.finish(["host", "uninstall"]).0
                #expect(found8 == 1)

                try "[Service]\n".write(toFile: service, atomically: true, encoding: .utf8)
                let found9 = try await daemon.finish(["host", "install"]).0
                #expect(found9 == 2)
                let found10 = try await daemon.finish(["host", "uninstall"]).0
                #expect(found10 == 1)
                #expect(try String(contentsOfFile: service, encoding: .utf8) == "[Service]\n")
                #expect(!FileManager.default.fileExists(atPath: "\(place)/remotesystems-host.socket"))
            }
        }

        @Test(arguments: [[], ["--system"]])
        func `systemd accepts the units and rates them as hardened`(flags: [String]) async throws {
            try await Daemon.with { daemon in
                let place = "\(daemon.directory)/units"
                let (status, lines) = try await daemon.finish(["host", "install", "--directory", place] + flags)
                #expect(status == 0, "\(lines)")
                let units = ["\(place)/remotesystems-host.service", "\(place)/remotesystems-host.socket"]
                let manager = flags.isEmpty ? "--user" : "--system"
                let verify = try ChildProcess(
                    ["systemd-analyze", manager, "--man=no", "verify"] + units,
                    environment: ["XDG_RUNTIME_DIR": daemon.directory],
                    readsErrors: true
                )
                let verified = try await verify.exit(within: .seconds(60))
                let said = try await verify.allLines()
                let complaints = said.filter { $0.contains("remotesystems-host") }
                #expect(verified == 0, "\(said)")
                #expect(complaints.isEmpty, "\(complaints)")
                // The rating goes from 0 (tight) to 10 (open). A user's service starts applications, which inherit its
                // restrictions.
                let security = try ChildProcess(
                    [
                        "systemd-analyze", "security", "--offline=true", "--no-pager",
                        "--threshold=\(flags.isEmpty ? 80 : 30)", units[0],
                    ],
                    readsErrors: true
                )
                let exposure = try await security.exit(within: .seconds(60))
                let table = try await security.allLines()
                #expect(exposure == 0, "\(table.suffix(3))")
            }
        }
    }
}
