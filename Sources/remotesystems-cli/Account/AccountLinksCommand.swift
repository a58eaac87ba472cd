// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems account links`.
struct AccountLinksCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: "List the linked accounts of other people, and the rights granted and received.",
        usage: "remotesystems account links [<options>]",
        discussion: """
            'granted' is what the systems of the other account may use here. 'received' is what the other account \
            stated to grant when the accounts were linked; it may have changed since.

            All systems of the account know the links. Only the machine that holds the account's root key makes them \
            ('remotesystems pair --link'), changes them ('remotesystems account grant') and withdraws them \
            ('remotesystems account unlink').
            """
    )

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let links = try account.links()
        for (index, link) in links.enumerated() {
            try output.json(LinkOutput(link))
            if index > 0 { try output.line("") }
            for line in link.lines { try output.line(line) }
        }
        try FindingOutput.warn(of: account.linkFindings, output)
        let isMember = try account.isMember()
        if links.isEmpty {
            let text =
                isMember
                ? "No link is known here. One that was made on the machine with the account's root key arrives when "
                    + "this machine meets a system that knows it: 'remotesystems list' meets those that are reachable."
                : "No account is linked. 'remotesystems pair --link' links one."
            try output.line(text.wrapped())
        }
        if isMember {
            let text =
                "Only the machine with the account's root key makes, changes and withdraws links. This is not the one: "
                + "'remotesystems account show' there prints the role 'authority'."
            output.note(text.wrapped())
        }
        return true
    }
}
