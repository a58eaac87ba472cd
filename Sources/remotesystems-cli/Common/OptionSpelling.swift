// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// Finds an unknown option in arguments that the parser has refused.
///
/// The parser reports an unknown option last. It takes the option's value for an argument of the command, and reports
/// what is wrong with that, so that the user does not see the mistake.
enum OptionSpelling {
    /// The options of every command that the help does not list.
    private static let unlisted: Set<String> = ["help-hidden", "generate-completion-script"]

    /// The error for the first unknown option, with the usage of its command; `nil` if there is none.
    static func mistake(in words: [String], of root: any ParsableCommand.Type) -> String? {
        var command = root
        var name = root.configuration.commandName ?? ""
        func descend(to next: any ParsableCommand.Type) {
            command = next
            name += " \(next.configuration.commandName ?? "")"
        }
        for word in words where word != "help" {
            let subcommands = command.configuration.subcommands
            guard let next = subcommands.first(where: { $0.configuration.commandName == word }) else { break }
            descend(to: next)
        }
        if let standard = command.configuration.defaultSubcommand { descend(to: standard) }
        let known = Self.options(in: root.helpMessage(for: command, includeHidden: true, columns: 80))
        let given = words.prefix { $0 != "--" }.filter { $0.hasPrefix("--") && !$0.hasPrefix("---") }
            // What follows may be a secret.
            .map { String($0.dropFirst(2).prefix { $0 != "=" }) }
        guard let unknown = given.first(where: { !known.union(Self.unlisted).contains($0) }) else { return nil }
        let question = SimilarNames.closest(to: unknown, among: known).map { " Did you mean '--\($0)'?" } ?? ""
        let usage = root.usageString(for: command).split(separator: "\n").joined(separator: "\n       ")
        return """
            Error: Unknown option '--\(unknown.printable)'.\(question)
            Usage: \(usage)
              See '\(name) --help' for more information.

            """
    }

    /// The long names of the options in a help text, without hyphens. Each is at the beginning of a line, behind two
    /// spaces and a short name or other names, if it has some.
    private static func options(in help: String) -> Set<String> {
        let names = help.split(separator: "\n").filter { $0.hasPrefix("  -") }.flatMap { line in
            line.split { " ,/".contains($0) }.prefix { $0.hasPrefix("-") }
        }
        return Set(names.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) })
    }
}
