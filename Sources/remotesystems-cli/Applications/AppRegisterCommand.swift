// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems app register`.
struct AppRegisterCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Install an application's manifest for this user.",
        usage: "remotesystems app register <manifest> [<options>]",
        discussion: """
            Checks the manifest as 'app validate' does, and copies it to the directory of manifests \
            ($XDG_DATA_HOME/remote-systems/applications). A running host daemon uses it within two seconds. A package \
            installs its manifest into /usr/share/remote-systems/applications instead.

            Exit status: 0 if the manifest was installed; 1 if it cannot be used.
            """
    )

    @Argument(help: "The manifest, called ID.json.", completion: .file(extensions: ["json"]))
    var manifest: String

    @Flag(help: "Also replace a manifest of another publisher, or a signed one by an unsigned one.")
    var replace = false

    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let file = try ManifestFile(reading: self.manifest)
        guard let manifest = try file.report(output) else { return false }
        guard let directory = ApplicationRegistry.directories(ProcessInfo.processInfo.environment).first else {
            throw Failure("localResources", "Neither XDG_DATA_HOME nor HOME names a directory for the manifest.")
        }
        let path = "\(directory)/\(manifest.application.id).json"
        if !self.replace, let present = try? ManifestFile(reading: path),
            let former = try? ManifestSignature(of: present.bytes)?.publisher,
            former != manifest.application.publisher.id
        {
            let new = manifest.application.publisher.id.map { "signed by publisher \($0.short)" } ?? "not signed"
            throw Failure(
                "misuse",
                "\(path) is signed by publisher \(former.short), and the new manifest is \(new). Nothing was changed. "
                    + "If the application has moved to another publisher, use --replace."
            )
        }
        let isFirstSigned = manifest.application.publisher.id != nil && !ApplicationRegistry.silent.hasSignedManifests
        try ManifestFile(path: path, bytes: file.bytes).install()
        try output.json(ManifestOutput(event: "registered", manifest, file: path))
        try output.line("\(manifest.application.id.printable): registered, \(manifest.application.publisher)")
        if manifest.application.publisher == .unsigned {
            output.complain(
                "THE APPLICATION IS NOT SIGNED. It hands activities over only where developer mode permits it: on "
                    + "systems of this account without a signed application, or with 'remotesystems activities "
                    + "settings --developer-mode on'. 'remotesystems activities why-not' explains a refusal."
            )
        }
        if isFirstSigned {
            output.note(
                "It is the first signed application of this system. From now on, applications without a proven "
                    + "publisher, also programs on the session bus, do not hand over here, unless 'remotesystems "
                    + "activities settings --developer-mode on' permits it."
            )
        }
        return true
    }
}
