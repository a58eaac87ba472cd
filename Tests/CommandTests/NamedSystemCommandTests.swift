// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// Commands that name a system while another one of the account has the same name (issue 10, section 1, item 5).
    /// Real processes on the loopback interface.
    @Suite struct NamedSystems {
        /// Joins a machine to the account under a name. Returns its id.
        private func join(_ machine: String, named name: String, _ sandbox: Sandbox) async throws -> String {
            let inviting = try await Account.whileInviting(sandbox) { _, uri in
                let joined = try await sandbox.join(uri, as: machine)
                #expect(joined.status == 0)
            }
            #expect(try await sandbox.run("account", "rename", name, as: machine).status == 0)
            return try #require(inviting.event("joined")?["systemID"] as? String)
        }

        private func ping(_ sandbox: Sandbox, _ arguments: String...) async throws -> FinishedCommand {
            try await sandbox.start(["ping", "--loopback", "--count", "1", "--json"] + arguments).finish()
        }

        /// Waits until `list` shows systems with these ids.
        private func expect(_ ids: [String], _ sandbox: Sandbox) async throws {
            _ = try await eventually("the systems in the list", within: .seconds(60)) { () -> Bool? in
                let listed = try await sandbox.run("list", "--loopback", "--json").json
                return Set(ids).isSubset(of: listed.compactMap { $0["id"] as? String }) ? true : nil
            }
        }

        @Test func `a name that was used is never an impostor's until the user accepts it`() async throws {
            try await Sandbox.with { sandbox in
                let atlas = try await self.join("atlas", named: "Atlas", sandbox)
                let impostor = try await self.join("impostor", named: "Atlas", sandbox)
                try await sandbox.whileServing(as: "atlas") { _, _ in
                    try await self.expect([atlas], sandbox)
                    let first = try await self.ping(sandbox, "Atlas")
                    #expect(first.event("connected")?["systemID"] as? String == atlas, "\(first)")
                    try await sandbox.whileServing(as: "impostor") { _, _ in
                        for _ in 0..<5 {
                            let again = try await self.ping(sandbox, "Atlas")
                            #expect(again.status == 0, "\(again)")
                            #expect(again.event("connected")?["systemID"] as? String == atlas, "\(again)")
                        }
                        let info = try await sandbox.run("info", "Atlas", "--loopback", "--json")
                        #expect(info.event("system")?["id"] as? String == atlas, "\(info)")
                    }
                }
                try await sandbox.whileServing(as: "impostor") { _, port in
                    try await self.expect([impostor], sandbox)
                    for _ in 0..<2 {
                        let refused = try await self.ping(sandbox, "Atlas", "--wait", "3")
                        #expect(refused.status == 2 && refused.event("connected") == nil, "\(refused)")
                        let failure = try #require(refused.event("failed"))
                        #expect(failure["reason"] as? String == "nameChanged")
                        #expect(failure["systemIDs"] as? [String] == [atlas, impostor])
                        let message = try #require(failure["message"] as? String)
                        #expect(message.contains(atlas.prefix(8)) && message.contains(impostor.prefix(8)))
                        #expect(message.contains("--accept-name"))
                    }
                    let revoked = try await sandbox.run("account", "revoke", "Atlas", "--loopback", "--json")
                    #expect(revoked.event("failed")?["reason"] as? String == "nameChanged", "\(revoked)")
                    // Ids and addresses are not names.
                    #expect(try await self.ping(sandbox, impostor).status == 0)
                    #expect(try await self.ping(sandbox, "127.0.0.1:\(port)").status == 0)
                    let accepted = try await self.ping(sandbox, "Atlas", "--accept-name")
                    #expect(accepted.event("connected")?["systemID"] as? String == impostor, "\(accepted)")
                    #expect(try await self.ping(sandbox, "Atlas").status == 0)
                }
            }
        }

        @Test func `a new name of two systems is refused, and their ids are listed`() async throws {
            try await Sandbox.with { sandbox in
                let atlas = try await self.join("atlas", named: "Atlas", sandbox)
                let impostor = try await self.join("impostor", named: "Atlas", sandbox)
                try await sandbox.whileServing(as: "atlas") { _, _ in
                    try await sandbox.whileServing(as: "impostor") { _, _ in
                        try await self.expect([atlas, impostor], sandbox)
                        for command in [
                            ["ping", "Atlas"], ["call", "Atlas", "remote-systems.ping", "Type=ping"],
                            ["info", "Atlas"],
                            ["launch", "Atlas", "https://example.com"], ["ping", "Atlas", "--accept-name"],
                        ] {
                            let refused = try await sandbox.start(command + ["--loopback", "--json"]).finish()
                            let failure = try #require(refused.event("failed"), "\(command) \(refused)")
                            #expect(refused.status == 2)
                            #expect(failure["reason"] as? String == "ambiguousName", "\(failure)")
                            #expect(Set(failure["systemIDs"] as? [String] ?? []) == [atlas, impostor])
                            let message = try #require(failure["message"] as? String)
                            #expect(message.contains(atlas.prefix(8)) && message.contains(impostor.prefix(8)))
                        }
                        let doctor = try await sandbox.run("doctor", "Atlas", "--loopback", "--port", "0")
                        #expect(doctor.status == 1 && doctor.lines.contains { $0.contains("2 systems match") })
                        let byID = try await self.ping(sandbox, String(atlas.prefix(8)))
                        #expect(byID.event("connected")?["systemID"] as? String == atlas, "\(byID)")
                    }
                }
            }
        }

        /// Waits until this machine has stored that it met systems with these ids under a name.
        private func meet(_ ids: [String], named name: String, _ sandbox: Sandbox) async throws {
            _ = try await eventually("the stored names", within: .seconds(60)) { () -> Bool? in
                _ = try await sandbox.run("list", "--loopback")
                let known = try await sandbox.run("account", "systems", "--json").json
                let named = known.filter { $0["name"] as? String == name }
                return Set(ids).isSubset(of: named.compactMap { $0["id"] as? String }) ? true : nil
            }
        }

        @Test func `a known system that is off is called off, and no other one is suggested`() async throws {
            try await Sandbox.with { sandbox in
                let first = try await self.join("first", named: "desk1", sandbox)
                let second = try await self.join("second", named: "desk2", sandbox)
                try await sandbox.whileServing(as: "first") { _, _ in
                    try await self.meet([first], named: "desk1", sandbox)
                    try await sandbox.whileServing(as: "second") { _, _ in
                        try await self.meet([second], named: "desk2", sandbox)
                    }
                    func message(_ arguments: String...) async throws -> String {
                        let refused = try await sandbox.start(arguments + ["--loopback", "--json"]).finish()
                        #expect(refused.status == 2, "\(refused)")
                        return refused.event("failed")?["message"] as? String ?? ""
                    }
                    let later = "With --later it is sent when that system is back."
                    for name in ["desk2", String(second.prefix(8))] {
                        let off = "The system \(name) is off or not reachable"
                        let ping = try await message("ping", name, "--wait", "2")
                        #expect(ping.hasPrefix(off) && !ping.contains("desk1") && !ping.contains(later), "\(ping)")
                        let notify = try await message("notify", name, "--title", "T", "--search-time", "2")
                        #expect(notify.hasPrefix(off) && notify.hasSuffix(later), "\(notify)")
                    }
                    let asking = try await message(
                        "notify",
                        "desk2",
                        "--title",
                        "T",
                        "--search-time",
                        "2",
                        "--wait",
                        "9"
                    )
                    #expect(asking.contains("is off or not reachable") && !asking.contains(later), "\(asking)")
                    let unknown = try await message("ping", "desk3", "--wait", "2")
                    #expect(unknown.contains("Did you mean 'desk1'?"), "\(unknown)")
                }
            }
        }

        private func revoke(_ name: String, _ sandbox: Sandbox) async throws -> FinishedCommand {
            try await sandbox.run("account", "revoke", name, "--loopback", "--wait", "1", "--json")
        }

        @Test func `a system that is off is revoked by the name by which this machine met it, and once only`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let atlas = try await self.join("atlas", named: "Atlas", sandbox)
                // Another system, so that the name decides.
                let boreas = try await self.join("boreas", named: "Boreas", sandbox)
                try await sandbox.whileServing(as: "boreas") { _, _ in
                    try await self.meet([boreas], named: "Boreas", sandbox)
                    try await sandbox.whileServing(as: "atlas") { _, _ in
                        try await self.meet([atlas], named: "Atlas", sandbox)
                    }
                }
                let revoked = try await self.revoke("Atlas", sandbox)
                #expect(revoked.status == 0, "\(revoked)")
                #expect(revoked.event("revoked")?["systemID"] as? String == atlas, "\(revoked)")
                #expect(try await sandbox.account()["revoked"] as? [String] == [atlas])
                let again = try await self.revoke("Atlas", sandbox)
                let failure = try #require(again.event("failed"), "\(again)")
                let message = try #require(failure["message"] as? String)
                #expect(again.status == 2 && failure["systemIDs"] as? [String] == [atlas])
                #expect(message.contains("already revoked") && message.contains(atlas.prefix(8)), "\(message)")
                // A name that is not known at all is another case.
                let unknown = try await self.revoke("Notus", sandbox).event("failed")
                #expect((unknown?["message"] as? String)?.contains("No system of this account is known as") == true)
                #expect(try await sandbox.account()["revoked"] as? [String] == [atlas])
            }
        }

        @Test func `a name by which this machine met two systems revokes none of them, also while one is on`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let atlas = try await self.join("atlas", named: "Atlas", sandbox)
                let impostor = try await self.join("impostor", named: "Atlas", sandbox)
                func expectRefusal() async throws {
                    let refused = try await self.revoke("Atlas", sandbox)
                    let failure = try #require(refused.event("failed"), "\(refused)")
                    #expect(refused.status == 2 && failure["reason"] as? String == "ambiguousName", "\(failure)")
                    #expect(Set(failure["systemIDs"] as? [String] ?? []) == [atlas, impostor])
                }
                try await sandbox.whileServing(as: "impostor") { _, _ in
                    try await self.meet([impostor], named: "Atlas", sandbox)
                }
                try await sandbox.whileServing(as: "atlas") { _, _ in
                    try await self.meet([atlas], named: "Atlas", sandbox)
                    try await expectRefusal()
                    // From now on the name means this system, for commands that can be repeated.
                    let used = try await self.ping(sandbox, "Atlas")
                    #expect(used.event("connected")?["systemID"] as? String == atlas, "\(used)")
                    try await expectRefusal()
                }
                try await expectRefusal()
                #expect(try await sandbox.account()["revoked"] as? [String] == [])
                let byID = try await self.revoke(String(impostor.prefix(16)), sandbox)
                #expect(byID.event("revoked")?["systemID"] as? String == impostor, "\(byID)")
                // One system has the name now.
                let byName = try await self.revoke("Atlas", sandbox)
                #expect(byName.event("revoked")?["systemID"] as? String == atlas, "\(byName)")
            }
        }

        @Test func `a renamed system is reported, and a damaged file of names is not ignored`() async throws {
            try await Sandbox.with { sandbox in
                let atlas = try await self.join("atlas", named: "Atlas", sandbox)
                try await sandbox.whileServing(as: "atlas") { _, _ in
                    try await self.expect([atlas], sandbox)
                    #expect(try await self.ping(sandbox, "Atlas").status == 0)
                }
                #expect(try await sandbox.run("account", "rename", "Boreas", as: "atlas").status == 0)
                try await sandbox.whileServing(as: "atlas") { _, _ in
                    try await self.expect([atlas], sandbox)
                    let renamed = try await self.ping(sandbox, "Atlas", "--wait", "2")
                    #expect(renamed.status == 2 && renamed.errors.isEmpty)
                    let message = try #require(renamed.event("failed")?["message"] as? String)
                    #expect(message.contains("is now called “Boreas”"), "\(message)")
                    #expect(try await self.ping(sandbox, "Boreas").status == 0)
                    let path = sandbox.state() + "/account/named-systems.json"
                    try Data("{".utf8).write(to: URL(filePath: path))
                    let damaged = try await self.ping(sandbox, "Boreas")
                    let failure = try #require(damaged.event("failed"))
                    #expect(damaged.status == 2 && failure["reason"] as? String == "damaged", "\(failure)")
                    #expect((failure["message"] as? String)?.contains(path) == true)
                    #expect(try await self.ping(sandbox, atlas).status == 0)
                    #expect(try String(contentsOfFile: path, encoding: .utf8) == "{")
                }
            }
        }

        @Test(arguments: [["ping"], ["ping", "127.0.0.1:1"], ["ping", String(repeating: "a", count: 52)]])
        func `a name is accepted only with a name`(command: [String]) async throws {
            try await Sandbox.with { sandbox in
                let refused = try await sandbox.start(command + ["--loopback", "--accept-name"]).finish()
                #expect(refused.status == 64 && refused.errors.contains("--accept-name"), "\(refused)")
            }
        }
    }
}
