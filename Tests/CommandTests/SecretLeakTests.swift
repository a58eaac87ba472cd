// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// Tokens of other systems were found in discovery packets, command lines and logs (Syncthing, 8561 and 10888).
    @Suite struct SecretLeaks {
        /// The command line and the environment of a process, as other processes of the user can read them.
        private func readable(_ process: Int32) -> String {
            ["cmdline", "environ"].map { name in
                let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)") ?? Data()
                return String(decoding: bytes, as: UTF8.self)
            }.joined(separator: "\n")
        }

        @Test func `an invitation's secret is in no log, no argument and no environment of the programs that use it`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let inviting = try sandbox.start(["account", "invite", "--loopback", "--json", "--verbose"])
                let uri = try await inviting.event("invitation")["uri"] as? String ?? ""
                let secret = try #require(uri.split(separator: "secret=").last.map { String($0.prefix { $0 != "&" }) })
                #expect(secret.utf8.count > 20)
                let joining = try sandbox.start(
                    ["account", "join", "--json", "--verbose"],
                    as: "other",
                    input: Array((uri + "\n").utf8)
                )
                let shown = [inviting.process.id, joining.process.id].map { self.readable($0) }
                let joined = try await joining.finish()
                #expect(joined.status == 0, "\(joined)")
                let invited = try await inviting.finish()
                #expect(shown.first?.contains("invite") == true)
                for text in shown + [joined.errors, invited.errors] + joined.lines {
                    #expect(!text.contains(secret))
                }
                // Only the line that was asked for contains it.
                #expect(invited.lines.filter { $0.contains(secret) }.count == 1)
            }
        }
    }
}
