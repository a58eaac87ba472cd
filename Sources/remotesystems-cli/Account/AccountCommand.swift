// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `remotesystems account`
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract:
            "Show the account of this user on this machine, let other machines in, put them out, leave, keep it safe.",
        subcommands: [
            AccountShowCommand.self, AccountInviteCommand.self, AccountJoinCommand.self, AccountRevokeCommand.self,
            AccountLeaveCommand.self, AccountExportCommand.self, AccountImportCommand.self,
        ]
    )
}
