// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsIdentity
import Testing

extension CommandTests {
    /// A backup of the whole state directory that is older than the last revocation.
    @Suite struct RestoredDirectory {
        @Test(arguments: [false, true])
        func `a state directory from before a revocation is noticed when it is restored`(hadList: Bool) async throws {
            try await Sandbox.with { sandbox in
                func id(_ machine: String) async throws -> String {
                    try #require(try await sandbox.account(machine)["systemID"] as? String)
                }
                func revoke(_ system: String) async throws {
                    let revoked = try await sandbox.run("account", "revoke", system, "--loopback", "--wait", "0.5")
                    #expect(revoked.status == 0, "\(revoked)")
                }
                let files = FileManager.default
                let backup = sandbox.state("backup")
                let (first, second) = (try await id("first"), try await id("second"))
                if hadList { try await revoke(first) } else { _ = try await sandbox.account() }
                try files.copyItem(atPath: sandbox.state(), toPath: backup)
                try await revoke(second)
                func restore() throws {
                    try files.removeItem(atPath: sandbox.state())
                    try files.copyItem(atPath: backup, toPath: sandbox.state())
                }
                try restore()
                for command in [["account", "systems"], ["list", "--loopback"]] {
                    let failed = try await sandbox.start(command + ["--json"]).finish()
                    #expect(failed.status == 2, "\(failed)")
                    #expect(failed.event("failed")?["reason"] as? String == "revocationsLost", "\(failed)")
                }
                let again = try await sandbox.run("account", "revoke", second, "--lost-list", "--loopback")
                #expect(again.status == 0, "\(again)")
                let revoked = try await sandbox.account()["revoked"] as? [String] ?? []
                #expect(Set(revoked) == Set(hadList ? [first, second] : [second]))
                // Without the record, this machine alone cannot notice.
                try restore()
                try files.removeItem(atPath: sandbox.cache)
                let unnoticed = try await sandbox.account()["revoked"] as? [String] ?? []
                #expect(unnoticed == (hadList ? [first] : []))
            }
        }

        @Test func `links from before a withdrawal are reported when the state directory is restored`() async throws {
            try await Sandbox.with { sandbox in
                let own = AccountStore(directory: sandbox.state())
                let other = AccountStore(directory: sandbox.state("bo"))
                _ = try own.identity()
                _ = try other.identity()
                let ours = try own.linkOffer(name: "Ada", granting: Grants(services: ["test.volume"]), now: Date())
                let theirs = try other.linkOffer(name: "Bo", granting: Grants(), now: Date())
                try own.link(ours, with: theirs, now: Date())
                let backup = sandbox.state("backup")
                try FileManager.default.copyItem(atPath: sandbox.state(), toPath: backup)
                func unlink() async throws {
                    let unlinked = try await sandbox.run("account", "unlink", "Bo", "--loopback")
                    #expect(unlinked.status == 0, "\(unlinked)")
                }
                func warnings(_ arguments: String...) async throws -> Int {
                    let finished = try await sandbox.start(arguments + ["--json"]).finish()
                    return finished.json.count { ($0["what"] as? String)?.contains("links.pem is older") ?? false }
                }
                try await unlink()
                let before = try await warnings("account", "links")
                #expect(before == 0)
                try FileManager.default.removeItem(atPath: sandbox.state())
                try FileManager.default.copyItem(atPath: backup, toPath: sandbox.state())
                let counts = [
                    try await warnings("account", "links"), try await warnings("account", "show"),
                    try await warnings("doctor", "--loopback", "--port", "0"),
                ]
                #expect(counts == [1, 1, 1])
                // A newer list ends it.
                try await unlink()
                let after = try await warnings("account", "links")
                #expect(after == 0)
            }
        }
    }
}
