// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import RemoteSystems

/// The command `remotesystems account join`.
struct AccountJoinCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the account of an invitation with this machine.",
        usage: "remotesystems account join [<options>]",
        discussion: """
            Reads the invitation from standard input: paste the line that 'remotesystems account invite' printed on \
            the other machine. It begins with 'remote-systems:'. An invitation is never an argument, because every \
            user of this machine can read arguments in the process list.

            The user's previous account on this machine is set aside, not deleted. Running programs continue under it \
            until they are restarted.
            """
    )

    @Option(
        name: .customLong("invitation-file"),
        help: ArgumentHelp(
            "Read the invitation from the first line of this file that holds one; '-' for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var file = "-"

    @Flag(name: .customLong("leave-account"), help: "Leave the current account even if other systems belong to it.")
    var leavesAccount = false

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    // The parser would repeat an unexpected argument, and so the secret, in its error.
    @Argument(help: ArgumentHelp("Not used.", visibility: .hidden))
    var refused: [String] = []

    func validate() throws {
        guard self.refused.isEmpty, !self.file.hasPrefix("remote-systems:") else {
            throw ValidationError(
                """
                The invitation is not an argument: it holds a secret, which other users of this machine could read in \
                the process list. Run 'remotesystems account join' and paste it. Make a new invitation, because this \
                one may have been read.
                """
            )
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let invitation = try Invitation(uri: try await self.text(output))
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration("account", self.network, self.state, logger: self.common.logger())
        )
        let links = account.activeLinks
        let change = try await interruptible {
            try await account.join(invitation, evenIfShared: self.leavesAccount)
        }
        try AccountChangeOutput.report(change, event: "joined", endedLinks: account.ended(of: links), output)
        return true
    }

    private static let maxBytes = 1 << 16

    /// Reads the invitation.
    ///
    /// - Throws: `CancellationError` if a signal, such as Ctrl-C, came while the terminal was read.
    private func text(_ output: Output) async throws -> String {
        guard self.file == "-", isatty(STDIN_FILENO) == 1 else {
            let line = try Input.firstLine(of: self.file, beginningWith: "remote-systems:", limit: Self.maxBytes)
            return String(decoding: line, as: UTF8.self)
        }
        let typed: String? = try await untilInterrupted { () async throws -> String in
            // Signals are handled from here on.
            output.ask("Paste the invitation: ")
            return try await TerminalAnswer.line(maxBytes: Self.maxBytes) ?? ""
        }
        guard let typed else {
            // Ends the line of the question.
            output.note("")
            throw CancellationError()
        }
        return typed
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
    /// The names of the linked accounts whose links this machine has lost; nil if there are none.
    var endedLinks: [String]?

    static func report(
        _ change: AccountChange,
        event: String,
        endedLinks: [AccountLink] = [],
        _ output: Output
    ) throws {
        let identity = change.identity
        try output.json(
            AccountChangeOutput(
                event: event,
                accountID: identity.accountID,
                systemID: identity.systemID,
                isAuthority: identity.isAuthority,
                setAside: change.setAside,
                endedLinks: endedLinks.isEmpty ? nil : endedLinks.map(\.name)
            )
        )
        try output.line("This machine is now system \(identity.systemID.short) of account \(identity.accountID.short).")
        if let setAside = change.setAside {
            try output.line("The previous account was set aside in \(setAside.printable)")
            try output.line("Restart the programs that are running under the old account.")
        }
        if !endedLinks.isEmpty {
            let text =
                "With it, this machine has left the links with other people's accounts: "
                + "\(endedLinks.map(\.name.printable).joined(separator: ", ")). Their systems and this machine can no "
                + "longer use each other."
            try output.line(text.wrapped())
        }
    }
}
