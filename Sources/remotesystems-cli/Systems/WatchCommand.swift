// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems watch`.
struct WatchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the reachable systems of the account, and every change.",
        usage: "remotesystems watch [<options>]",
        discussion: """
            Prints a line for each system that is added (+), updated (~) or removed (-), until Ctrl-C. A listed system \
            is reachable: this machine has connected to it and verified that it belongs to the account.

            After the first search, of at most --wait seconds, a line states how many systems were found. The command \
            then continues to watch.
            """
    )

    @OptionGroup var filters: FilterOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let watcher = self.search.watcher(
            self.search.configuration(for: "watch", self.common),
            filters: self.filters.filters
        )
        let events = watcher.events
        try await watcher.start()
        _ = try await untilInterrupted {
            for await event in events { try await Self.report(event, watcher, output) }
            // Without a signal, the events end only when this system has left its account. start() throws the reason.
            if !Task.isCancelled { try await watcher.start() }
        }
        await watcher.stop()
        return true
    }

    private static func report(_ event: RemoteSystemEvent, _ watcher: RemoteSystemWatcher, _ output: Output)
        async throws
    {
        switch event {
        case .added(let system):
            try output.json(SystemOutput(event: "added", system))
            try output.line(
                "\(LocalTime.now) \(output.style(.green, "+")) \(system.line(width: output.width.map { $0 - 11 }))"
            )
        case .updated(let system):
            try output.json(SystemOutput(event: "updated", system))
            try output.line(
                "\(LocalTime.now) \(output.style(.yellow, "~")) \(system.line(width: output.width.map { $0 - 11 }))"
            )
        case .removed(let system):
            try output.json(SystemOutput(event: "removed", system))
            try output.line(
                "\(LocalTime.now) \(output.style(.red, "-")) \(system.line(width: output.width.map { $0 - 11 }))"
            )
        case .enumerationCompleted:
            let count = watcher.systems.count
            let excluded = await watcher.unlisted.excluded.count
            let reason = await RemoteSystemsDiagnosis.likelyReason(whyEmpty: watcher)
            if let reason { try output.json(FindingOutput(reason)) }
            try output.json(MarkOutput.enumerationCompleted(systems: count, excluded: excluded))
            let others = excluded == 0 ? "" : ", \(excluded) excluded by the filters"
            let text = "\(count) \(count == 1 ? "system" : "systems") found\(others); watching (Ctrl-C to stop)"
            try output.line("\(LocalTime.now) \(output.style(.grey, text))")
            if let reason { output.note("No system was found. Most likely:\n\(reason.text)") }
        case .error(let error):
            try output.json(MarkOutput.error(error))
            try output.line("\(LocalTime.now) \(output.style(.red, "!")) \(error.message.printable)")
        }
    }
}
