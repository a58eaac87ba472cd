// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems
import UserActivities

/// The command `remotesystems activities list`.
struct ActivitiesListCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the activities that other systems offer now.",
        usage: "remotesystems activities list [<options>]",
        discussion: """
            At most 4 activities of one application, 64 of one system and 4096 in all are listed. Activities of \
            linked accounts are among them, as far as these grant that; the system's name is followed by the account's.

            Exit status: 1 if there is none.
            """
    )

    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "activities", self.common)
        let (offers, omitted, systems) = try await self.search.offers(for: "activities", self.common) {
            ($0.offers, $0.omittedOfferCount, $0.systems)
        }
        let names = SystemNames(configuration).adding(systems)
        if omitted > 0 { output.note("\(omitted) more activities are offered than one list holds.") }
        let isListed = try offers.report(names, output, none: "No activity is offered by another system.")
        DeveloperModeState(try HandOffSettings.read(configuration)).remind(output)
        return isListed
    }
}

/// The command `remotesystems activities current`.
struct ActivitiesCurrentCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "current",
        abstract: "List the activities that this system's applications offer now.",
        usage: "remotesystems activities current [<options>]",
        discussion: "Exit status: 1 if there is none."
    )

    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "activities", self.common)
        let (offers, systems) = try await self.search.offers(for: "activities", self.common) {
            ($0.ownOffers, $0.systems)
        }
        let names = SystemNames(configuration).adding(systems)
        let settings = try HandOffSettings.read(configuration)
        let isReported = try offers.report(names, output, none: "No application of this system offers an activity.")
        if !settings.everything.sending {
            output.note(
                "Sending is off, so current activities are not offered to other systems. "
                    + "'remotesystems activities settings --sending on' permits it."
            )
        }
        let withheld = settings.applications.filter { !$0.value.sending }.keys.sorted()
        if settings.everything.sending, !withheld.isEmpty {
            output.note(
                "Sending is off for \(withheld.joined(separator: ", ").printable). "
                    + "'remotesystems activities settings --sending on --application ID' permits it."
            )
        }
        return isReported
    }
}

extension [UserActivityOffer] {
    fileprivate func report(_ names: SystemNames, _ output: Output, none: String) throws -> Bool {
        for offer in self { try output.json(OfferOutput(event: "activity", offer)) }
        guard !self.isEmpty else {
            output.note(none)
            return false
        }
        try output.line(output.style(.grey, UserActivityOffer.heading))
        for offer in self { try output.line(offer.line(names, width: output.width)) }
        return true
    }
}

extension SearchOptions {
    /// Watches until the present offers are known, and returns what a closure selects.
    func offers<Result: Sendable>(
        for command: String,
        _ common: CommonOptions,
        _ select: @escaping @Sendable (UserActivityWatcher) async -> Result
    ) async throws -> Result {
        let watcher = UserActivityWatcher.knowingManifests(self.configuration(for: command, common))
        try await watcher.start()
        let wait = self.wait
        let result = try await untilInterrupted {
            await watcher.enumerate(within: wait)
            return await select(watcher)
        }
        await watcher.stop()
        guard let result else { throw CancellationError() }
        return result
    }
}
