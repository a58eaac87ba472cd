// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// What a machine that was revoked prints about it. Real processes on the loopback interface.
    @Suite struct RevokedMachine {
        @Test func `a refusal is remembered by list, info and account show until the machine leaves`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    let joined = try await sandbox.join(uri, as: "other")
                    #expect(joined.status == 0)
                }
                let own = try #require(try await sandbox.account()["systemID"] as? String)
                let other = try #require(try await sandbox.account("other")["systemID"] as? String)
                #expect(try await sandbox.account("other")["refusedBy"] == nil)
                try await sandbox.whileServing { _, _ in
                    // A revoked system reaches only those that it has met.
                    _ = try await sandbox.list(as: "other")
                    let revoked = try await sandbox.run("account", "revoke", other, "--loopback", "--wait", "1")
                    #expect(revoked.status == 0)
                    // The running service reloads the account in the background, and a command tries it once.
                    _ = try await eventually("a refusal", within: .seconds(90)) {
                        _ = try await sandbox.run("list", "--loopback", "--wait", "3", as: "other")
                        return try await sandbox.account("other")["refusedBy"] as? String == own ? true : nil
                    }
                }
                let file = sandbox.state("other") + "/account/known-endpoints.json"
                let permissions = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
                #expect(permissions as? Int == 0o600)
                let shown = try await sandbox.run("account", "show", as: "other")
                #expect(shown.lines.contains { $0.hasPrefix("state        System ") })
                #expect(shown.lines.allSatisfy { $0.count <= 80 || $0.hasPrefix("kept in") })

                // Also while no other system is there, and while this one lists itself.
                try await sandbox.whileServing(as: "other") { _, _ in
                    let list = try await sandbox.list("--json", as: "other")
                    let finding = try #require(list.event("finding"), "\(list)")
                    #expect((finding["what"] as? String)?.contains("was revoked") == true)
                    let options = ["--loopback", "--wait", "1", "--json"]
                    let info = try await sandbox.start(["info", "missing"] + options, as: "other").finish()
                    let failure = try #require(info.event("failed"))
                    #expect(info.status == 2 && failure["reason"] as? String == "revoked")
                    #expect((failure["message"] as? String)?.contains("remotesystems account leave") == true)
                }

                #expect(try await sandbox.run("account", "leave", as: "other").status == 0)
                #expect(try await sandbox.account("other")["refusedBy"] == nil)
            }
        }
    }
}
