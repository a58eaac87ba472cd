// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems info`.
struct InfoCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Show what is known about a system of the account.",
        usage: "remotesystems info <system> [<options>]",
        discussion: "Exit status: 2 if the system was not found or could not be reached."
    )

    @OptionGroup var named: SystemOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let system = try await self.named.find(for: "info", self.common)
        try output.json(SystemOutput(event: "system", system))
        for (name, value) in Self.facts(system) {
            let label = output.style(.grey, "\(name):".padded(to: 15))
            let text = value.printable.wrapped(indent: String(repeating: " ", count: 15)).dropFirst(15)
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
            ("account", system.accountName ?? ""),
            ("capabilities", system.capabilities.joined(separator: ", ")),
            ("applications", system.applications.map(\.id).joined(separator: ", ")),
        ]
        return facts.filter { !$0.value.isEmpty }
    }
}
