// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems account`.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract:
            "Show this user's account, invite and revoke machines, join, leave, back up and restore an account.",
        subcommands: [
            AccountShowCommand.self, AccountInviteCommand.self, AccountJoinCommand.self, AccountRevokeCommand.self,
            AccountLeaveCommand.self, AccountExportCommand.self, AccountImportCommand.self,
        ]
    )
}
