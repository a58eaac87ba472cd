// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// `remotesystems account export`
struct AccountExportCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the account to a recovery file.",
        usage: "remotesystems account export <file> [<options>]",
        discussion: """
            Whoever has the file and its passphrase can be any system of the account, so keep both safe and apart. It is \
            needed when the machine that holds the account's key is lost.
            """
    )

    @Argument(help: "The file; it must not exist yet.", completion: .file())
    var file: String

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let identity = try account.identity()
        let passphrase = try self.passphrase.read(asNew: true)
        try account.exportRecovery(to: self.file, passphrase: passphrase)
        try output.json(ExportOutput(accountID: identity.accountID, file: self.file))
        try output.line("Account \(identity.accountID.short) is in \(self.file.printable). Keep it off this machine.")
        return true
    }
}

private struct ExportOutput: Encodable {
    let event = "exported"
    let time = Date.now
    var accountID: AccountID
    var file: String
}
