// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems app verify`.
struct AppVerifyCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify the signature of an application's manifest.",
        usage: "remotesystems app verify <manifest> [<options>]",
        discussion: """
            Exit status: 0 if the manifest has a valid signature, of the given publisher if one is named; 1 if not.
            """
    )

    @Argument(help: "The manifest.", completion: .file(extensions: ["json"]))
    var manifest: String

    @Option(
        help: ArgumentHelp("The publisher that must have signed.", valueName: "id"),
        transform: { text in
            guard let id = PublisherID(text) else {
                throw ValidationError("--publisher takes the 52 characters of a publisher's id.")
            }
            return id
        }
    )
    var publisher: PublisherID?

    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let file = try ManifestFile(reading: self.manifest)
        var application = ""
        var publisher: PublisherID?
        var problem: String?
        do {
            application = try ValueSet(json: Data(file.bytes))["id"]?.string ?? ""
            publisher = try ManifestSignature(of: file.bytes)?.publisher
            if publisher == nil { problem = "The manifest is not signed." }
        } catch {
            problem = Failure(error).message
        }
        if let wanted = self.publisher, let found = publisher, wanted != found {
            problem = "The manifest is signed by another publisher, \(found)."
        }
        try output.json(
            ManifestOutput(
                event: problem == nil ? "verified" : "refused",
                application: application,
                file: self.manifest,
                publisher: publisher,
                message: problem
            )
        )
        if let problem {
            let subject = application.isEmpty ? self.manifest : application
            try output.line("\(subject.printable): \(problem.printable)")
        } else if let publisher {
            try output.line("\(application.printable): signed by publisher \(publisher)")
        }
        return problem == nil
    }
}
