// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// The commands for the life of an account (issue 10, section 2; `Docs/accounts.md`).
    @Suite struct AccountLife {
        private func join(_ machine: String, _ sandbox: Sandbox) async throws -> String {
            let inviting = try await Account.whileInviting(sandbox) { _, uri in
                let joined = try await sandbox.join(uri, as: machine)
                #expect(joined.status == 0)
            }
            return try #require(inviting.event("joined")?["systemID"] as? String)
        }

        @Test func `the systems of the account are listed, with those that were revoked`() async throws {
            try await Sandbox.with { sandbox in
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
                #expect(text.lines.allSatisfy { $0.count <= 80 })
            }
        }

        @Test func `a name of another form is refused`() async throws {
            try await Sandbox.with { sandbox in
                for name in ["", "a\nb", String(repeating: "a", count: 257)] {
                    let renamed = try await sandbox.run("account", "rename", name)
                    #expect(renamed.status != 0)
                }
                let reset = try await sandbox.run("account", "rename")
                #expect(reset.status == 0)
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

        @Test func `a lost list of revoked systems is an error that states the way back`() async throws {
            try await Sandbox.with { sandbox in
                let second = try await self.join("second", sandbox)
                #expect(try await sandbox.run("account", "revoke", second, "--loopback").status == 0)
                try FileManager.default.removeItem(atPath: sandbox.state() + "/account/revoked-systems.pem")
                for command in [["account", "show"], ["serve", "--loopback", "--port", "0"]] {
                    let failed = try await sandbox.start(command + ["--json"]).finish()
                    #expect(failed.status == 2)
                    let failure = try #require(failed.event("failed"))
                    #expect(failure["reason"] as? String == "revocationsLost")
                    #expect((failure["message"] as? String)?.contains("--lost-list") == true)
                }
                let again = try await sandbox.run("account", "revoke", second, "--lost-list", "--loopback")
                #expect(again.status == 0)
                #expect(try await sandbox.account()["revoked"] as? [String] == [second])
            }
        }
    }
}
