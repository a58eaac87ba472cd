// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserActivities

/// The command `remotesystems doctor`.
struct DoctorCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why this machine does not find other systems, or is not found by them.",
        usage: "remotesystems doctor [<system>] [<options>]",
        discussion: """
            Changes no setting and creates no account. Each finding says what to do; 'remotesystems topic findings' \
            lists the checks. With a SYSTEM, which must run a host, the check includes the connection to it: that \
            system reports whether it sees this machine, and connects back to it.

            Exit status: 0 if there is no problem, 1 if there is one. Warnings, and checks that could not be \
            performed, do not count as problems.
            """
    )

    @Argument(
        help: "Another system of the account, to check the connection to it: \(SystemFinder.help).",
        completion: NetworkCompletion.systems
    )
    var system: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The port to check for listening: 1 to 65535, or 0 for any free one. Defaults to the port of this system's "
                + "running host, or to \(RemoteSystemHost.defaultPort).",
            valueName: "port"
        )
    )
    var port: Int?

    @OptionGroup var names: NameOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...65_535).contains(self.port ?? 0) else { throw ValidationError("--port takes 0 to 65535.") }
        try self.search.validate(system: self.system)
        try self.names.validate(system: self.system)
    }

    func perform(_ output: Output) async throws -> Bool {
        // One task for everything: the checks return early when they are cancelled, and do not throw. A signal that
        // ended one of them only would not end the command.
        let findings = try await interruptible { try await self.check(output) }
        let summary = DoctorSummaryOutput(findings)
        try output.json(summary)
        try output.line("\n\(summary.text)")
        return summary.problems == 0
    }

    /// Performs and reports all checks.
    ///
    /// - Throws: `CancellationError` after a check that was cancelled, whose findings say nothing.
    private func check(_ output: Output) async throws -> [DiagnosisFinding] {
        let configuration = self.search.configuration(for: "doctor", self.common)
        let port =
            self.port ?? RemoteSystemsDiagnosis.machinePort(configuration) ?? RemoteSystemHost.defaultPort
        let diagnosis = RemoteSystemsDiagnosis(configuration, port: port)
        let own = await diagnosis.run()
        try Task.checkCancellation()
        var findings = own
        // The finding about the certificate contains the other reason.
        if let loss = LostMembership(of: RemoteSystemsAccount(configuration)), loss.finding.code == .systems,
            let index = findings.firstIndex(where: { $0.code == .systems && $0.status != .ok })
        {
            findings[index] = loss.finding
        }
        if let settings = try? HandOffSettings.read(configuration) {
            findings.append(DeveloperModeState(settings).finding(self.search.state))
        }
        findings += await NotificationFinding(configuration).findings
        try Task.checkCancellation()
        for finding in findings { try FindingOutput.report(finding, output) }
        if let system = self.system {
            // Only a usable account has a certificate. Without one, no system can be found by name.
            let hasAccount = own.contains { $0.code == .certificate }
            let finder = SystemFinder(
                system,
                wait: self.search.wait,
                configuration,
                acceptsName: self.names.acceptsName
            )
            let others = await Self.examine(system, with: hasAccount ? finder : nil, diagnosis, configuration)
            try Task.checkCancellation()
            for finding in others { try FindingOutput.report(finding, output) }
            findings += others
        }
        return findings
    }

    private static func examine(
        _ system: String,
        with finder: SystemFinder?,
        _ diagnosis: RemoteSystemsDiagnosis,
        _ configuration: RemoteSystemsConfiguration
    ) async -> [DiagnosisFinding] {
        if let address = SystemAddress(system) {
            let request = RemoteSystemConnectionRequest(
                host: address.host,
                port: address.port ?? RemoteSystemHost.defaultPort,
                configuration: configuration
            )
            return await diagnosis.run(with: request)
        }
        var reason = "There is no account on this machine yet, so no system can be found by its name."
        if let finder {
            do {
                let found = try await finder.find { other in
                    Failure("refused", "\(other.displayName) cannot be used.")
                }
                return await diagnosis.run(with: RemoteSystemConnectionRequest(system: found))
            } catch {
                reason = Failure(error).message
            }
        }
        return [
            DiagnosisFinding(
                .peer,
                .problem,
                reason,
                why: "A system must be found, or named by its address, before it can be checked.",
                advice:
                    "Use its address, which needs no multicast: 'remotesystems doctor 10.0.0.5:"
                    + "\(RemoteSystemHost.defaultPort)'."
            )
        ]
    }
}

/// The last output of `doctor --json`.
private struct DoctorSummaryOutput: Encodable {
    let event = "summary"
    let time = Date.now
    var problems: Int
    var warnings: Int

    init(_ findings: [DiagnosisFinding]) {
        self.problems = findings.count { $0.status == .problem }
        self.warnings = findings.count { $0.status == .warning }
    }

    var text: String { "\(Self.number(self.problems, "problem")), \(Self.number(self.warnings, "warning"))" }

    private static func number(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
