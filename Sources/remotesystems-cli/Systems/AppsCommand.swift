// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems apps`.
struct AppsCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "List the applications of a system and the app services that they offer.",
        usage: "remotesystems apps <system> [<options>]",
        discussion: """
            'remotesystems call SYSTEM SERVICE --describe' prints the fields of a service's requests and responses.

            Exit status: 1 if the system has no application; 2 if it was not found or could not be reached.
            """
    )

    @OptionGroup var named: SystemOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let system = try await self.named.find(for: "apps", self.common)
        for application in system.applications {
            try output.json(ApplicationOutput(application))
            try Self.report(application, output)
        }
        try output.json(ApplicationsSummaryOutput(applications: system.applications.count))
        return !system.applications.isEmpty
    }

    private static func report(_ application: RemoteSystemApplication, _ output: Output) throws {
        let state = application.isRunning ? "" : "  (not running)"
        let name = application.displayName == application.id ? "" : "  \(application.displayName)"
        try output.line("\(application.id)\(name)".printable.cut(to: 80 - state.columns) + output.style(.grey, state))
        for service in application.services {
            let words = [service.name, service.version, service.summary].compactMap(\.self).map(\.printable)
            let remark = service.supportsRemote ? "" : " (on that system only)"
            try output.line("  " + (words.joined(separator: "  ") + remark).cut(to: 78))
        }
        if !application.uriSchemes.isEmpty {
            try output.line("opens \(application.uriSchemes.joined(separator: ", "))".printable.wrapped(indent: "  "))
        }
        for (key, value) in application.attributes.sorted(by: { $0.key < $1.key }) {
            try output.line("  " + "\(key)=\(value)".printable.cut(to: 78))
        }
    }
}

/// The output of a service with `--json`.
struct ServiceOutput: Encodable {
    var name: String
    var version: String?
    var summary: String?
    var supportsRemote: Bool
    var requestSchema: ValueSet?
    var responseSchema: ValueSet?
    var pushRequestSchema: ValueSet?
    var pushResponseSchema: ValueSet?

    init(_ service: RemoteSystemApplication.Service) {
        self.name = service.name
        self.version = service.version
        self.summary = service.summary
        self.supportsRemote = service.supportsRemote
        self.requestSchema = service.requestSchema?.valueSet
        self.responseSchema = service.responseSchema?.valueSet
        self.pushRequestSchema = service.pushRequestSchema?.valueSet
        self.pushResponseSchema = service.pushResponseSchema?.valueSet
    }
}

/// The output of `apps --json` for an application.
private struct ApplicationOutput: Encodable {
    let event = "application"
    let time = Date.now
    var id: String
    var name: String
    var isRunning: Bool
    var attributes: [String: String]
    var services: [ServiceOutput]
    var schemes: [String]
    var connectionToken: String

    init(_ application: RemoteSystemApplication) {
        self.id = application.id
        self.name = application.displayName
        self.isRunning = application.isRunning
        self.attributes = application.attributes
        self.services = application.services.map { ServiceOutput($0) }
        self.schemes = application.uriSchemes
        self.connectionToken = application.connectionToken
    }
}

/// The last output of `apps --json`.
private struct ApplicationsSummaryOutput: Encodable {
    let event = "summary"
    let time = Date.now
    var applications: Int
}
