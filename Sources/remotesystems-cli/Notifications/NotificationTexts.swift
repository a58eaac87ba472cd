// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The texts in the arguments of `notify` and `notifications`, which may begin with a hyphen.
enum NotificationTexts {
    private static let commands: Set<String> = ["notify", "notifications"]
    private static let options: Set<String> = ["--title", "--subtitle", "--body", "--sender", "--text"]

    /// The arguments with each such text joined to its option by an equals sign. The parser takes it for an option
    /// otherwise, and refuses one with three hyphens wherever it stands.
    static func joined(_ words: [String]) -> [String] {
        guard let command = words.first, Self.commands.contains(command) else { return words }
        var joined: [String] = []
        let end = words.firstIndex(of: "--") ?? words.endIndex
        var rest = words[..<end]
        while let word = rest.popFirst() {
            if Self.options.contains(word), let text = rest.first, text.hasPrefix("-") {
                joined.append("\(word)=\(text)")
                rest.removeFirst()
            } else {
                joined.append(word)
            }
        }
        return joined + words[end...]
    }
}
