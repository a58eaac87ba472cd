// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests.Account {
    @Suite struct Leave {
        /// Makes the system "other" join the account of "own".
        private static func join(_ sandbox: Sandbox) async throws {
            _ = try await CommandTests.Account.whileInviting(sandbox) { _, uri in
                let joined = try await sandbox.join(uri, "--json", as: "other")
                #expect(joined.status == 0)
            }
        }

        @Test func `a system leaves its account, and its services end and report why (X-37)`() async throws {
            try await Sandbox.with { sandbox in
                try await Self.join(sandbox)
                let before = try await sandbox.account("other")
                try await sandbox.whileServing(as: "other") { serving, _ in
                    let left = try await sandbox.run("account", "leave", "--json", as: "other")
                    #expect(left.status == 0)
                    let event = try #require(left.event("left"))
                    #expect(event["accountID"] as? String == before["accountID"] as? String)
                    #expect(event["systemID"] as? String == before["systemID"] as? String)
                    #expect(event["heldRootKey"] as? Bool == false)
                    let ended = try await serving.finish(within: .seconds(30))
                    #expect(ended.status == 2)
                    let failure = try #require(ended.event("failed"))
                    #expect(failure["error"] as? String == "identity")
                    #expect(failure["reason"] as? String == "accountLeft")
                }
                let files = try FileManager.default.subpathsOfDirectory(atPath: sandbox.state("other"))
                #expect(!files.contains { $0.hasSuffix(".pem") }, "\(files)")
                let after = try await sandbox.account("other")
                #expect(after["accountID"] as? String != before["accountID"] as? String)
                #expect(after["systemID"] as? String != before["systemID"] as? String)
                #expect(after["isAuthority"] as? Bool == true)
            }
        }

        @Test func `watch ends when the system leaves its account, and reports why`() async throws {
            try await Sandbox.with { sandbox in
                let watching = try sandbox.start(["watch", "--loopback", "--json"])
                _ = try await watching.event("enumeration-completed")
                let left = try await sandbox.run("account", "leave", "--force")
                #expect(left.status == 0)
                let ended = try await watching.finish(within: .seconds(30))
                #expect(ended.status == 2)
                let failure = try #require(ended.event("failed"))
                #expect(failure["error"] as? String == "identity")
                #expect(failure["reason"] as? String == "accountLeft")
            }
        }

        @Test func `the system with the root key leaves only with --force, after a report of the consequences (X-37)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                try await Self.join(sandbox)
                let before = try await sandbox.account()
                let refused = try await sandbox.run("account", "leave", "--json")
                #expect(refused.status == 2)
                let failure = try #require(refused.event("failed"))
                #expect(failure["reason"] as? String == "rootKeyWouldBeLost")
                let message = try #require(failure["message"] as? String)
                for part in ["root key", "1 other system", "account export", "--force"] {
                    #expect(message.contains(part))
                }
                #expect(try await sandbox.account()["systemID"] as? String == before["systemID"] as? String)
                let forced = try await sandbox.run("account", "leave", "--force")
                #expect(forced.status == 0)
                let text = forced.lines.joined(separator: " ")
                for part in ["has left account", "Deleted on this machine", "the account's root key", "the links"] {
                    #expect(text.contains(part))
                }
                #expect(try await sandbox.account()["accountID"] as? String != before["accountID"] as? String)
            }
        }

        @Test func `without an account there is nothing to leave, and no account is created (X-37)`() async throws {
            try await Sandbox.with { sandbox in
                let left = try await sandbox.run("account", "leave", "--json")
                #expect(left.status == 2)
                #expect(left.event("failed")?["reason"] as? String == "fileMissing")
                #expect(!FileManager.default.fileExists(atPath: sandbox.state()))
            }
        }
    }
}
