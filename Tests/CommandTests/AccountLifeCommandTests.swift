// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension CommandTests {
    /// The commands for the life of an account (issue 10, section 2; `Docs/accounts.md`).
    @Suite struct AccountLife {
        private func join(_ machine: String, _ sandbox: Sandbox) async throws -> String {
            let inviting = try await Account.whileInviting(sandbox) { _, uri in
                let joined = try await sandbox.join(uri, "--loopback", as: machine)
                #expect(joined.status == 0)
            }
            return try #require(inviting.event("joined")?["systemID"] as? String)
        }

        @Test func `the systems of the account are listed, with those that were revoked`() async throws {
            try await Sandbox.with { sandbox in
                #expect(try await sandbox.run("account", "rename", "Attic", as: "second").status == 0)
                let (second, third) = (try await self.join("second", sandbox), try await self.join("third", sandbox))
                #expect(try await sandbox.run("account", "revoke", third, "--loopback").status == 0)
                #expect(try await sandbox.run("account", "rename", "Atlas").status == 0)
                let listed = try await sandbox.run("account", "systems", "--json")
                #expect(listed.status == 0)
                let systems = listed.json.filter { $0["event"] as? String == "account-system" }
                #expect(systems.count == 3)
                #expect(systems.first?["isLocal"] as? Bool == true)
                #expect(systems.first?["name"] as? String == "Atlas")
                func state(_ id: String) -> Bool? {
                    systems.first { $0["id"] as? String == id }?["isRevoked"] as? Bool
                }
                #expect(state(second) == false && state(third) == true)
                let text = try await sandbox.run("account", "systems")
                #expect(text.lines.contains { $0.hasSuffix("revoked") })
                // A revoked system does not count as joined.
                let account = try await sandbox.account()
                #expect(account["joined"] as? [String] == [second] && account["revoked"] as? [String] == [third])
                let shown = try await sandbox.run("account", "show")
                #expect(
                    shown.lines.contains("joined       1, by id:") && shown.lines.contains("revoked      1, by id:")
                )
                // The systems that join send their names, so each is known before it is met.
                #expect(systems.first { $0["id"] as? String == second }?["name"] as? String == "Attic")
                #expect(systems.allSatisfy { $0["name"] is String })
                #expect(text.lines.contains { $0.contains("Attic  met ") })
                #expect(text.lines.allSatisfy { $0.count <= 80 })
            }
        }

        @Test(arguments: ["info", "ping"], [true, false])
        func `a system that a command has used is listed, and a machine alone says how others get into the list`(
            command: String,
            byName: Bool
        ) async throws {
            try await Sandbox.with { sandbox in
                _ = try await self.join("other", sandbox)
                #expect(try await sandbox.run("account", "rename", "Atlas").status == 0)
                let own = try #require(try await sandbox.account()["systemID"] as? String)
                let alone = try await sandbox.run("account", "systems", as: "other")
                #expect(alone.lines.count == 1 && alone.errors.contains("'remotesystems"))
                try await sandbox.whileServing { _, port in
                    let named = byName ? "Atlas" : "127.0.0.1:\(port)"
                    // It ends as soon as the system is found, or has responded.
                    let options = ["--loopback", "--wait", "60"] + (command == "ping" ? ["--count", "1"] : [])
                    let used = try await sandbox.start([command, named] + options, as: "other").finish(
                        within: .seconds(90)
                    )
                    #expect(used.status == 0, "\(used)")
                }
                let systems = try await sandbox.run("account", "systems", "--json", as: "other").json
                let met = try #require(systems.first { $0["id"] as? String == own }, "\(systems)")
                #expect(met["name"] as? String == "Atlas" && met["lastMet"] is String)
                let text = try await sandbox.run("account", "systems", as: "other")
                #expect(text.lines.count == 2 && text.errors.isEmpty)
            }
        }

        @Test func `a notification to all names the systems that are away, this one included, and no revoked one`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let own = try #require(try await sandbox.account()["systemID"] as? String)
                #expect(try await sandbox.run("account", "rename", "Attic", as: "second").status == 0)
                let (second, third) = (try await self.join("second", sandbox), try await self.join("third", sandbox))
                #expect(try await sandbox.run("account", "revoke", third, "--loopback").status == 0)
                let notify = ["notify", "--all", "--title", "T", "--loopback", "--search-time", "0.5"]
                let sent = try await sandbox.start(notify + ["--json"]).finish()
                #expect(sent.status == 2)
                let deliveries = sent.json.filter { $0["event"] as? String == "delivery" }
                #expect(deliveries.compactMap { $0["systemID"] as? String } == [own, second], "\(sent)")
                #expect(deliveries.allSatisfy { $0["status"] as? String == "not reached" })
                #expect(deliveries.allSatisfy { $0["error"] as? String == "unreachable" })
                let shown = try await sandbox.start(notify).finish()
                #expect(shown.errors.contains("Attic: not reached. "), "\(shown)")
            }
        }

        @Test func `a name of another form is refused`() async throws {
            try await Sandbox.with { sandbox in
                for name in ["", "a\nb", String(repeating: "a", count: 257)] {
                    let renamed = try await sandbox.run("account", "rename", name)
                    #expect(renamed.status == 64 && renamed.errors.contains("A system's name has"), "\(renamed)")
                }
                let reset = try await sandbox.run("account", "rename")
                #expect(reset.status == 0)
                let own = try await sandbox.run("account", "systems", "--json").event("account-system")
                let name = try #require(own?["name"] as? String)
                #expect(reset.lines == ["This machine has its own name again: \(name)."])
            }
        }

        @Test func `the root key is replaced only where it is`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await self.join("second", sandbox)
                let before = try await sandbox.account()
                let refused = try await sandbox.run("account", "rotate-root-key", "--json", as: "second")
                #expect(refused.status == 2)
                #expect(refused.event("failed")?["reason"] as? String == "notAuthority")
                let rotated = try await sandbox.run("account", "rotate-root-key", "--json")
                #expect(rotated.status == 0)
                #expect(rotated.event("rotated")?["stolen"] as? Bool == false)
                let after = try await sandbox.account()
                #expect(after["accountID"] as? String == before["accountID"] as? String)
                #expect(after["systemID"] as? String == before["systemID"] as? String)
                #expect(after["isAuthority"] as? Bool == true)
            }
        }

        @Test func `after a theft, the systems that must join again are marked until they have`() async throws {
            try await Sandbox.with { sandbox in
                let (second, third) = (try await self.join("second", sandbox), try await self.join("third", sandbox))
                func marked() async throws -> Set<String> {
                    let systems = try await sandbox.run("account", "systems", "--json").json
                    return Set(
                        systems.filter { $0["mustJoinAgain"] as? Bool == true }.compactMap { $0["id"] as? String }
                    )
                }
                #expect(try await marked() == [])
                let ordinary = try await sandbox.run("account", "rotate-root-key")
                #expect(ordinary.status == 0 && ordinary.lines.contains { $0.contains("'remotesystems host run'") })
                #expect(try await marked() == [])
                let stolen = try await sandbox.run("account", "rotate-root-key", "--stolen")
                #expect(stolen.status == 0)
                #expect((ordinary.lines + stolen.lines).allSatisfy { $0.count <= 80 }, "\(stolen)")
                #expect(try await marked() == [second, third])
                let text = try await sandbox.run("account", "systems")
                #expect(text.lines.count { $0.hasSuffix("must join again") } == 2)
                // The end of a certificate has whole seconds. One that was issued in the second of the theft cannot be
                // distinguished from an earlier one, and the commands have no clock that a test could set.
                try await Task.sleep(for: .seconds(1.1))
                #expect(try await self.join("second", sandbox) == second)
                #expect(try await marked() == [third])
                // The new list of revoked systems is empty, so the command names those that had been revoked.
                let revoked = try await sandbox.run("account", "revoke", third, "--loopback", "--wait", "1")
                #expect(revoked.status == 0)
                let rotated = try await sandbox.run("account", "rotate-root-key", "--stolen", "--json")
                #expect(rotated.event("rotated")?["formerlyRevoked"] as? [String] == [third])
                // It stays marked until it is invited again, and does not look like one that only must join again.
                #expect(try await marked() == [second])
                let marks = try await sandbox.run("account", "systems")
                #expect(marks.lines.count { $0.hasSuffix("was revoked; do not invite") } == 1)
                let account = try await sandbox.account()
                #expect(account["formerlyRevoked"] as? [String] == [third])
                #expect(account["joined"] as? [String] == [second] && account["revoked"] as? [String] == [])
                let shown = try await sandbox.run("account", "show")
                #expect(shown.lines.contains { $0.hasPrefix("was revoked  1, ") && $0.hasSuffix("do not invite:") })
                #expect((marks.lines + shown.lines).allSatisfy { $0.count <= 80 || $0.hasPrefix("kept in") })
                try await self.expectWarning(ofLostRecord: sandbox)
                #expect(try await self.join("third", sandbox) == third)
                let readmitted = try await sandbox.account()
                #expect(readmitted["formerlyRevoked"] as? [String] == [])
                #expect(readmitted["joined"] as? [String] == [second, third])
            }
        }

        /// Deletes the record of formerly revoked systems for a while.
        private func expectWarning(ofLostRecord sandbox: Sandbox) async throws {
            let path = sandbox.state() + "/account/formerly-revoked"
            try FileManager.default.moveItem(atPath: path, toPath: path + ".bak")
            for arguments in [["account", "show"], ["account", "systems"], ["doctor", "--loopback"]] {
                let lost = try await sandbox.start(arguments + ["--json"]).finish()
                let findings = lost.json.filter { ($0["what"] as? String)?.contains("lacks systems") == true }
                #expect(findings.map { $0["status"] as? String } == ["warning"], "\(lost)")
            }
            try FileManager.default.moveItem(atPath: path + ".bak", toPath: path)
        }

        @Test func `a stolen key is replaced although a file of links is damaged, and the output states it`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let rotation = ["account", "rotate-root-key", "--stolen", "--json"]
                let before = try await sandbox.start(rotation).finish()
                #expect(before.event("rotated")?["linksUnreadable"] as? Bool == false, "\(before)")
                let isWritten = FileManager.default.createFile(
                    atPath: sandbox.state() + "/account/learned-links.pem",
                    contents: Data("damaged".utf8),
                    attributes: [.posixPermissions: 0o600]
                )
                #expect(isWritten)
                #expect(try await sandbox.run("account", "links").status == 2)
                let rotated = try await sandbox.start(rotation).finish()
                #expect(rotated.status == 0, "\(rotated)")
                #expect(rotated.event("rotated")?["linksUnreadable"] as? Bool == true, "\(rotated)")
                #expect(try await sandbox.run("account", "links").status == 0)
            }
        }

        @Test func `an invitation that a new root key withdraws says so`() async throws {
            try await Sandbox.with { sandbox in
                let inviting = try await Account.whileInviting(sandbox) { _, _ in
                    let rotation = try await sandbox.run("account", "rotate-root-key")
                    #expect(rotation.status == 0)
                }
                #expect(inviting.status == 1)
                let failure = try #require(inviting.event("failed"))
                #expect(failure["reason"] as? String == "invitationUsed")
                let message = try #require(failure["message"] as? String)
                #expect(message.contains("root key was replaced") && message.contains("Make a new one"), "\(message)")
            }
        }

        @Test func `Ctrl-C at the question for the invitation cancels the command`() async throws {
            try await Sandbox.with { sandbox in
                let terminal = try Terminal()
                let joining = try sandbox.start(["account", "join"], as: "other", around: terminal.around)
                do {
                    try await terminal.wait(for: "Paste the invitation: ")
                    joining.process.send(SIGINT)
                    #expect(try await joining.finish().status == 2, "\(terminal.shown)")
                    try await terminal.wait(for: "was cancelled")
                } catch {
                    await joining.process.stop()
                    throw error
                }
                #expect(!FileManager.default.fileExists(atPath: sandbox.state("other") + "/account"))
            }
        }

        /// A signal may come when the work is done, so there are several attempts.
        ///
        /// - Parameter start: starts the command for an attempt.
        /// - Returns: the end of the first command that a signal has ended, after `start` was called for it.
        private func interrupted(
            _ start: (Int) async throws -> RunningCommand
        ) async throws -> FinishedCommand {
            for attempt in 1...20 {
                let running = try await start(attempt)
                _ = try await eventually("a command that handles signals", within: .seconds(30)) {
                    running.trapsTermination || running.process.exitCode != nil ? true : nil
                }
                running.process.send(SIGTERM)
                let ended = try await running.finish()
                if ended.event("failed")?["error"] as? String == "cancelled" { return ended }
            }
            throw IntegrationError("no signal has ended the command")
        }

        @Test func `a revoked system that is named again by its id or the start of it is an error`() async throws {
            try await Sandbox.with { sandbox in
                let second = try await self.join("second", sandbox)
                let options = ["--loopback", "--wait", "0.5", "--json"]
                let revoked = try await sandbox.start(["account", "revoke", second] + options).finish()
                #expect(revoked.status == 0)
                for text in [second, String(second.prefix(6))] {
                    let again = try await sandbox.start(["account", "revoke", text] + options).finish()
                    #expect(again.status == 2 && again.event("revoked") == nil, "\(again)")
                    let failure = try #require(again.event("failed"))
                    #expect(failure["systemIDs"] as? [String] == [second])
                    #expect((failure["message"] as? String)?.contains(" was already revoked. ") == true)
                }
            }
        }

        @Test func `a revocation during which a command was killed is completed by a repeated one, which says so`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let second = try await self.join("second", sandbox)
                let options = ["--loopback", "--wait", "0.5"]
                // A process that dies between the two files leaves the new list and the old discovery key.
                let key = URL(fileURLWithPath: sandbox.state() + "/account/discovery-key.pem")
                let old = try Data(contentsOf: key)
                let revoked = try await sandbox.start(["account", "revoke", second] + options).finish()
                #expect(revoked.status == 0, "\(revoked)")
                try old.write(to: key)
                let again = try await sandbox.start(["account", "revoke", second] + options).finish()
                #expect(again.status == 0 && again.lines.contains { $0.contains("is complete now") }, "\(again)")
                #expect(try Data(contentsOf: key) != old)
                let third = try await sandbox.start(["account", "revoke", second] + options).finish()
                let said = third.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(third.status == 2 && said.contains("Nothing was changed"), "\(third)")
            }
        }

        @Test(arguments: ["export", "import"])
        func `a signal during the work with a passphrase ends the command before it has written anything`(
            command: String
        ) async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                let passphrase = sandbox.directory + "/passphrase"
                try Data("correct horse battery\n".utf8).write(to: URL(fileURLWithPath: passphrase))
                let options = ["--json", "--passphrase-file", passphrase]
                let recovery = sandbox.directory + "/recovery"
                let exported = try await sandbox.start(["account", "export", recovery] + options).finish()
                #expect(exported.status == 0)
                let oneProcessor = try Self.onOneProcessor
                let isExport = command == "export"
                var (ignored, cancelled) = (0, 0)
                for attempt in 1...20 where cancelled < 4 {
                    let written = isExport ? "\(recovery)-\(attempt)" : sandbox.state("other\(attempt)") + "/account"
                    let running = try sandbox.start(
                        ["account", command, isExport ? written : recovery] + options,
                        as: isExport ? "own" : "other\(attempt)",
                        around: oneProcessor
                    )
                    // The command is stopped, so that what it has written does not change before the signal comes.
                    let isEarly = try await self.stops(running) && !FileManager.default.fileExists(atPath: written)
                    running.process.send(SIGTERM)
                    running.process.send(SIGCONT)
                    let ended = try await running.finish()
                    let isCancelled = ended.event("failed")?["error"] as? String == "cancelled"
                    if isEarly, !isCancelled { ignored += 1 }
                    guard isCancelled else { continue }
                    cancelled += 1
                    #expect(ended.status == 2, "\(ended)")
                    #expect(!FileManager.default.fileExists(atPath: written))
                }
                // A signal in the moment between the work and the first byte is too late, which is very rare.
                #expect(cancelled == 4 && ignored <= 1, "\(ignored) signals were ignored")
            }
        }

        /// The words before a command that let it run on one processor only, where its shared pool has one thread.
        private static var onOneProcessor: [String] {
            get throws {
                let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") })
                let list = try #require(line.split(whereSeparator: \.isWhitespace).last)
                return ["/usr/bin/taskset", "-c", String(list.prefix { $0.isNumber })]
            }
        }

        /// Stops a command once it handles signals.
        ///
        /// - Returns: Whether the command is stopped; `false` if it has ended.
        private func stops(_ running: RunningCommand) async throws -> Bool {
            _ = try await eventually("a command that handles signals", within: .seconds(30)) {
                running.trapsTermination || running.process.exitCode != nil ? true : nil
            }
            running.process.send(SIGSTOP)
            do {
                return try await eventually("a command that is stopped", within: .seconds(30)) { () -> Bool? in
                    if running.process.exitCode != nil { return false }
                    let file = "/proc/\(running.process.id)/stat"
                    // The state is behind the name of the program, which is in parentheses.
                    let state = (try? String(contentsOfFile: file, encoding: .utf8))?.split(separator: ")").last
                    return state?.hasPrefix(" T") == true ? true : nil
                }
            } catch {
                await running.process.stop()
                throw error
            }
        }

        @Test func `a signal ends revoke, and what was not reported is not revoked`() async throws {
            try await Sandbox.with { sandbox in
                var id = ""
                let ended = try await self.interrupted { attempt in
                    id = try #require(try await sandbox.account("other\(attempt)")["systemID"] as? String)
                    return try sandbox.start(["account", "revoke", id, "--loopback", "--wait", "30", "--json"])
                }
                #expect(ended.status == 2, "\(ended)")
                let revoked = try await sandbox.account()["revoked"] as? [String]
                #expect(revoked?.contains(id) == (ended.event("revoked") != nil), "\(ended)")
            }
        }

        @Test func `a lost list of revoked systems is an error that states the way back`() async throws {
            try await Sandbox.with { sandbox in
                #expect(try await sandbox.run("account", "rename", "Attic", as: "second").status == 0)
                let (second, third) = (try await self.join("second", sandbox), try await self.join("third", sandbox))
                for system in [second, third] {
                    let revoked = try await sandbox.run("account", "revoke", system, "--loopback")
                    #expect(revoked.status == 0)
                }
                try FileManager.default.removeItem(atPath: sandbox.state() + "/account/revoked-systems.pem")
                for command in [["account", "show"], ["serve", "--loopback", "--port", "0"]] {
                    let failed = try await sandbox.start(command + ["--json"]).finish()
                    #expect(failed.status == 2)
                    let failure = try #require(failed.event("failed"))
                    #expect(failure["reason"] as? String == "revocationsLost")
                    #expect((failure["message"] as? String)?.contains("--lost-list") == true)
                }
                // No program can search while the list is lost. Names and ids are those of systems that were met.
                let unknown = try await sandbox.run("account", "revoke", "missing", "--lost-list", "--json")
                let message = try #require(unknown.event("failed")?["message"] as? String)
                #expect(unknown.status == 2 && message.contains("Attic") && message.contains(third.prefix(8)))
                let again = try await sandbox.run("account", "revoke", "Attic", "--lost-list", "--loopback")
                #expect(again.status == 0)
                let said = again.lines.joined(separator: " ")
                #expect(said.contains("only this system") && said.contains("is trusted again"), "\(said)")
                #expect(try await sandbox.account()["revoked"] as? [String] == [second])
                // The list is there again, so this is an ordinary revocation, and no other system is trusted again.
                let options = ["--lost-list", "--loopback", "--wait", "0.5"]
                let other = try await sandbox.start(["account", "revoke", String(third.prefix(8))] + options).finish()
                #expect(other.status == 0 && !other.lines.joined(separator: " ").contains("trusted again"), "\(other)")
                #expect(Set(try await sandbox.account()["revoked"] as? [String] ?? []) == [second, third])
            }
        }
    }
}
