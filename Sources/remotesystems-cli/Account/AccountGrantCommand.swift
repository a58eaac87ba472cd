// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account grant`.
struct AccountGrantCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Set what the systems of a linked account may use on the systems of this account.",
        usage: "remotesystems account grant <account> [--service <name>]... [--scheme <scheme>]... [<options>]",
        discussion: """
            The given rights replace all earlier ones; without any, nothing is granted. Only the machine that holds \
            the account's root key can change rights. Open connections with systems of the linked account end, so \
            that they continue with the new rights only.
            """
    )

    @OptionGroup var selection: LinkSelection
    @Option(name: .customLong("service"), help: "An app service that they may call. Repeatable.")
    var services: [String] = []
    @Option(name: .customLong("scheme"), help: "A scheme of URIs that they may open here. Repeatable.")
    var schemes: [String] = []
    @Option(name: .customLong("topic"), help: "A topic of published state that they may subscribe to. Repeatable.")
    var topics: [String] = []
    @Option(help: "The number of days after which the rights end. Without it they do not end. Valid range: 1–36500.")
    var days: Int?
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let days, !(1...36_500).contains(days) { throw ValidationError("--days takes a number from 1 to 36500.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let link = try self.selection.choose(from: account)
        let grants = Grants(
            services: Set(self.services),
            uriSchemes: Set(self.schemes),
            topics: Set(self.topics),
            end: self.days.map { Date.now.addingTimeInterval(Double($0) * 86_400) }
        )
        try account.grant(grants, to: link.account)
        guard let changed = try account.links().first(where: { $0.account == link.account }) else { return true }
        try output.json(LinkOutput(event: "granted", changed))
        for line in changed.lines { try output.line(line) }
        return true
    }
}
