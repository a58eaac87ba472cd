// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems account grant`.
struct AccountGrantCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Set what the systems of a linked account may use on the systems of this account.",
        usage: "remotesystems account grant <account> [<options>]",
        discussion: """
            The given rights replace all earlier ones, which 'remotesystems account links' shows; --nothing removes \
            all, and keeps the link. Only the machine that holds the account's root key can change rights. Open \
            connections with systems of the linked account end, so that they continue with the new rights only.

            Notifications on this account's systems are the service org.remotesystems.notifications. The activities \
            that they offer are the topic org.remotesystems.activities; to continue these, grant the service of that \
            name, too.
            """
    )

    @OptionGroup var selection: LinkSelection
    @OptionGroup var rights: GrantOptions
    @Flag(help: "Remove all rights. The link stays.")
    var nothing = false
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.rights.isGiven || self.nothing else {
            throw ValidationError(
                "No right is named, and the given ones replace all earlier ones: 'remotesystems account links' shows "
                    + "them. Add --service, --scheme or --topic, or --nothing to remove all rights."
            )
        }
        guard !self.rights.isGiven || !self.nothing else {
            throw ValidationError("--nothing removes all rights: omit it, or --service, --scheme, --topic and --days.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let link = try self.selection.choose(from: account)
        try account.grant(self.rights.grants, to: link.account)
        guard let changed = try account.links().first(where: { $0.account == link.account }) else { return true }
        try output.json(LinkOutput(event: "granted", changed))
        for line in changed.lines { try output.line(line) }
        return true
    }
}
