// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems app sign`.
struct AppSignCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign an application's manifest as its publisher.",
        usage: "remotesystems app sign <manifest> --key <file> [<options>]",
        discussion: """
            Writes the publisher and its signature into the manifest, in place of earlier ones. Sign again after each \
            change; only the layout of the file may change.
            """
    )

    @Argument(help: "The manifest, called ID.json.", completion: .file(extensions: ["json"]))
    var manifest: String

    @Option(help: ArgumentHelp("The publisher's key, of 'app keygen'.", valueName: "file"), completion: .file())
    var key: String

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let file = try ManifestFile(reading: self.manifest)
        let key = try PublisherKey.read(self.key, passphrase: self.passphrase.reading(self.key))
        let signed = ManifestFile(path: self.manifest, bytes: try ManifestSignature.signed(file.bytes, by: key))
        // Also checks the rest: a manifest that cannot be used is not signed.
        guard let manifest = try signed.report(output, advises: false) else { return false }
        try signed.replace()
        try output.json(ManifestOutput(event: "signed", manifest, file: self.manifest))
        try output.line("\(manifest.application.id.printable): signed by publisher \(key.chain.id)")
        return true
    }
}
