// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserActivities
import WebAssociations
import WebAssociationsHTTP

/// The command `remotesystems association verify`.
struct AssociationVerifyCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check which applications a site approves.",
        usage: "remotesystems association verify <host> [<options>]",
        discussion: """
            Asks the site as hand-off does, but ignores what is remembered. With --file, a local file is checked as if \
            the host served it.

            Exit status: 1 if the file is not valid, or does not list one of the applications.
            """
    )

    @Argument(help: "The host, or an address of the site that begins with https://.")
    var host: String

    @Option(
        name: .customLong("application"),
        help: ArgumentHelp("Check for this application: PUBLISHER.APPLICATION. Repeatable.", valueName: "entry")
    )
    var applications: [String] = []

    @Option(help: ArgumentHelp("Check this file instead: JSON, or signed.", valueName: "file"), completion: .file())
    var file: String?

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    /// The host of the site.
    private var site: String {
        (self.host.hasPrefix("https://") ? URL(string: self.host)?.host() ?? "" : self.host).lowercased()
    }

    func validate() throws {
        guard AssociatedDomain.isHost(self.site) else {
            throw ValidationError(
                "'\(self.host)' is no host such as example.com. Write international names with 'xn--'."
            )
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let configuration = RemoteSystemsConfiguration(state: self.state, logger: self.common.logger())
        let verifier = AssociationVerifier(configuration, makeClient: HTTPSAssociationClient.make)
        let result: Result<AssociationVerifier.Site, AssociationFailure>
        if let file {
            let bytes = try Input.file(file, limit: AssociationFile.maxBytes + 1)
            result = await verifier.check(bytes, as: self.site, path: file)
        } else {
            result = await verifier.fetch(from: self.site)
        }
        let step = Step(output: output, host: self.site)
        switch result {
        case .failure(let failure):
            try step.report(false, failure.message, code: failure.code)
            return false
        case .success(let site):
            try step.report(true, "Found at \(site.path).")
            try step.report(
                true,
                site.signer.map { "Signed by \($0), which is trusted and names the host." }
                    ?? (self.file == nil
                        ? "Without a signature; the server's certificate names the host."
                        : "Without a signature; the server's certificate has to name the host.")
            )
            var isListed = true
            for application in self.applications.isEmpty ? site.file.applications.sorted() : self.applications {
                let isApproved = site.file.applications.contains(application)
                isListed = isListed && isApproved
                try step.report(
                    isApproved,
                    "\(isApproved ? "Approves" : "Does not list") \(application).",
                    code: isApproved ? nil : .notListed,
                    application: application
                )
            }
            if site.file.applications.isEmpty { try step.report(true, "Approves no application.") }
            return isListed
        }
    }

    /// Prints the steps.
    private struct Step {
        var output: Output
        var host: String

        func report(
            _ isMet: Bool,
            _ message: String,
            code: AssociationFailure.Code? = nil,
            application: String? = nil
        ) throws {
            try self.output.json(
                StepOutput(host: self.host, isMet: isMet, message: message, code: code, application: application)
            )
            let mark = isMet ? self.output.style(.green, "yes") : self.output.style(.red, "no ")
            try self.output.line("\(mark)  \(message.printable)\(code.map { " [\($0)]" } ?? "")")
        }
    }
}

/// The output of `association verify --json` for a step.
private struct StepOutput: Encodable {
    let event = "step"
    let time = Date.now
    var host: String
    var isMet: Bool
    var message: String
    var code: AssociationFailure.Code?
    var application: String?
}
