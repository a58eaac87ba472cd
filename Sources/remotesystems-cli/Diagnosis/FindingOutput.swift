// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

/// The output of a finding: a JSON object with `--json`, otherwise text of at most 80 columns.
struct FindingOutput: Encodable {
    let event = "finding"
    let time = Date.now
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

    static func report(_ finding: DiagnosisFinding, _ output: Output) throws {
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

    /// Reports findings beside what a command prints.
    static func warn(of findings: [DiagnosisFinding], _ output: Output) throws {
        for finding in findings {
            try output.json(FindingOutput(finding))
            output.note(finding.text)
        }
    }
}

extension DiagnosisFinding {
    /// The finding as text beside the output of another command.
    var text: String {
        let advice = self.advice.map { "→ \($0)" } ?? ""
        return [self.what, self.why, advice].filter { !$0.isEmpty }.map { $0.printable.wrapped(indent: "  ") }
            .joined(separator: "\n")
    }
}
