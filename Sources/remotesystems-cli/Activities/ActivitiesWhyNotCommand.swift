// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserActivities

/// The command `remotesystems activities why-not`.
struct ActivitiesWhyNotCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "why-not",
        abstract: "Check why an activity cannot be continued.",
        usage: "remotesystems activities why-not [<activity>] [<options>]",
        discussion: """
            Checks each condition in turn: hand-off is permitted, another system is found, the activity is offered, \
            and an application or the browser continues it. Works on both systems: where the activity is offered, and \
            where it is to be continued.

            Exit status: 0 if all conditions are met; 1 if one is not.
            """
    )

    @Argument(
        help: "The activity: the beginning of its id, or its type. Defaults to any activity.",
        completion: NetworkCompletion.allOffers
    )
    var activity: String?

    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let activity = self.activity
        let findings = try await self.search.offers(for: "activities", self.common) { $0.findings(about: activity) }
        for finding in findings {
            try output.json(ConditionOutput(finding))
            let mark = finding.isMet ? output.style(.green, "yes") : output.style(.red, "no ")
            try output.line("\(mark)  \(finding.message.printable)")
            if let advice = finding.advice { try output.line("     \(advice.printable)") }
        }
        return findings.allSatisfy(\.isMet)
    }
}

/// The output of `activities why-not --json` for a condition.
private struct ConditionOutput: Encodable {
    let event = "condition"
    let time = Date.now
    var condition: String
    var isMet: Bool
    var message: String
    var advice: String?

    init(_ finding: ContinuationFinding) {
        self.condition = "\(finding.condition)"
        self.isMet = finding.isMet
        self.message = finding.message
        self.advice = finding.advice
    }
}
