// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems list`.
struct ListCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the systems of the account that are reachable now.",
        usage: "remotesystems list [<options>]",
        discussion: """
            If this machine was revoked from the account, and another system has refused it for this reason, the \
            command says so. It also says if this machine must join again because the root key was replaced, or \
            because its certificate has expired.

            Exit status: 1 if there is none. The most likely reason is then printed, also if this machine is the only \
            one in the list.
            """
    )

    @OptionGroup var filters: FilterOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "list", self.common)
        let watcher = self.search.watcher(configuration, filters: self.filters.filters)
        let events = watcher.events
        try await watcher.start()
        let problems: [String]? = try await untilInterrupted { () async throws -> [String] in
            // Several programs of a machine may cause the same error.
            var reported: [String] = []
            for await event in events {
                switch event {
                case .enumerationCompleted: return reported
                case .error(let error):
                    guard !reported.contains(error.message) else { continue }
                    reported.append(error.message)
                    try output.json(MarkOutput.error(error))
                case .added, .updated, .removed: break
                }
            }
            // Without a signal, the events end only when this system has left its account. start() throws the reason.
            if !Task.isCancelled { try await watcher.start() }
            throw CancellationError()
        }
        let systems = watcher.systems.sorted { ($0.displayName, $0.id) < ($1.displayName, $1.id) }
        let reason = await RemoteSystemsDiagnosis.likelyReason(whyAlone: watcher)
        let excluded = await watcher.unlisted.excluded.count
        await watcher.stop()
        guard let problems else { throw CancellationError() }
        // The stopped watcher has stored a refusal of this run, too.
        let account = RemoteSystemsAccount(configuration)
        let loss = LostMembership(of: account)
        // The finding says what to do. Each refusal is only another consequence.
        for problem in problems where loss == nil { output.note(problem.printable.wrapped()) }
        if loss == nil, let warning = account.certificateWarning { try FindingOutput.warn(of: [warning], output) }
        try Self.report(systems, excluded: excluded, loss?.finding ?? reason, output)
        return !systems.isEmpty
    }

    private static func report(
        _ systems: [RemoteSystem],
        excluded: Int,
        _ reason: DiagnosisFinding?,
        _ output: Output
    ) throws {
        for system in systems { try output.json(SystemOutput(event: "system", system)) }
        if let reason { try output.json(FindingOutput(reason)) }
        try output.json(MarkOutput.enumerationCompleted(systems: systems.count, excluded: excluded))
        guard !systems.isEmpty else {
            return output.note(["No system was found. Most likely:", reason?.text ?? ""].joined(separator: "\n"))
        }
        try output.line(output.style(.grey, RemoteSystem.heading))
        for system in systems { try output.line(system.line(width: output.width)) }
        if let reason { output.note(reason.text) }
        if excluded > 0 { output.note("\(excluded) more \(excluded == 1 ? "does" : "do") not fit the filters.") }
    }
}
