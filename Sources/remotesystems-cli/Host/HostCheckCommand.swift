// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems host check`.
struct HostCheckCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the host's configuration and the applications' manifests.",
        usage: "remotesystems host check [<options>]",
        discussion: """
            Starts nothing. Reports all problems, each with its file and line.

            Exit status: 0 if all files are valid and every named program can be run; 1 if a manifest is invalid or a \
            program cannot be run; 78 if the configuration is invalid.
            """
    )

    @OptionGroup var options: HostOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        var settings = HostSettings()
        var misconfigured: Failure?
        do {
            settings = try await self.options.settings()
        } catch {
            // The manifests are checked too, so that all problems are reported at once.
            misconfigured = Failure(error)
        }
        var logger = self.common.logger()
        logger.logLevel = .critical
        let registry = ApplicationRegistry(stateDirectory: settings.stateDirectory, logger: logger)
        let applications = await registry.applications()
        var problems = registry.problems
        problems += await registry.startProblems()
        if let program = settings.askProgram?.first, let problem = ProgramFile.problem(with: program) {
            problems.append(
                ConfigurationFileError(
                    path: program,
                    "'askProgram' cannot be run: \(problem) URIs with the rule 'ask' are not opened."
                )
            )
        }
        for application in applications {
            try output.json(HostApplicationOutput(application))
            try output.line("\(application.id.printable)  \(application.displayName.printable)")
        }
        for problem in problems {
            try output.json(FileProblemOutput(event: "problem", problem))
            try output.line("\(problem)".printable)
        }
        for warning in registry.warnings {
            try output.json(FileProblemOutput(event: "warning", warning))
            var text = warning
            text.message = "warning: \(warning.message)"
            try output.line("\(text)".printable)
        }
        if applications.isEmpty, problems.isEmpty {
            output.note("No application is installed. The directories of manifests are:")
            for directory in registry.directories { output.note("  \(directory)") }
        }
        if let misconfigured { throw misconfigured }
        return problems.isEmpty
    }
}

/// The output of `host check --json` for an installed application.
private struct HostApplicationOutput: Encodable {
    let event = "application"
    let time = Date.now
    var id: String
    var name: String
    var services: [String]
    var schemes: [String]

    init(_ application: InstalledApplication) {
        self.id = application.id
        self.name = application.displayName
        self.services = application.services.map(\.name)
        self.schemes = application.uriSchemes
    }
}
