// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems account unlink`.
struct AccountUnlinkCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "unlink",
        abstract: "Withdraw the link with another person's account.",
        usage: "remotesystems account unlink <account> [<options>]",
        discussion: """
            Only the machine that holds the account's root key can withdraw a link. Connections with systems of the \
            other account end within two seconds on this machine, and on other systems of this account when they \
            receive the change from this one.

            The other account's machines learn of it only when one of their programs connects to a system of this \
            account. Until then they show the link as active. So ask the owner of the other account to run \
            'remotesystems account unlink', too. To link the accounts again, use 'remotesystems pair --link'.
            """
    )

    @OptionGroup var selection: LinkSelection
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let link = try self.selection.choose(from: account)
        try account.unlink(link.account)
        guard let changed = try account.links().first(where: { $0.account == link.account }) else { return true }
        try output.json(LinkOutput(event: "unlinked", changed))
        try output.line("The link with \(link.name.quoted.printable) (\(link.account.short)) was withdrawn.")
        guard link.state == .active else { return true }
        let advice =
            "The other account's machines learn of it only when one of their programs connects to a system of this "
            + "account. Ask its owner to run 'remotesystems account unlink', too."
        try output.line(advice.wrapped())
        return true
    }
}
