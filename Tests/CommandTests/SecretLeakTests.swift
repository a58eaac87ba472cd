// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    /// Tokens of other systems were in discovery packets, command lines and logs (syncthing#8561, syncthing#10888).
    @Suite struct SecretLeaks {
        /// The command line and the environment of a process, as other processes of the user can read them.
        private func readable(_ process: Int32) -> String {
            ["cmdline", "environ"].map { name in
                let bytes = FileManager.default.contents(atPath: "/proc/\(process)/\(name)") ?? Data()
                return String(decoding: bytes, as: UTF8.self)
            }.joined(separator: "\n")
        }

        @Test func `an invitation's secret is in no log, argument or environment (syncthing#8561, syncthing#10888)`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let inviting = try sandbox.start(["account", "invite", "--loopback", "--verbose"])
                let invitation = try await eventually("an invitation", within: .seconds(30)) {
                    inviting.process.lines.first { $0.hasPrefix("remote-systems:") }
                }
                let secret = try #require(
                    invitation.split(separator: "secret=").last.map { String($0.prefix { $0 != "&" }) }
                )
                #expect(secret.utf8.count > 20)
                // What the user runs is exactly what the command printed.
                let line = try #require(inviting.process.lines.first { $0.hasPrefix("remotesystems ") })
                #expect(!line.contains(secret))
                let arguments = line.split(separator: " ").dropFirst().map(String.init)
                #expect(arguments.starts(with: ["account", "join"]))
                let joining = try sandbox.start(
                    arguments + ["--verbose"],
                    as: "other",
                    input: Array((invitation + "\n").utf8)
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
