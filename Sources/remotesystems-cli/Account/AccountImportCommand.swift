// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems account import`.
struct AccountImportCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Restore an account from its recovery file.",
        usage: "remotesystems account import <file> [<options>]",
        discussion: """
            This machine then holds the account's root key. The user's previous account on this machine is set aside, \
            not deleted.
            """
    )

    @Argument(help: "The recovery file.", completion: .file())
    var file: String

    @Flag(name: .customLong("leave-account"), help: "Leave the current account even if other systems belong to it.")
    var leavesAccount = false

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let links = account.activeLinks
        let passphrase = try self.passphrase.read(asNew: false)
        // Not while the passphrase is read: reading a terminal does not end when its task is cancelled.
        let change = try await blockingUntilInterrupted {
            try account.importRecovery(from: self.file, passphrase: passphrase, evenIfShared: self.leavesAccount)
        }
        try AccountChangeOutput.report(change, event: "imported", endedLinks: account.ended(of: links), output)
        let advice =
            "It holds the account's root key now. If the machine that held it before is lost or in other hands: "
            + "'remotesystems account revoke', or 'rotate-root-key --stolen'. If the key was replaced after this file "
            + "was written, it is of no use: run 'remotesystems doctor ADDRESS' with the address of another machine. "
            + "'remotesystems account show' then prints whether this one still is the authority."
        try output.line(advice.wrapped())
        return true
    }
}
