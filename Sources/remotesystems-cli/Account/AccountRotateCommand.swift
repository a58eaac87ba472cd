// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account rotate-root-key`.
struct AccountRotateCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-root-key",
        abstract: "Replace the account's root key.",
        usage: "remotesystems account rotate-root-key [<options>]",
        discussion: """
            Only the machine that holds the root key can replace it. The account and all systems keep their ids. The \
            other systems learn the new key when they connect to this machine or to each other, and then renew their \
            certificates by themselves. Keep a host or a watcher running on this machine.

            If another person may have the old key, use --stolen. Every certificate of the old key is then invalid: \
            each other machine has to join again ('remotesystems account invite' here, 'remotesystems account join' \
            there), and keeps its id; 'remotesystems account systems' marks those that have not. Links with other \
            people's accounts end, because a thief can have made some or widened their rights. Look at them first \
            ('remotesystems account links'), and name those that stay with --keep-link.

            Recovery files of the old key are of no use afterwards: make a new one ('remotesystems account export').
            """
    )

    @Flag(help: "The old key may be in the hands of another person. It is retired at once.")
    var stolen = false

    @Option(
        name: .customLong("keep-link"),
        help: ArgumentHelp(
            "With --stolen: a linked account whose link stays, with its present rights. Repeatable.",
            valueName: "account"
        )
    )
    var keptLinks: [String] = []

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.stolen || self.keptLinks.isEmpty else {
            throw ValidationError("Without --stolen all links stay, so --keep-link has no effect.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let identity = try account.identity()
        let kept = try self.keptLinks.map { try account.link(named: $0) }
        // A damaged list must not keep a stolen key from being replaced.
        let links: [AccountLink]? = self.stolen && kept.isEmpty ? try? account.links() : try account.links()
        let revoked = self.stolen ? try account.revokedSystems() : []
        let retirement = try account.rotateRootKey(isStolen: self.stolen, keepingLinks: Set(kept.map(\.account)))
        try output.json(
            RotatedOutput(
                accountID: identity.accountID,
                retirement: retirement,
                stolen: self.stolen,
                formerlyRevoked: self.stolen ? revoked : nil,
                linksUnreadable: self.stolen ? links == nil : nil
            )
        )
        try output.line("Account \(identity.accountID.short) has a new root key.")
        let validity =
            self.stolen
            ? "The old key is retired. Invite each other machine again ('remotesystems account invite' here, "
                + "'remotesystems account join' there). Their certificates, also of revoked ones, are invalid."
            : "Certificates of the old key are valid until \(retirement.formatted(.iso8601))."
        try output.line(validity.wrapped())
        if !self.stolen {
            let advice =
                "Keep 'remotesystems serve' or 'remotesystems host run' running here until the other systems have "
                + "renewed their certificates."
            try output.line(advice.wrapped())
        }
        if !revoked.isEmpty {
            // The new list of revoked systems is empty.
            let ids = revoked.map(\.short).joined(separator: ", ")
            try output.line(
                ("These systems had been revoked. Invite them only if you mean to readmit them: \(ids). 'remotesystems "
                    + "account systems' marks them.").wrapped()
            )
        }
        if links == nil {
            try output.line("The list of links could not be read. All links have ended.")
        }
        for link in links ?? [] where self.stolen && link.state != .withdrawn && !kept.contains(link) {
            try output.line("The link with \(link.name.printable) (\(link.account.short)) has ended.".wrapped())
        }
        try output.line(
            "Make a new recovery file ('remotesystems account export'). Older ones are of no use.".wrapped()
        )
        return true
    }
}

/// The output of `account rotate-root-key --json`.
private struct RotatedOutput: Encodable {
    let event = "rotated"
    let time = Date.now
    var accountID: AccountID
    /// The time at which certificates of the old key become invalid.
    var retirement: Date
    var stolen: Bool
    /// With a stolen key: the systems that had been revoked. The new list of revoked systems is empty.
    var formerlyRevoked: [SystemID]?
    /// With a stolen key: whether the list of links could not be read. Then all links have ended.
    var linksUnreadable: Bool?
}
