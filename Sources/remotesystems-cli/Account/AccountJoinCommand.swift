// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// `remotesystems account join`
struct AccountJoinCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Make this machine one of the account that an invitation is from.",
        usage: "remotesystems account join [<invitation>] [<options>]",
        discussion: """
            The account that this user had here is kept aside, not deleted. Programs that are running go on under it until \
            they are started again.
            """
    )

    @Argument(
        help: "The invitation; '-' or nothing to read it from standard input, where no list of processes shows it."
    )
    var invitation: String?

    @Flag(name: .customLong("leave-account"), help: "Leave the present account even if other systems belong to it.")
    var leavesAccount = false

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let text = String(decoding: try Input.read(self.invitation, limit: 1 << 16), as: UTF8.self)
        let invitation = try Invitation(uri: text)
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration(state: self.state, logger: self.common.logger())
        )
        let change = try await untilInterrupted {
            try await account.join(invitation, evenIfShared: self.leavesAccount)
        }
        guard let change else { throw CancellationError() }
        try AccountChangeOutput.report(change, event: "joined", output)
        return true
    }
}

/// What `join` and `import` tell.
struct AccountChangeOutput: Encodable {
    var event: String
    let time = Date.now
    var accountID: AccountID
    var systemID: SystemID
    var isAuthority: Bool
    /// Where the account is that was there before.
    var setAside: String?

    static func report(_ change: AccountChange, event: String, _ output: Output) throws {
        let identity = change.identity
        try output.json(
            AccountChangeOutput(
                event: event,
                accountID: identity.accountID,
                systemID: identity.systemID,
                isAuthority: identity.isAuthority,
                setAside: change.setAside
            )
        )
        try output.line("This machine is now system \(identity.systemID.short) of account \(identity.accountID.short).")
        if let setAside = change.setAside {
            try output.line("The account that it had is kept in \(setAside.printable)")
            try output.line("Start programs again that are running under the old account.")
        }
    }
}
