// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// `remotesystems info`
struct InfoCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Tell what is known of a system of the account.",
        discussion: "Exits with 2 when it was not found or could not be reached."
    )

    @Argument(help: "The system: \(SystemFinder.help).", completion: NetworkCompletion.systems)
    var system: String

    @OptionGroup var network: NetworkOptions
    @OptionGroup var waiting: WaitOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.system != "" else { throw ValidationError("The system's name is empty.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let configuration = RemoteSystemsConfiguration("info", self.network, self.state, logger: self.common.logger())
        let finder = SystemFinder(self.system, wait: .seconds(self.waiting.wait), configuration)
        guard let system = try await untilInterrupted({ try await finder.findWhole() }) else {
            throw CancellationError()
        }
        try output.json(SystemOutput(event: "system", system))
        for (name, value) in Self.facts(system) {
            let label = output.style(.grey, "\(name):".padded(to: 14))
            let text = value.printable.wrapped(indent: String(repeating: " ", count: 14)).dropFirst(14)
            try output.line(label + text)
        }
        return true
    }

    private static func facts(_ system: RemoteSystem) -> [(name: String, value: String)] {
        let made = [system.manufacturerDisplayName, system.modelDisplayName].compactMap(\.self)
        let facts: [(name: String, value: String)] = [
            ("name", system.displayName + (system.isLocal ? " (this one)" : "")),
            ("id", system.id.description),
            ("kind", system.kind.rawValue),
            ("platform", "\(system.platform)"),
            ("made", made.joined(separator: ", ")),
            ("status", "\(system.status)"),
            ("discovery", "\(system.discoveryType)"),
            ("authorization", "\(system.authorizationKind)"),
            ("capabilities", system.capabilities.joined(separator: ", ")),
            ("applications", system.applications.map(\.id).joined(separator: ", ")),
        ]
        return facts.filter { !$0.value.isEmpty }
    }
}
