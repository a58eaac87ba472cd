// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems account`.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract:
            "Show this user's account and its systems, invite and revoke machines, join, leave, back up and restore.",
        subcommands: [
            AccountShowCommand.self, AccountSystemsCommand.self, AccountRenameCommand.self, AccountInviteCommand.self,
            AccountJoinCommand.self, AccountRevokeCommand.self, AccountLeaveCommand.self, AccountRotateCommand.self,
            AccountExportCommand.self, AccountImportCommand.self, AccountLinksCommand.self, AccountGrantCommand.self,
            AccountUnlinkCommand.self,
        ]
    )
}
