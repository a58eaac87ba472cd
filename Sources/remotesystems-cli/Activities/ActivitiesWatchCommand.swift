// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems
import UserActivities

/// The command `remotesystems activities watch`.
struct ActivitiesWatchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the activities that other systems offer, and every change.",
        usage: "remotesystems activities watch [<options>]",
        discussion: "Prints a line for each activity that is offered (+), changed (~) or withdrawn (-), until Ctrl-C."
    )

    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "activities", self.common)
        let watcher = UserActivityWatcher(configuration, filters: .withLinkedAccounts)
        try await watcher.start()
        let changes = watcher.changes
        let known = SystemNames(configuration)
        _ = try await untilInterrupted {
            var shown: [UserActivityOffer] = []
            for await offers in changes {
                let names = known.adding(watcher.systems)
                for offer in shown where !offers.contains(where: { $0.isSame(as: offer) }) {
                    try Self.report("withdrawn", output.style(.red, "-"), offer, names, output)
                }
                for offer in offers {
                    let before = shown.first { $0.isSame(as: offer) }
                    if before == nil {
                        try Self.report("offered", output.style(.green, "+"), offer, names, output)
                    } else if before?.title != offer.title {
                        try Self.report("changed", output.style(.yellow, "~"), offer, names, output)
                    }
                }
                shown = offers
            }
            // Without a signal, the changes end only when this system has left its account. start() throws the reason.
            if !Task.isCancelled { try await watcher.start() }
        }
        await watcher.stop()
        return true
    }

    private static func report(
        _ event: String,
        _ sign: String,
        _ offer: UserActivityOffer,
        _ names: SystemNames,
        _ output: Output
    ) throws {
        try output.json(OfferOutput(event: event, offer))
        try output.line("\(LocalTime.now) \(sign) \(offer.line(names, width: output.width.map { $0 - 11 }))")
    }
}
