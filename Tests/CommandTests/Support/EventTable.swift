// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The events that `--json` prints and their fields, as the documentation or `remotesystems topic json` lists them.
///
/// Words in parentheses explain a field, or are parts of it. "a system, below" counts as a field of this name.
struct EventTable {
    /// The fields of each event. Events of several subcommands have one entry.
    private(set) var fields: [String: Set<String>] = [:]

    /// Reads the table of a page in Markdown. Code that is one word is an event or a field.
    init(markdown: String) {
        for line in markdown.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map(String.init)
            guard cells.count == 3 else { continue }
            self.add(cells[2], to: Self.code(in: cells[0]), Self.code)
        }
    }

    /// Reads the table of the topic. A row begins with a line that has text in all three columns.
    init(topic: String) {
        var rows: [(events: [String], fields: String)] = []
        let lines = topic.components(separatedBy: "\n").drop { !$0.hasPrefix("  event ") }.dropFirst()
        for line in lines.prefix(while: { !$0.isEmpty }) {
            let cells = [2..<25, 25..<40, 40..<80].map { columns in
                line.dropFirst(columns.lowerBound).prefix(columns.count).trimmingCharacters(in: .whitespaces)
            }
            if cells.allSatisfy({ !$0.isEmpty }) { rows.append(([], "")) }
            guard !rows.isEmpty else { continue }
            rows[rows.count - 1].events += cells[0].split(separator: " ").map(String.init)
            rows[rows.count - 1].fields += " " + cells[2]
        }
        for row in rows { self.add(row.fields, to: row.events, Self.words) }
    }

    private mutating func add(_ text: String, to events: [String], _ names: (String) -> [String]) {
        var text = Self.withoutParentheses(text)
        var fields: Set<String> = []
        for reference in ["a system, below", "a service, below", "an offer, below", "a notification, below"]
        where text.contains(reference) {
            fields.insert(reference)
            text = text.replacingOccurrences(of: reference, with: "")
        }
        fields.formUnion(names(text))
        for event in events { self.fields[event, default: []].formUnion(fields) }
    }

    /// The fields in the paragraph of the page about a thing, such as "A system".
    static func fields(of thing: String, markdown: String) -> Set<String> {
        Set(Self.code(in: Self.withoutParentheses(Self.paragraph("**\(thing)** has ", of: markdown))))
    }

    /// The fields in the paragraph of the topic about a thing.
    static func fields(of thing: String, topic: String) -> Set<String> {
        let paragraph = Self.paragraph("\(thing) has ", of: topic).dropFirst("\(thing) has ".count)
        return Set(Self.words(in: Self.withoutParentheses(String(paragraph)))).subtracting(["and", "each", "with"])
    }

    private static func paragraph(_ beginning: String, of text: String) -> String {
        text.components(separatedBy: "\n\n").first { $0.hasPrefix(beginning) } ?? ""
    }

    /// The words that are marked as code, without those that are a part of longer code.
    static func code(in text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { index, code in
                index % 2 == 1 && code.first?.isLetter == true
                    && code.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
            }
            .map { String($0.element) }
    }

    private static func words(in text: String) -> [String] {
        text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    private static func withoutParentheses(_ text: String) -> String {
        var depth = 0
        return text.filter { character in
            if character == "(" { depth += 1 }
            defer { if character == ")" { depth -= 1 } }
            return depth == 0
        }
    }
}
