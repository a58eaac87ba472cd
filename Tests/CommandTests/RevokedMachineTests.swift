// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystemsIdentity
import Testing

extension CommandTests {
    /// What a machine prints that was revoked, or must join again. Real processes on the loopback interface.
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
                    _ = try await eventually("a refusal", within: .seconds(90)) { () -> Bool? in
                        let list = try await sandbox.run("list", "--loopback", "--wait", "3", as: "other")
                        guard try await sandbox.account("other")["refusedBy"] as? String == own else { return nil }
                        // Only the finding is printed, not the refusal beside it.
                        let notes = list.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                        #expect(notes.contains("account leave") && !notes.contains("You are not authorised"))
                        return true
                    }
                }
                let file = sandbox.state("other") + "/account/known-endpoints.json"
                let permissions = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
                #expect(permissions as? Int == 0o600)
                let shown = try await sandbox.run("account", "show", as: "other")
                #expect(shown.lines.contains { $0.hasPrefix("state        System ") })
                #expect(shown.lines.contains { $0.hasPrefix("certificate  until ") && !$0.contains("renewed") })
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

        @Test func `a revoked machine that still holds the root key says so, and warns before it invites`() async throws
        {
            try await Sandbox.with { sandbox in
                let identity = try AccountStore(directory: sandbox.state()).identity()
                // As a program stores it that another machine with the root key has refused.
                let text = """
                    {"version": 1, "salt": "\(Data(count: 16).base64EncodedString())", "systems": {}, "refusal":
                    {"system": "\(String(repeating: "a", count: 52))", "time": 1800000000,
                    "certificateEnd": \(Int(identity.certificateValidity.upperBound.timeIntervalSince1970))}}
                    """
                let file = sandbox.state() + "/account/known-endpoints.json"
                try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
                #expect(try await sandbox.account()["refusedBy"] is String)
                let shown = try await sandbox.run("account", "show")
                #expect(shown.lines.contains { $0.hasPrefix("state        System ") })
                #expect(!shown.lines.contains { $0.contains("can invite others") })
                let options = ["--loopback", "--wait", "1", "--json"]
                let whyNot = try await sandbox.start(["activities", "why-not"] + options).finish()
                let condition = try #require(whyNot.json.last { $0["event"] as? String == "condition" }, "\(whyNot)")
                // Other tests may announce systems of other accounts.
                let unmet = condition["condition"] as? String ?? ""
                #expect(whyNot.status == 1 && ["network", "found"].contains(unmet), "\(whyNot)")
                #expect((condition["message"] as? String)?.contains("was revoked") == true, "\(whyNot)")
                #expect((condition["advice"] as? String)?.contains("account leave") == true, "\(whyNot)")
                let inviting = try sandbox.start(["account", "invite", "--loopback"])
                do {
                    _ = try await eventually("the invitation", within: .seconds(30)) {
                        inviting.process.lines.contains { $0.hasPrefix("remote-systems:") } ? true : nil
                    }
                } catch {
                    await inviting.process.stop()
                    throw error
                }
                inviting.process.send(SIGINT)
                let finished = try await inviting.finish()
                let notes = finished.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                #expect(notes.contains("was revoked") && notes.contains("account leave --force"), "\(notes)")
            }
        }

        @Test
        func `a new root key after a theft is stated by list, info, doctor and account show until it joins again`()
            async throws
        {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    let joined = try await sandbox.join(uri, as: "other")
                    #expect(joined.status == 0)
                }
                let before = try await sandbox.account("other")
                #expect(before["rootKeyReplaced"] == nil)
                try await sandbox.whileServing { _, _ in
                    // A system whose certificate ended reaches only those that it has met.
                    _ = try await sandbox.list(as: "other")
                    let rotated = try await sandbox.run("account", "rotate-root-key", "--stolen")
                    #expect(rotated.status == 0)
                    // The running service reloads the account in the background, and a command tries it once.
                    _ = try await eventually("the new root key", within: .seconds(90)) {
                        _ = try await sandbox.run("list", "--loopback", "--wait", "3", as: "other")
                        return try await sandbox.account("other")["rootKeyReplaced"] is String ? true : nil
                    }
                }
                let shown = try await sandbox.run("account", "show", as: "other")
                #expect(shown.lines.contains { $0.hasPrefix("state        The account's root key was replaced") })
                #expect(shown.lines.contains { $0.hasPrefix("certificate  invalid since ") })
                #expect(shown.lines.allSatisfy { $0.count <= 80 || $0.hasPrefix("kept in") })
                let systems = try await sandbox.run("account", "systems", as: "other")
                #expect(systems.lines.contains { $0.hasSuffix("this machine, must join again") })

                let options = ["--loopback", "--wait", "1", "--json"]
                let list = try await sandbox.start(["list"] + options, as: "other").finish()
                let listed = try #require(list.event("finding"), "\(list)")
                #expect(list.status == 1 && listed["code"] as? String == "certificate")
                let info = try await sandbox.start(["info", "missing"] + options, as: "other").finish()
                let failure = try #require(info.event("failed"))
                #expect(info.status == 2 && failure["reason"] as? String == "retiredRoot")
                #expect((failure["message"] as? String)?.contains("remotesystems account join") == true)
                let doctor = try await sandbox.run("doctor", "--loopback", "--port", "0", "--json", as: "other")
                let found = try #require(doctor.json.first { $0["code"] as? String == "certificate" })
                #expect(found["status"] as? String == "problem")
                #expect((found["advice"] as? String)?.contains("remotesystems account join") == true)

                // The advice is the way back, and the system keeps its id.
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    let joined = try await sandbox.join(uri, as: "other")
                    #expect(joined.status == 0)
                }
                let after = try await sandbox.account("other")
                #expect(after["rootKeyReplaced"] == nil)
                #expect(after["systemID"] as? String == before["systemID"] as? String)
            }
        }
    }
}
