// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension CommandTests {
    @Suite struct Account {
        /// Starts an invitation, runs `body` with the invitation's URI, and returns how the inviting command ended.
        static func whileInviting(
            _ sandbox: Sandbox,
            _ body: (RunningCommand, String) async throws -> Void
        ) async throws -> FinishedCommand {
            let inviting = try sandbox.start(["account", "invite", "--loopback", "--json"])
            do {
                let invitation = try await inviting.event("invitation")
                try await body(inviting, try #require(invitation["uri"] as? String))
            } catch {
                await inviting.process.stop()
                throw error
            }
            return try await inviting.finish(within: .seconds(30))
        }

        @Test func `an account is created on first use, is readable by its user only, and persists`() async throws {
            try await Sandbox.with { sandbox in
                let account = try await sandbox.account()
                #expect((account["accountID"] as? String)?.count == 52)
                #expect((account["systemID"] as? String)?.count == 52)
                #expect(account["isAuthority"] as? Bool == true)
                #expect(account["joined"] as? [String] == [])
                #expect(account["directory"] as? String == sandbox.state())
                let permissions = try FileManager.default.attributesOfItem(atPath: sandbox.state())[.posixPermissions]
                #expect(permissions as? Int == 0o700)
                #expect(try await sandbox.account()["systemID"] as? String == account["systemID"] as? String)
                let shown = try await sandbox.run("account", "show")
                #expect(shown.lines.allSatisfy { $0.count <= 80 || $0.hasPrefix("kept in") })
            }
        }

        @Test func `a damaged file is reported with advice and left unchanged`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                let key = sandbox.state() + "/account/system-key.pem"
                try Data("damaged".utf8).write(to: URL(fileURLWithPath: key))
                for command in [["account", "show"], ["list", "--loopback"], ["serve", "--loopback", "--port", "0"]] {
                    let finished = try await sandbox.start(command + ["--json"]).finish()
                    #expect(finished.status == 2)
                    let failure = try #require(finished.event("failed"))
                    #expect(failure["error"] as? String == "identity")
                    #expect(failure["reason"] as? String == "damaged")
                    #expect((failure["message"] as? String)?.contains(key) == true)
                }
                #expect(try String(contentsOfFile: key, encoding: .utf8) == "damaged")
            }
        }

        private func damage(_ record: String, in sandbox: Sandbox) {
            let isWritten = FileManager.default.createFile(
                atPath: sandbox.state() + "/account/" + record,
                contents: Data("damaged\n".utf8),
                attributes: [.posixPermissions: 0o600]
            )
            #expect(isWritten)
        }

        @Test(arguments: [["joined-systems"], ["formerly-revoked"], ["joined-systems", "formerly-revoked"]])
        func `the finding about damaged records states the effects of those that are damaged`(
            records: [String]
        ) async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                for record in records { self.damage(record, in: sandbox) }
                let json = try await sandbox.run("account", "show", "--json")
                let why = try #require(json.event("finding")?["why"] as? String)
                let areJoinedMissing = records.contains("joined-systems")
                #expect(why.contains("Systems that joined may be missing") == areJoinedMissing, "\(why)")
                #expect(why.contains("was revoked before") == records.contains("formerly-revoked"), "\(why)")
                let text = try await sandbox.run("account", "show")
                let isCountStated = text.lines.contains("joined       no other system yet")
                #expect(isCountStated == !areJoinedMissing, "\(text)")
            }
        }

        @Test func `a damaged record of systems is a warning, and the account works`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                self.damage("joined-systems", in: sandbox)
                for command in ["show", "systems"] {
                    let text = try await sandbox.run("account", command)
                    #expect(text.status == 0 && text.errors.contains("account/joined-systems"), "\(text)")
                    let json = try await sandbox.run("account", command, "--json")
                    #expect(json.event("finding")?["status"] as? String == "warning", "\(json)")
                }
                let doctor = try await sandbox.run("doctor", "--loopback", "--json")
                let statuses = doctor.json.filter { $0["code"] as? String == "account" }.map { $0["status"] as? String }
                #expect(statuses == ["ok", "warning"])
                let inviting = try await Self.whileInviting(sandbox) { _, uri in
                    let joined = try await sandbox.join(uri, as: "other")
                    #expect(joined.status == 0)
                }
                #expect(inviting.status == 0)
            }
        }

        @Test func `joining reports an old account only if there was one`() async throws {
            try await Sandbox.with { sandbox in
                var lines: [String] = []
                _ = try await Self.whileInviting(sandbox) { _, uri in
                    lines = try await sandbox.join(uri, as: "other").lines
                }
                #expect(lines.first?.hasPrefix("This machine is now system") == true)
                #expect(!lines.contains { $0.contains("old account") })
                _ = try await sandbox.account("third")
                _ = try await Self.whileInviting(sandbox) { _, uri in
                    lines = try await sandbox.join(uri, as: "third").lines
                }
                #expect(lines.contains { $0.contains("old account") })
            }
        }

        @Test func `a state directory in the environment must be an absolute path`() async throws {
            try await Sandbox.with { sandbox in
                let shown = try await sandbox.run(
                    "account",
                    "show",
                    around: ["/usr/bin/env", "REMOTE_SYSTEMS_STATE=here"]
                )
                #expect(shown.status == 2)
                #expect(shown.errors.contains("REMOTE_SYSTEMS_STATE"))
            }
        }

        @Test func `a damaged or missing root key is reported by show and doctor`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                let key = sandbox.state() + "/account/root-key.pem"
                try Data([0x81, 0xFF, 0x00]).write(to: URL(fileURLWithPath: key))
                #expect(try await sandbox.run("account", "show").status == 2)
                let damaged = try await sandbox.start(["doctor", "--loopback", "--json"]).finish()
                let problem = try #require(damaged.json.first { $0["code"] as? String == "account" })
                #expect(problem["status"] as? String == "problem")
                #expect((problem["advice"] as? String)?.contains("recovery file") == true)

                try FileManager.default.removeItem(atPath: key)
                #expect(try await sandbox.account()["lacksKey"] as? Bool == true)
                let shown = try await sandbox.run("account", "show")
                #expect(shown.status == 0)
                #expect(shown.lines.contains { $0.contains("was here and is missing") && $0.count <= 80 })
                let missing = try await sandbox.start(["doctor", "--loopback", "--json"]).finish()
                let warning = try #require(missing.json.first { $0["code"] as? String == "account" })
                #expect(warning["status"] as? String == "warning")
                #expect((warning["advice"] as? String)?.contains("account import") == true)
            }
        }

        @Test func `a directory without permission is reported`() async throws {
            try await Sandbox.with { sandbox in
                // Under this path even root cannot create a directory.
                let finished = try await sandbox.start(
                    ["account", "show", "--json", "--state-directory", "/sys/remote-systems"]
                ).finish()
                #expect(finished.status == 2)
                #expect(finished.event("failed")?["reason"] as? String == "notAllowed")
            }
        }

        @Test func `a system joins with an invitation, and both sides report it (X-37)`() async throws {
            try await Sandbox.with { sandbox in
                var joined: JSONLine = [:]
                let inviting = try await Self.whileInviting(sandbox) { _, uri in
                    let finished = try await sandbox.join(uri, "--json", as: "other")
                    #expect(finished.status == 0)
                    joined = try #require(finished.event("joined"))
                }
                #expect(inviting.status == 0)
                #expect(inviting.event("joined")?["systemID"] as? String == joined["systemID"] as? String)
                let own = try await sandbox.account()
                #expect(joined["accountID"] as? String == own["accountID"] as? String)
                #expect(joined["isAuthority"] as? Bool == false)
                #expect(own["joined"] as? [String] == [try #require(joined["systemID"] as? String)])
                let other = try await sandbox.account("other")
                #expect(other["accountID"] as? String == own["accountID"] as? String)
            }
        }

        @Test(arguments: ["file", "-"])
        func `an invitation is read from the first line of a file or of standard input, and works once`(
            source: String
        ) async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account("other")
                var text = ""
                let inviting = try await Self.whileInviting(sandbox) { _, uri in
                    text = uri
                    let input = Array("\(uri)\r\nanother line\n".utf8)
                    let file = "\(sandbox.directory)/invitation"
                    try Data(input).write(to: URL(fileURLWithPath: file))
                    let finished = try await sandbox.start(
                        ["account", "join", "--invitation-file", source == "-" ? "-" : file],
                        as: "other",
                        input: source == "-" ? input : []
                    ).finish()
                    #expect(finished.status == 0, "\(finished)")
                    #expect(finished.lines.contains { $0.contains("previous-") })
                }
                #expect(inviting.status == 0)
                let again = try await sandbox.join(text, "--json", as: "third")
                #expect(again.status == 2)
                #expect(again.event("failed")?["error"] as? String == "unreachable")
                #expect(!FileManager.default.fileExists(atPath: sandbox.state("third") + "/account"))
            }
        }

        @Test func `on a terminal the command asks for the invitation, and one line is enough`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Self.whileInviting(sandbox) { _, uri in
                    let terminal = try Terminal()
                    let joining = try sandbox.start(["account", "join"], as: "other", around: terminal.around)
                    do {
                        try await terminal.wait(for: "Paste the invitation: ")
                        try terminal.type(uri)
                        #expect(try await joining.finish().status == 0, "\(terminal.shown)")
                        try await terminal.wait(for: "This machine is now system")
                    } catch {
                        await joining.process.stop()
                        throw error
                    }
                }
            }
        }

        @Test(arguments: [[], ["--json"], ["--frobnicate"], ["--invitation-file"], ["--"], ["another"]])
        func `an invitation as an argument is refused, and no part of its secret is printed`(
            before: [String]
        ) async throws {
            try await Sandbox.with { sandbox in
                let invitation =
                    "remote-systems://join?v=1&account=\(String(repeating: "a", count: 52))&address=127.0.0.1:1"
                    + "&expires=1700000000&secret=\(String(repeating: "zqx", count: 8))ab"
                let finished = try await sandbox.start(["account", "join"] + before + [invitation]).finish()
                #expect(finished.status == 64)
                for line in finished.lines + [finished.errors] {
                    #expect(!line.contains("zqx") && !line.contains("remote-systems:"), "\(line)")
                }
                // The parser reports an unknown option before the command sees the argument.
                guard before != ["--frobnicate"] else { return }
                let errors = finished.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(errors.contains("could read in the process list"), "\(errors)")
                #expect(errors.contains("Run 'remotesystems account join' and paste it"), "\(errors)")
                #expect(errors.contains("Make a new invitation"), "\(errors)")
                #expect(!FileManager.default.fileExists(atPath: sandbox.state()))
            }
        }

        @Test func `wrong secrets are reported, and the invitation stays valid`() async throws {
            try await Sandbox.with { sandbox in
                let inviting = try await Self.whileInviting(sandbox) { _, uri in
                    let start = try #require(uri.range(of: "secret="))
                    let wrong = String(uri[..<start.upperBound]) + String(repeating: "a", count: 26)
                    for _ in 1...4 {
                        let finished = try await sandbox.join(wrong, "--json", as: "other")
                        #expect(finished.status == 2)
                        #expect(finished.event("failed")?["reason"] as? String == "wrongSecret")
                    }
                    // The whole output of `invite`, as a script has it in a file.
                    let output = "remotesystems account join\n\(uri)\n"
                    let path = sandbox.state() + "-invitation"
                    try output.write(toFile: path, atomically: true, encoding: .utf8)
                    let joined = try await sandbox.run("account", "join", "--invitation-file", path, as: "other")
                    #expect(joined.status == 0)
                }
                #expect(inviting.status == 0)
                #expect(inviting.event("joined") != nil)
                // The person at the inviting machine learns of it.
                #expect(inviting.errors.contains("wrong"))
            }
        }

        @Test func `Ctrl-C withdraws an invitation`() async throws {
            try await Sandbox.with { sandbox in
                let inviting = try await Self.whileInviting(sandbox) { inviting, _ in inviting.process.send(SIGINT) }
                #expect(inviting.status == 1)
                #expect(inviting.event("withdrawn") != nil)
            }
        }

        @Test(arguments: [
            ("", "invitationMalformed"), ("hello", "invitationMalformed"),
            ("remote-systems://join?v=2", "invitationMalformed"),
            (
                "remote-systems://join?v=1&account=\(String(repeating: "a", count: 52))&address=127.0.0.1:1"
                    + "&expires=1700000000&secret=\(String(repeating: "a", count: 26))", "invitationExpired"
            ),
        ])
        func `an invalid or expired invitation is reported`(text: String, reason: String) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.run("account", "join", "--json", input: Array(text.utf8))
                #expect(finished.status == 2)
                let failure = try #require(finished.event("failed"))
                #expect(failure["reason"] as? String == reason)
                let saysWhatToEnter = (failure["message"] as? String)?.contains("begins with 'remote-systems:'")
                #expect(saysWhatToEnter == (reason == "invitationMalformed"))
            }
        }

        @Test func `an account is restored from its recovery file (X-37)`() async throws {
            try await Sandbox.with { sandbox in
                let own = try await sandbox.account()
                let (file, passphrase) = (sandbox.directory + "/recovery", sandbox.directory + "/passphrase")
                try Data("correct horse battery\nsecond line\n".utf8).write(to: URL(fileURLWithPath: passphrase))
                let exported = try await sandbox.run("account", "export", file, "--passphrase-file", passphrase)
                #expect(exported.status == 0)
                let again = try await sandbox.start(
                    ["account", "export", file, "--json", "--passphrase-file", passphrase]
                ).finish()
                #expect(again.status == 2)
                #expect(again.event("failed")?["reason"] as? String == "fileExists")
                // Without a terminal, a question for the passphrase would fail.
                for name in ["recovery", "missing/recovery"] {
                    let path = sandbox.directory + "/" + name
                    let arguments = ["account", "export", path, "--json"]
                    let unasked = try await sandbox.start(arguments, around: ["setsid", "--wait"]).finish()
                    let reason = unasked.event("failed")?["reason"] as? String
                    #expect(unasked.status == 2 && reason != "localResources", "\(unasked)")
                }
                let imported = try await sandbox.start(
                    ["account", "import", file, "--json", "--passphrase-file", "-"],
                    as: "other",
                    input: Array("correct horse battery".utf8)
                ).finish()
                #expect(imported.status == 0)
                #expect(imported.event("imported")?["accountID"] as? String == own["accountID"] as? String)
                #expect(imported.event("imported")?["isAuthority"] as? Bool == true)
                let wrong = try await sandbox.start(
                    ["account", "import", file, "--json", "--passphrase-file", "-"],
                    as: "third",
                    input: Array("wrong horse battery".utf8)
                ).finish()
                #expect(wrong.status == 2)
                #expect(wrong.event("failed")?["reason"] as? String == "wrongPassphrase")
            }
        }

        @Test func `a passphrase that is too short and a missing file are reported`() async throws {
            try await Sandbox.with { sandbox in
                let file = sandbox.directory + "/recovery"
                let short = try await sandbox.start(
                    ["account", "export", file, "--json", "--passphrase-file", "-"],
                    input: Array("short\n".utf8)
                ).finish()
                #expect(short.status == 2)
                #expect(short.event("failed")?["reason"] as? String == "weakPassphrase")
                #expect(!FileManager.default.fileExists(atPath: file))
                let missing = try await sandbox.start(
                    ["account", "import", file, "--json", "--passphrase-file", file + ".none"]
                ).finish()
                #expect(missing.status == 2)
            }
        }

        @Test func `without a terminal the error names the other sources of a passphrase`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(
                    ["account", "export", sandbox.directory + "/recovery"],
                    around: ["setsid", "--wait"]
                ).finish()
                #expect(finished.status == 2)
                #expect(finished.errors.contains("--passphrase-file"))
                #expect(!FileManager.default.fileExists(atPath: sandbox.directory + "/recovery"))
            }
        }
    }
}
