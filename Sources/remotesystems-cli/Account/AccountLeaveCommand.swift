// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account leave`.
struct AccountLeaveCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Leave the account: delete its keys and certificates on this machine.",
        usage: "remotesystems account leave [<options>]",
        discussion: """
            Programs that run under the account close their connections within two seconds. The next program that \
            starts creates a new account; 'remotesystems account join' joins another one. Other machines need not be \
            reachable.

            If a copy of the keys may exist, such as in a backup, also revoke this machine's id on the machine that \
            holds the account's root key ('remotesystems account revoke').
            """
    )

    @Flag(help: "Leave even if this machine holds the account's root key. The root key is deleted.")
    var force = false

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let departure = try account.leave(evenWithRootKey: self.force)
        try output.json(
            LeftOutput(
                accountID: departure.account,
                systemID: departure.system,
                heldRootKey: departure.heldRootKey,
                setAside: departure.setAside
            )
        )
        try output.line(
            "This machine, system \(departure.system), has left account \(departure.account.short)."
        )
        let deleted =
            "Deleted on this machine: its keys and certificates"
            + (departure.heldRootKey ? " with the account's root key" : "")
            + ", the links with other accounts, and what it remembered of the account's other systems. Its settings "
            + "stay."
        try output.line(deleted.wrapped())
        for directory in departure.setAside {
            try output.line("An account that was set aside earlier is still stored in \(directory.printable)")
        }
        return true
    }
}

/// The output of `account leave --json`.
private struct LeftOutput: Encodable {
    let event = "left"
    let time = Date.now
    var accountID: AccountID
    var systemID: SystemID
    var heldRootKey: Bool
    var setAside: [String]
}
