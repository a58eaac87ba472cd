// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    @Suite struct AccountRevoke {
        @Test func `a system is revoked by the prefix of its id, and account show lists it`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    _ = try await sandbox.join(uri, "--json", as: "other")
                }
                let id = try #require(try await sandbox.account("other")["systemID"] as? String)
                try await sandbox.whileServing { serving, port in
                    // A revoked system no longer recognises the others' announcements. It reaches those it has met.
                    let met = try await sandbox.list("--json", as: "other").event("system")
                    let name = try #require(met?["name"] as? String)
                    let revoked = try await sandbox.start(
                        ["account", "revoke", String(id.prefix(6)), "--loopback", "--wait", "1", "--json"]
                    ).finish()
                    #expect(revoked.status == 0)
                    #expect(revoked.event("revoked")?["systemID"] as? String == id)
                    #expect(try await sandbox.account()["revoked"] as? [String] == [id])
                    // The running service reloads the account in the background, or on the next ping.
                    _ = try await eventually("a refusal", within: .seconds(30)) {
                        let ping = try await sandbox.start(
                            ["ping", "127.0.0.1:\(port)", "--count", "1", "--json"],
                            as: "other"
                        ).finish()
                        let message = ping.event("failed")?["message"] as? String
                        return message?.contains("revoked") == true ? true : nil
                    }
                    // Commands that find the system by name report the revocation, too, and report it once.
                    for command in [["ping"], ["info", name], ["ping", name]] {
                        // Each tries the system once, which may take longer on a busy machine.
                        _ = try await eventually("a refused \(command)", within: .seconds(90)) {
                            let failed = try await sandbox.start(
                                command + ["--loopback", "--wait", "6", "--json"],
                                as: "other"
                            ).finish()
                            #expect(failed.status == 2)
                            let message = failed.event("failed")?["message"] as? String
                            return message?.contains("was revoked") == true ? true : nil
                        }
                    }
                    // Both commands browse only as long as a refusal usually takes, so that a busy machine needs
                    // retries.
                    let finding = try await eventually("the finding", within: .seconds(30)) { () -> JSONLine? in
                        let doctor = try await sandbox.run("doctor", "--loopback", "--json", as: "other")
                        let finding = doctor.json.first { $0["code"] as? String == "systems" }
                        return (finding?["what"] as? String)?.contains("was revoked") == true ? finding : nil
                    }
                    #expect(finding["status"] as? String == "problem")
                    #expect((finding["advice"] as? String)?.contains("firewall") == false)
                    let list = try await eventually("an error", within: .seconds(30)) { () -> FinishedCommand? in
                        let list = try await sandbox.run("list", "--loopback", "--wait", "3", "--json", as: "other")
                        return list.event("error") == nil ? nil : list
                    }
                    #expect(list.json.count { $0["event"] as? String == "error" } == 1, "\(list.lines)")
                }
            }
        }

        @Test func `an unknown system and the own system are not revoked`() async throws {
            try await Sandbox.with { sandbox in
                let own = try #require(try await sandbox.account()["systemID"] as? String)
                let renamed = try await sandbox.run("account", "rename", "Atlas")
                #expect(renamed.status == 0)
                let arguments: [(String, String?)] = [
                    ("missing", nil), (own, "accountInUse"), (String(own.prefix(8)), "accountInUse"),
                    ("Atlas", "accountInUse"),
                ]
                for (system, reason) in arguments {
                    let finished = try await sandbox.start(
                        ["account", "revoke", system, "--loopback", "--wait", "0.5", "--json"]
                    ).finish()
                    #expect(finished.status == 2)
                    let failure = try #require(finished.event("failed"))
                    #expect(failure["reason"] as? String == reason, "\(system)")
                    let advisesToLeave = (failure["message"] as? String)?.contains("remotesystems account leave")
                    #expect(advisesToLeave == (reason != nil))
                }
                #expect(try await sandbox.account()["revoked"] as? [String] == [])
            }
        }

        @Test func `a machine without the root key that would revoke itself is advised to leave`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    let joined = try await sandbox.join(uri, as: "other")
                    #expect(joined.status == 0)
                }
                let renamed = try await sandbox.run("account", "rename", "Atlas", as: "other")
                #expect(renamed.status == 0)
                let other = try #require(try await sandbox.account("other")["systemID"] as? String)
                for (system, reason) in [
                    ("Atlas", "accountInUse"), (other, "accountInUse"), ("missing", "notAuthority"),
                ] {
                    let refused = try await sandbox.start(
                        ["account", "revoke", system, "--loopback", "--json"],
                        as: "other"
                    ).finish()
                    #expect(refused.status == 2)
                    #expect(refused.event("failed")?["reason"] as? String == reason, "\(system)")
                }
            }
        }
    }
}
