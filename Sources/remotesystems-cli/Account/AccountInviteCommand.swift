// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems

/// The command `remotesystems account invite`.
struct AccountInviteCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Invite another machine into the account.",
        usage: "remotesystems account invite [<options>]",
        discussion: """
            Prints an invitation on a line of its own, then waits until a machine joins with it: run 'remotesystems \
            account join' on that machine, and paste the invitation there. An invitation is secret: the first machine \
            that uses it becomes a system of the account. It is valid once, for ten minutes, and only while this \
            command waits. Ctrl-C withdraws it, and so does revoking a system or replacing the root key meanwhile.

            Exit status: 1 if no machine joined.
            """
    )

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            """
            A name or address at which the other machine reaches this one. Repeatable, at most 8 times. Defaults to \
            this machine's addresses.
            """,
            valueName: "host"
        )
    )
    var hosts: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The port to listen on; 0 for any free one.", valueName: "port")
    )
    var port = 0

    @Flag(help: "Also print the invitation as a QR code, for a terminal with a dark background.")
    var qr = false

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...65_535).contains(self.port) else { throw ValidationError("--port takes 0 to 65535.") }
        guard self.hosts.count <= 8 else { throw ValidationError("--host can be given at most 8 times.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration(
                "account",
                self.network,
                self.state,
                // Wrong secrets are warnings, which the person at this machine must see.
                logger: self.common.logger(quietly: .warning)
            )
        )
        // The other systems of the account may refuse this one, and what it does next.
        if let refusal = try account.refusalAsRevoked(), refusal.isAuthority,
            let loss = LostMembership(replaced: nil, refusal: refusal)
        {
            output.note((loss.text + "\n").wrapped())
        }
        let joined: SystemID?
        do {
            joined = try await untilInterrupted {
                try await account.invite(hosts: self.hosts.isEmpty ? nil : self.hosts, port: self.port) { invitation in
                    try self.show(invitation, output)
                }
            }
        } catch let error as RemoteSystemError {
            guard let cause = error.cause as? IdentityError,
                cause.code == .invitationExpired || cause.code == .invitationUsed
            else { throw error }
            try Failure(error).report(output)
            return false
        }
        guard let joined else {
            try output.json(JoinedOutput(event: "withdrawn"))
            output.note("The invitation was withdrawn. No machine has joined.")
            return false
        }
        try output.json(JoinedOutput(event: "joined", systemID: joined))
        try output.line("System \(joined.short) has joined the account.")
        return true
    }

    private func show(_ invitation: Invitation, _ output: Output) throws {
        try output.json(
            InvitationOutput(
                uri: invitation.uri,
                accountID: invitation.accountID,
                addresses: invitation.addresses.map(\.description),
                expires: invitation.expiry
            )
        )
        output.note("Run this on the other machine within ten minutes:\n")
        try output.line("remotesystems account join")
        output.note("\nThen paste this invitation there. It is secret and works once:\n")
        try output.line(invitation.uri)
        if self.qr, let code = QRCode(Array(invitation.uri.utf8)) {
            try output.line("")
            for line in code.lines { try output.line(line) }
        }
        output.note("\nWaiting for the machine to join. Ctrl-C withdraws the invitation.")
    }
}

/// The first output of `account invite --json`: the invitation.
private struct InvitationOutput: Encodable {
    let event = "invitation"
    let time = Date.now
    var uri: String
    var accountID: AccountID
    var addresses: [String]
    var expires: Date
}

/// The last output of `account invite --json`: the system that joined, or that the invitation was withdrawn.
private struct JoinedOutput: Encodable {
    var event: String
    let time = Date.now
    var systemID: SystemID?
}
