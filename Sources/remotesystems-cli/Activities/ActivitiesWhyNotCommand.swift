// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities

/// The command `remotesystems activities why-not`.
struct ActivitiesWhyNotCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "why-not",
        abstract: "Check why an activity cannot be continued.",
        usage: "remotesystems activities why-not [<activity>] [<options>]",
        discussion: """
            Checks each condition in turn: hand-off is permitted, another system is seen on the network, one of this \
            account or of a linked one is found, it is nearby or reached by address, the activity is offered, an \
            application or the browser continues it, and both applications have the same publisher. Works on both \
            systems: where the activity is offered, and where it is to be continued.

            If the activity is continued by its web address, each installed application that claims a site is listed \
            with what the site says now; this does not change the exit status.

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
        let configuration = self.search.configuration(for: "activities", self.common)
        let (findings, isPage) = try await self.search.offers(for: "activities", self.common) { watcher in
            let browserProblem = await DesktopURILauncher.webpageProblem()
            return (
                await watcher.findings(about: activity, browserProblem: browserProblem),
                watcher.isContinuedByAddress(activity)
            )
        }
        // The stopped watcher has stored a refusal of this run, too.
        let loss = LostMembership(of: RemoteSystemsAccount(configuration))
        for finding in findings {
            var condition = ConditionOutput(finding, loss)
            condition.advice = condition.advice.map(self.search.state.complete)
            try Self.show(condition, output)
        }
        guard isPage else { return findings.allSatisfy(\.isMet) }
        for claim in await WebpageClaims(configuration).findings() { try Self.show(ConditionOutput(claim), output) }
        return findings.allSatisfy(\.isMet)
    }

    private static func show(_ condition: ConditionOutput, _ output: Output) throws {
        try output.json(condition)
        let mark = condition.isMet ? output.style(.green, "yes") : output.style(.red, "no ")
        try output.line("\(mark)  \(condition.message.printable)")
        if let advice = condition.advice { try output.line("     \(advice.printable)") }
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

    /// - Parameter loss: the reason why the systems of the account do not accept this one any more. If none of them is
    ///   found, it is the reason for that.
    init(_ finding: ContinuationFinding, _ loss: LostMembership?) {
        self.condition = "\(finding.condition)"
        self.isMet = finding.isMet
        self.message = finding.message
        self.advice = finding.advice
        guard let loss, !finding.isMet, finding.condition == .network || finding.condition == .found else { return }
        self.message = loss.finding.what
        self.advice = loss.finding.advice
    }

    init(_ claim: WebpageClaims.Finding) {
        self.condition = "associated"
        self.isMet = claim.isMet
        self.message = claim.message
        self.advice = claim.advice
    }
}
