// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account join`.
struct AccountJoinCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the account of an invitation with this machine.",
        usage: "remotesystems account join [<invitation>] [<options>]",
        discussion: """
            The user's previous account on this machine is set aside, not deleted. Running programs continue under it \
            until they are restarted.
            """
    )

    @Argument(
        help: "The invitation. '-' or no argument reads it from standard input, where no process list shows it."
    )
    var invitation: String?

    @Flag(name: .customLong("leave-account"), help: "Leave the current account even if other systems belong to it.")
    var leavesAccount = false

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let text = String(decoding: try Input.read(self.invitation, limit: 1 << 16), as: UTF8.self)
        let invitation = try Invitation(uri: text)
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration(state: self.state, logger: self.common.logger())
        )
        let change = try await untilInterrupted {
            try await account.join(invitation, evenIfShared: self.leavesAccount)
        }
        guard let change else { throw CancellationError() }
        try AccountChangeOutput.report(change, event: "joined", output)
        return true
    }
}

/// The output of `account join` and `account import`.
struct AccountChangeOutput: Encodable {
    var event: String
    let time = Date.now
    var accountID: AccountID
    var systemID: SystemID
    var isAuthority: Bool
    /// The directory of the previous account.
    var setAside: String?

    static func report(_ change: AccountChange, event: String, _ output: Output) throws {
        let identity = change.identity
        try output.json(
            AccountChangeOutput(
                event: event,
                accountID: identity.accountID,
                systemID: identity.systemID,
                isAuthority: identity.isAuthority,
                setAside: change.setAside
            )
        )
        try output.line("This machine is now system \(identity.systemID.short) of account \(identity.accountID.short).")
        if let setAside = change.setAside {
            try output.line("The previous account was set aside in \(setAside.printable)")
            try output.line("Restart the programs that are running under the old account.")
        }
    }
}
