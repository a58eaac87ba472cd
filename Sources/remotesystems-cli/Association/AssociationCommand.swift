// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems association`.
struct AssociationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "association",
        abstract: "Sign and verify the files with which sites approve applications for their pages.",
        subcommands: [
            AssociationSignCommand.self, AssociationVerifyCommand.self, AssociationShowCommand.self,
            AssociationSettingsCommand.self,
        ]
    )
}
