// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport

extension Daemon {
    /// Adds a system to the account, which is away from then on.
    ///
    /// - Returns: its id.
    func addSystem(_ name: String = "cellar") async throws -> String {
        let inviting = try self.command(["account", "invite", "--loopback"])
        let invitation = try await eventually("an invitation", within: .seconds(60)) {
            if let code = inviting.exitCode { throw IntegrationError("it ended with \(code): \(inviting.lines)") }
            return inviting.lines.first { $0.hasPrefix("remote-systems:") }
        }
        let file = "\(self.directory)/invitation"
        try invitation.write(toFile: file, atomically: true, encoding: .utf8)
        let environment = ["REMOTE_SYSTEMS_STATE": "\(self.directory)/state-of-\(name)"]
        for arguments in [["join", "--invitation-file", file], ["rename", name]] {
            let (status, lines) = try await self.finish(["account"] + arguments, environment: environment)
            guard status == 0 else { throw IntegrationError("\(arguments) ended with \(status): \(lines)") }
        }
        guard try await inviting.exit(within: .seconds(60)) == 0 else {
            throw IntegrationError("not admitted: \(inviting.lines)")
        }
        let own = try await self.finish(["account", "show", "--json"], environment: environment).1.joined()
        guard let id = own.firstMatch(of: /"systemID":"([^"]+)"/) else { throw IntegrationError("no id: \(own)") }
        return String(id.output.1)
    }
}
