// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// `remotesystems doctor`
struct DoctorCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what keeps this machine from finding others, or others from finding it.",
        discussion: """
            Changes nothing and makes no account. Each finding says what to do. Exits with 1 when there is a problem; \
            warnings alone are no problem.
            """
    )

    @Option(help: ArgumentHelp("The port that a host is to listen on; 0 for any free one.", valueName: "port"))
    var port = RemoteSystemHost.defaultPort

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...65_535).contains(self.port) else { throw ValidationError("--port is 0 to 65535.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let diagnosis = RemoteSystemsDiagnosis(
            RemoteSystemsConfiguration("doctor", self.network, self.state, logger: self.common.logger()),
            port: self.port
        )
        let findings = try await untilInterrupted { await diagnosis.run() }
        guard let findings else { throw CancellationError() }
        for finding in findings { try Self.tell(finding, output) }
        let problems = findings.count { $0.status == .problem }
        let warnings = findings.count { $0.status == .warning }
        try output.json(DoctorSummaryOutput(problems: problems, warnings: warnings))
        try output.line("\n\(Self.number(problems, "problem")), \(Self.number(warnings, "warning"))")
        return problems == 0
    }

    private static func tell(_ finding: DiagnosisFinding, _ output: Output) throws {
        try output.json(FindingOutput(finding))
        let label =
            switch finding.status {
            case .ok: output.style(.green, "ok      ")
            case .warning: output.style(.yellow, "warning ")
            case .problem: output.style(.red, "problem ")
            case .unknown: output.style(.grey, "unknown ")
            }
        let indent = String(repeating: " ", count: 8)
        let what = "\(finding.code): \(finding.what)".printable.wrapped(indent: indent).dropFirst(indent.count)
        try output.line(label + what)
        guard finding.status != .ok else { return }
        try output.line(finding.why.printable.wrapped(indent: indent))
        if let advice = finding.advice { try output.line("→ \(advice.printable)".wrapped(indent: indent)) }
    }

    private static func number(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}

private struct FindingOutput: Encodable {
    let event = "finding"
    var code: DiagnosisFinding.Code
    var status: DiagnosisFinding.Status
    var what: String
    var why: String
    var advice: String?

    init(_ finding: DiagnosisFinding) {
        self.code = finding.code
        self.status = finding.status
        self.what = finding.what
        self.why = finding.why
        self.advice = finding.advice
    }
}

private struct DoctorSummaryOutput: Encodable {
    let event = "summary"
    let time = Date.now
    var problems: Int
    var warnings: Int
}
