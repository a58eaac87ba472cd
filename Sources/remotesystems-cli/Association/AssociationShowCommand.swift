// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import WebAssociations
import WebAssociationsHTTP

/// The command `remotesystems association show`.
struct AssociationShowCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what sites have said about applications.",
        usage: "remotesystems association show [<options>]",
        discussion: """
            An approval is remembered for a day at most, anything else for 5 minutes.

            Exit status: 1 if nothing is remembered.
            """
    )

    @Flag(help: "Forget everything afterwards, so that the sites are asked again.")
    var forget = false

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = RemoteSystemsConfiguration(state: self.state, logger: self.common.logger())
        let verifier = AssociationVerifier(configuration, makeClient: HTTPSAssociationClient.make)
        let entries = verifier.cache.entries.filter { $0.expires > .now }
            .sorted { ($0.host, $0.application) < ($1.host, $1.application) }
        for entry in entries {
            try output.json(AssociationOutput(entry))
            let what = entry.failure.map { "not approved: \($0.message)" } ?? "approved"
            let end = entry.expires.formatted(Date.ISO8601FormatStyle())
            try output.line("\(entry.host)  \(entry.application)  \(what) (until \(end))".printable)
        }
        if entries.isEmpty { output.note("Nothing is remembered.") }
        if self.forget { try verifier.forget() }
        return !entries.isEmpty
    }
}

/// The output of `association show --json`.
struct AssociationOutput: Encodable {
    let event = "association"
    let time = Date.now
    var host: String
    var application: String
    var isApproved: Bool
    var code: AssociationFailure.Code?
    var message: String?
    var checked: Date
    var expires: Date

    init(_ entry: AssociationCache.Entry) {
        self.host = entry.host
        self.application = entry.application
        self.isApproved = entry.failure == nil
        self.code = entry.failure?.code
        self.message = entry.failure?.message
        self.checked = entry.checked
        self.expires = entry.expires
    }
}
