// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// `remotesystems list`
struct ListCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the systems of the account that can be talked to now.",
        discussion: "Exits with 1 when there is none."
    )

    @OptionGroup var filters: FilterOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup var waiting: WaitOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = RemoteSystemsConfiguration(
            "list",
            self.network,
            self.state,
            logger: self.common.logger()
        )
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = .seconds(self.waiting.wait)
        let watcher = RemoteSystemWatcher(configuration, filters: self.filters.filters.map(\.filter), options: options)
        let events = watcher.events
        try await watcher.start()
        let isComplete = try await untilInterrupted {
            for await event in events {
                switch event {
                case .enumerationCompleted: return true
                case .error(let error):
                    try output.json(MarkOutput.error(error))
                    output.note(error.message.printable.wrapped())
                case .added, .updated, .removed: break
                }
            }
            return false
        }
        let systems = watcher.systems.sorted { ($0.displayName, $0.id) < ($1.displayName, $1.id) }
        await watcher.stop()
        guard isComplete == true else { throw CancellationError() }
        try self.tell(systems, output)
        return !systems.isEmpty
    }

    private func tell(_ systems: [RemoteSystem], _ output: Output) throws {
        for system in systems { try output.json(SystemOutput(event: "system", system)) }
        try output.json(MarkOutput.enumerationCompleted(systems: systems.count))
        guard !systems.isEmpty else { return output.note(self.whyEmpty) }
        try output.line(output.style(.grey, RemoteSystem.heading))
        for system in systems { try output.line(system.line()) }
    }

    private var whyEmpty: String {
        var reasons = [
            "No program with a host is running. Try 'remotesystems serve' in another terminal or on another machine.",
            "The other machine is in another account. See 'remotesystems account show' on both, and "
                + "'remotesystems account invite'.",
        ]
        if self.network.loopback {
            reasons.append("With --loopback only programs on this machine that run with it, too, are found.")
        } else {
            reasons.append("The network does not carry multicast DNS. 'remotesystems doctor' looks for causes here.")
        }
        if !self.filters.filters.isEmpty {
            reasons.append("No system fits the filters. Try without --filter.")
        }
        let list = reasons.map { "  - " + $0.wrapped(to: 76).split(separator: "\n").joined(separator: "\n    ") }
        return (["No system was found. Likely reasons:"] + list).joined(separator: "\n")
    }
}
