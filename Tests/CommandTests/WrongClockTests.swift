// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// Machines whose clocks differ by a day or by ten years.
    @Suite(.enabled(if: OtherClock.isThere, "libfaketime is not installed")) struct WrongClock {
        private static let tenYears = 3650 * 24

        private func ping(_ sandbox: Sandbox, _ port: String, as machine: String, hours: Int) async throws
            -> FinishedCommand
        {
            try await sandbox.start(
                ["ping", "127.0.0.1:\(port)", "--loopback", "--count", "1"],
                as: machine,
                around: hours == 0 ? [] : OtherClock.off(byHours: hours)
            ).finish()
        }

        /// A certificate is valid from a day before it was made.
        @Test(arguments: [-23, 24]) func `machines whose clocks differ by a day call each other`(hours: Int)
            async throws
        {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                try await sandbox.whileServing { _, port in
                    let finished = try await self.ping(sandbox, port, as: "own", hours: hours)
                    #expect(finished.status == 0, "\(finished)")
                }
            }
        }

        @Test(arguments: [-tenYears, tenYears])
        func `a machine whose clock is off by ten years is refused with an error that names the clock, and recovers`(
            hours: Int
        ) async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                try await sandbox.whileServing { _, port in
                    // A copy, because the programs of one machine have one clock.
                    try FileManager.default.copyItem(atPath: sandbox.state(), toPath: sandbox.state("other"))
                    let wrong = try await self.ping(sandbox, port, as: "other", hours: hours)
                    #expect(wrong.status == 2)
                    #expect(wrong.errors.contains("clock"), "\(wrong)")
                    // The same account when the clock is right again, whatever was renewed meanwhile.
                    let right = try await self.ping(sandbox, port, as: "other", hours: 0)
                    #expect(right.status == 0, "\(right)")
                }
            }
        }

        @Test(arguments: [-tenYears, tenYears])
        func `a host whose clock is off by ten years admits no caller, and callers get an error that names the clock`(
            hours: Int
        ) async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                try FileManager.default.copyItem(atPath: sandbox.state(), toPath: sandbox.state("other"))
                let serving = try sandbox.start(
                    ["serve", "--loopback", "--port", "0", "--json"],
                    as: "other",
                    around: OtherClock.off(byHours: hours)
                )
                let port = try await String(serving.event("ready")["port"] as? Int ?? 0)
                let finished = try await self.ping(sandbox, port, as: "own", hours: 0)
                #expect(finished.status == 2)
                #expect(finished.errors.contains("clock"), "\(finished)")
                await serving.process.stop()
            }
        }

        @Test func `an invitation that a machine's clock sees as expired is refused with both times`() async throws {
            try await Sandbox.with { sandbox in
                let inviting = try sandbox.start(["account", "invite", "--loopback", "--json"], as: "inviter")
                let invitation = try await inviting.event("invitation")["uri"] as? String ?? ""
                let early = try await sandbox.run(
                    "account",
                    "join",
                    as: "joiner",
                    input: Array(invitation.utf8),
                    around: OtherClock.off(byHours: 24)
                )
                #expect(early.status != 0)
                #expect(early.errors.contains("clock"), "\(early)")
                // The attempt has not used the invitation up.
                let joined = try await sandbox.join(invitation, as: "joiner")
                #expect(joined.status == 0, "\(joined)")
                _ = try await inviting.finish()
            }
        }
    }
}
