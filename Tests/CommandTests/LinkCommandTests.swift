// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import Testing

extension CommandTests {
    /// `account links`, `account grant` and `account unlink`, with two accounts that are linked through their stores.
    @Suite struct Links {
        private static func linked(_ body: (Sandbox, AccountID) async throws -> Void) async throws {
            try await Sandbox.with { sandbox in
                let (own, other) = (
                    AccountStore(directory: sandbox.state()), AccountStore(directory: sandbox.state("bo"))
                )
                let now = Date()
                _ = try own.identity()
                let account = try other.identity().accountID
                let ours = try own.linkOffer(name: "Ada", granting: Grants(services: ["test.volume"]), now: now)
                let theirs = try other.linkOffer(name: "Bo\u{1B}[31m", granting: Grants(), now: now)
                try own.link(ours, with: theirs, now: now)
                try other.link(theirs, with: ours, now: now)
                try await body(sandbox, account)
            }
        }

        @Test func `without links, the command says how to make one`() async throws {
            try await Sandbox.with { sandbox in
                let shown = try await sandbox.run("account", "links")
                #expect(shown.status == 0 && shown.lines.contains { $0.contains("remotesystems pair") })
                #expect(try await sandbox.run("account", "links", "--json").json.isEmpty)
            }
        }

        @Test func `a machine without the root key says where links are changed`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    let joined = try await sandbox.join(uri, as: "other")
                    #expect(joined.status == 0)
                }
                let member = try await sandbox.run("account", "links", as: "other")
                #expect(member.status == 0 && member.errors.contains("'authority'"))
                // The other machine may have made a link meanwhile.
                #expect(member.lines.joined(separator: " ").contains("'remotesystems list' meets"), "\(member)")
                #expect(!member.lines.contains { $0.contains("No account is linked") })
                let holder = try await sandbox.run("account", "links")
                #expect(holder.status == 0 && holder.errors.isEmpty)
                for command in [["grant", "Bo", "--service", "test.volume"], ["unlink", "Bo"]] {
                    let refused = try await sandbox.start(["account"] + command + ["--json"], as: "other").finish()
                    #expect(refused.status == 2)
                    let failure = try #require(refused.event("failed"))
                    #expect(failure["reason"] as? String == "notAuthority")
                    #expect((failure["message"] as? String)?.contains("the machine that holds the key") == true)
                }
            }
        }

        @Test func `links are listed, granted and withdrawn, by name or by the start of the id`() async throws {
            try await Self.linked { sandbox, account in
                let link = try #require(try await sandbox.run("account", "links", "--json").event("link"))
                #expect(link["accountID"] as? String == account.description)
                #expect(link["name"] as? String == "Bo [31m" && link["state"] as? String == "active")
                #expect((link["granted"] as? [String: Any])?["services"] as? [String] == ["test.volume"])
                let theirs = try #require(
                    try await sandbox.run("account", "links", "--json", as: "bo").event("link")
                )
                #expect((theirs["received"] as? [String: Any])?["services"] as? [String] == ["test.volume"])

                let granted = try await sandbox.run(
                    "account",
                    "grant",
                    "Bo [31m",
                    "--service",
                    "test.photos",
                    "--scheme",
                    "HTTPS",
                    "--days",
                    "7",
                    "--json"
                )
                let present = try #require(granted.event("granted")?["granted"] as? [String: Any])
                #expect(present["services"] as? [String] == ["test.photos"])
                #expect(present["schemes"] as? [String] == ["https"])
                #expect(present["end"] is String)

                func rights() async throws -> [String] {
                    try await sandbox.run("account", "links").lines
                        .filter { $0.hasPrefix("granted") || $0.hasPrefix("received") }
                }
                #expect(try await rights().count == 2)
                #expect(try await rights().last?.hasSuffix("(as stated when it was linked)") == true)
                let prefix = String(account.description.prefix(6))
                let unlinked = try await sandbox.run("account", "unlink", prefix, "--loopback", "--json")
                #expect(unlinked.event("unlinked")?["state"] as? String == "withdrawn")
                let again = try await sandbox.run("account", "unlink", prefix, "--loopback")
                #expect(again.status == 2 && again.errors.contains("withdrawn already"))
                let shown = try await sandbox.run("account", "links")
                #expect(shown.lines.contains { $0.contains("withdrawn by this account") })
                #expect(try await rights().isEmpty)
            }
        }

        @Test func `the page of accounts has a command that grants the activities`() async throws {
            let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
            let page = try String(contentsOf: root.appending(path: "Docs/accounts.md"), encoding: .utf8)
            let prompt = "ada$  remotesystems account grant bo "
            let line = try #require(page.split(separator: "\n").first { $0.hasPrefix(prompt) })
            let options = line.dropFirst(prompt.count).split(separator: " ").map(String.init)
            try await Self.linked { sandbox, account in
                let command = ["account", "grant", account.description] + options + ["--json"]
                let granted = try await sandbox.start(command).finish()
                let rights = try #require(granted.event("granted")?["granted"] as? [String: Any])
                #expect(rights["services"] as? [String] == ["org.remotesystems.activities"])
                #expect(rights["topics"] as? [String] == ["org.remotesystems.activities"])
            }
        }

        @Test func `all rights are removed only on request`() async throws {
            try await Self.linked { sandbox, account in
                let id = account.description
                for options in [[], ["--nothing", "--service", "test.volume"]] {
                    let refused = try await sandbox.start(["account", "grant", id] + options).finish()
                    #expect(refused.status == 64 && refused.errors.contains("--nothing"))
                }
                func granted() async throws -> [String]? {
                    let link = try await sandbox.run("account", "links", "--json").event("link")
                    return (link?["granted"] as? [String: Any])?["services"] as? [String]
                }
                #expect(try await granted() == ["test.volume"])
                #expect(try await sandbox.run("account", "grant", id, "--nothing").status == 0)
                #expect(try await granted() == [])
            }
        }

        @Test(arguments: [false, true])
        func `a machine that joins or recovers another account says which links it has left`(
            isImport: Bool
        ) async throws {
            try await Self.linked { sandbox, _ in
                let passphrase = Array("correct horse battery\n".utf8)
                var options = ["account", "export", sandbox.directory + "/recovery", "--passphrase-file", "-"]
                var ended: FinishedCommand?
                if isImport {
                    let exported = try await sandbox.start(options, input: passphrase).finish()
                    #expect(exported.status == 0)
                    options[1] = "import"
                    ended = try await sandbox.start(options, as: "bo", input: passphrase).finish()
                    let text = ended?.lines.joined(separator: " ")
                    #expect(text?.contains("key was replaced after this file was written") == true)
                } else {
                    _ = try await Account.whileInviting(sandbox) { _, uri in
                        ended = try await sandbox.join(uri, "--json", as: "bo")
                    }
                    #expect(ended?.event("joined")?["endedLinks"] as? [String] == ["Ada"])
                    return
                }
                #expect(ended?.lines.contains { $0.contains("Ada.") } == true)
                #expect(ended?.lines.allSatisfy { $0.count <= 80 || $0.contains("set aside in") } == true)
            }
        }

        @Test func `a system that is not found may be one of a linked account, which commands do not find`()
            async throws
        {
            try await Self.linked { sandbox, account in
                func missing() async throws -> String? {
                    let info = try await sandbox.run("info", "kitchen", "--loopback", "--wait", "1", "--json")
                    return info.event("failed")?["message"] as? String
                }
                #expect(try await missing()?.contains("--filter authorization=linked") == true)
                let prefix = String(account.description.prefix(6))
                let unlinked = try await sandbox.run("account", "unlink", prefix, "--loopback", "--wait", "1")
                #expect(unlinked.status == 0 && unlinked.lines.contains { $0.contains("Ask its owner") })
                #expect(unlinked.lines.allSatisfy { $0.count <= 80 })
                #expect(try await missing()?.contains("--filter authorization=linked") == false)
            }
        }

        @Test func `unlink notifies the reachable systems of the other account, which run no watcher`() async throws {
            try await Self.linked { sandbox, account in
                let own = try #require(try await sandbox.account()["accountID"] as? String)
                let granted = try await sandbox.run("account", "grant", own, "--service", "test.volume", as: "bo")
                #expect(granted.status == 0, "\(granted)")
                let serving = try sandbox.start(["serve", "--loopback", "--port", "0", "--json"], as: "bo")
                do {
                    _ = try await serving.event("ready")
                    let filters = ["--filter", "authorization=linked"]
                    _ = try await eventually("the other account's system in the list", within: .seconds(60)) {
                        try await sandbox.start(["list", "--loopback", "--json"] + filters).finish()
                            .json.first { $0["event"] as? String == "system" }
                    }
                    let unlinked = try await sandbox.run("account", "unlink", account.description, "--loopback")
                    #expect(unlinked.status == 0, "\(unlinked)")
                    #expect(unlinked.lines.contains { $0.hasPrefix("Notifying the reachable system ") }, "\(unlinked)")
                    #expect(unlinked.lines.contains { $0.hasPrefix("The notice was sent.") }, "\(unlinked)")
                    #expect(!unlinked.lines.contains { $0.contains("Ask its owner") }, "\(unlinked)")
                    let state = try await eventually("the withdrawal", within: .seconds(60)) { () -> String? in
                        let link = try await sandbox.run("account", "links", "--json", as: "bo").event("link")
                        let state = link?["state"] as? String
                        return state == "active" ? nil : state
                    }
                    #expect(state.hasPrefix("withdrawn"))
                } catch {
                    await serving.process.stop()
                    throw error
                }
                await serving.process.stop()
            }
        }

        @Test func `activities that a linked account grants are listed with its name (H-02, H-97)`() async throws {
            try await Self.linked { sandbox, account in
                let right = "org.remotesystems.activities"
                let rights = ["--topic", right, "--service", right]
                let granted = try await sandbox.start(["account", "grant", account.description] + rights).finish()
                #expect(granted.status == 0, "\(granted)")
                let offering = try sandbox.start(["activities", "offer", "--loopback", "--json", "com.example.reading"])
                do {
                    _ = try await offering.event("offering")
                    let offer = try await eventually("the offer in the list", within: .seconds(60)) { () -> JSONLine? in
                        try await sandbox.run("activities", "list", "--loopback", "--json", as: "bo").event("activity")
                    }
                    #expect(offer["type"] as? String == "com.example.reading")
                    #expect(offer["accountName"] as? String == "Ada")
                    let own = try await sandbox.account()["accountID"] as? String
                    #expect(own != nil && offer["accountID"] as? String == own)
                    let why = try await sandbox.run("activities", "why-not", "--loopback", "--json", as: "bo")
                    let found = why.json.first { $0["condition"] as? String == "found" }
                    #expect((found?["message"] as? String)?.contains("linked accounts") == true, "\(why)")
                    #expect(!why.lines.contains { $0.contains("account invite") }, "\(why)")
                } catch {
                    await offering.process.stop()
                    throw error
                }
                await offering.process.stop()
            }
        }

        @Test func `an unknown account and invalid rights are refused`() async throws {
            try await Self.linked { sandbox, account in
                #expect(try await sandbox.run("account", "grant", "unknown", "--nothing").status == 2)
                let id = account.description
                for (option, name) in [
                    ("--scheme", "1x"), ("--scheme", "https:"), ("--scheme", "*"), ("--scheme", ""),
                    ("--service", "*"), ("--service", "com.example.*"), ("--service", "a\u{1B}[31mb"),
                    ("--service", String(repeating: "a", count: 256)), ("--topic", "a b"), ("--topic", "a\nb"),
                ] {
                    let refused = try await sandbox.run("account", "grant", id, option, name)
                    #expect(refused.status == 64, "\(option) \(name)")
                    #expect(refused.errors.contains("\(option) takes") && !refused.errors.contains("\u{1B}"))
                }
                #expect(try await sandbox.run("account", "grant", id, "--days", "0").status != 0)
                let link = try #require(try await sandbox.run("account", "links", "--json").event("link"))
                #expect((link["granted"] as? [String: Any])?["services"] as? [String] == ["test.volume"])
            }
        }
    }
}
