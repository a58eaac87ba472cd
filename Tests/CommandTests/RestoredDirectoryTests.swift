// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
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
    }
}
