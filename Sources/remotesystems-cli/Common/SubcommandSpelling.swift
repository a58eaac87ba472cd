// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// Finds a misspelt subcommand. The parser itself reports only an unexpected argument.
enum SubcommandSpelling {
    /// The error for an unknown subcommand, with the usage of the command that lacks it; `nil` if the words begin with
    /// existing subcommands.
    static func mistake(in words: [String], of root: any ParsableCommand.Type) -> String? {
        var command = root.configuration
        var name = command.commandName ?? ""
        for word in words {
            guard !word.hasPrefix("-") else { return nil }
            if word == "help" { continue }
            let subcommands: [CommandConfiguration] = command.subcommands.map { $0.configuration }
            guard !subcommands.isEmpty else { return nil }
            if let next = subcommands.first(where: { $0.commandName == word }) {
                command = next
                name += " \(word)"
                continue
            }
            let names = subcommands.compactMap { $0.commandName }
            let question = SimilarNames.question(for: word, among: names)
            return """
                Error: '\(name)' has no subcommand '\(word.printable)'.\(question) \
                Subcommands: \(names.joined(separator: ", ")).
                Usage: \(name) <subcommand>
                  See '\(name) --help' for more information.

                """
        }
        return nil
    }
}
