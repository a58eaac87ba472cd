// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account rename`.
struct AccountRenameCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Change the name under which other systems list this machine.",
        usage: "remotesystems account rename [<name>] [<options>]",
        discussion: """
            Running hosts publish the name within two seconds. Without a name, the machine's own name is used again. A \
            display name in the host daemon's configuration has precedence.
            """
    )

    @Argument(help: "The new name. Omit it for the machine's own name.")
    var name: String?

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.name?.isName ?? true else { throw ValidationError("A system's name has \(String.nameForm).") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        try account.rename(to: self.name)
        try output.json(RenamedOutput(name: self.name))
        let name = try account.systemName().printable
        try output.line(
            self.name == nil
                ? "This machine has its own name again: \(name)." : "This machine is now called \(name)."
        )
        return true
    }
}

/// The output of `account rename --json`.
private struct RenamedOutput: Encodable {
    let event = "renamed"
    let time = Date.now
    var name: String?
}
