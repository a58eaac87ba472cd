// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems app validate`.
struct AppValidateCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check an application's manifest.",
        usage: "remotesystems app validate <manifest> [<options>]",
        discussion: """
            Reports all problems, each with its line, and gives advice about ids, types, programs and the signature.

            Exit status: 0 if the manifest can be used; 1 if it cannot.
            """
    )

    @Argument(help: "The manifest, called ID.json.", completion: .file(extensions: ["json"]))
    var manifest: String

    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let file = try ManifestFile(reading: self.manifest)
        guard let manifest = try file.report(output) else { return false }
        try output.json(ManifestOutput(event: "valid", manifest, file: self.manifest))
        try output.line("\(manifest.application.id.printable): valid, \(manifest.application.publisher)")
        return true
    }
}
