// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account export`.
struct AccountExportCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the account to a recovery file.",
        usage: "remotesystems account export <file> [<options>]",
        discussion: """
            The file restores the account if the machine that holds the account's root key is lost. Keep the file and \
            its passphrase safe and apart: together they allow a person to act as any system of the account.
            """
    )

    @Argument(help: "The file to create. It must not exist.", completion: .file())
    var file: String

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let identity = try account.identity()
        try account.checkExport(to: self.file)
        let passphrase = try self.passphrase.read(asNew: true)
        // Not while the passphrase is read: reading a terminal does not end when its task is cancelled.
        try await blockingUntilInterrupted { try account.exportRecovery(to: self.file, passphrase: passphrase) }
        try output.json(ExportOutput(accountID: identity.accountID, file: self.file))
        try output.line(
            "Account \(identity.accountID.short) was written to \(self.file.printable). Store it on another machine."
        )
        return true
    }
}

/// The output of `account export --json`.
private struct ExportOutput: Encodable {
    let event = "exported"
    let time = Date.now
    var accountID: AccountID
    var file: String
}
