// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// `Docs/rome-parity.md` and `Docs/handoff-parity.md` name the tests that assert their claims.
@Suite struct ParityPageTests {
    private static let root = (1...3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// A section of the page: the text above its tables, and the cells of their rows.
    private struct Section {
        var title: String
        var introduction = ""
        var rows: [[String]] = []
    }

    private static let pages = ["rome-parity", "handoff-parity"]

    private static func sections(of name: String) throws -> [Section] {
        let page = try String(contentsOf: Self.root.appending(path: "Docs/\(name).md"), encoding: .utf8)
        var sections: [Section] = []
        for line in page.split(separator: "\n") {
            if line.hasPrefix("## ") {
                sections.append(Section(title: String(line.dropFirst(3))))
            } else if sections.isEmpty {
                continue
            } else if line.hasPrefix("| ") {
                let cells = line.dropFirst(2).dropLast(2).replacing(" | ", with: "\u{0}").split(
                    separator: "\u{0}",
                    omittingEmptySubsequences: false
                )
                sections[sections.count - 1].rows.append(cells.map { $0.trimmingCharacters(in: .whitespaces) })
            } else {
                sections[sections.count - 1].introduction += line + "\n"
            }
        }
        return sections
    }

    /// Single ids such as `X-31`, and each of a range such as `R-06 to R-08`.
    private static func requirements(in text: String) -> Set<String> {
        var found: Set<String> = []
        for match in text.matches(of: /\b([HBRNX])-([0-9]{2})(?:\s+to\s+(?:[HBRNX]-)?([0-9]{2}))?/) {
            guard let first = Int(match.2), let last = Int(match.3 ?? match.2), first <= last else { continue }
            for number in first...last { found.insert("\(match.1)-\(number < 10 ? "0" : "")\(number)") }
        }
        return found
    }

    /// The files of this repository that a text links to.
    private static func links(in text: String) -> [String] {
        text.matches(of: /\]\(\.\.\/([^)#]+)\)/).map { String($0.1) }
    }

    @Test(arguments: Self.pages)
    func `a row that claims equality or more names a requirement or a test`(page: String) throws {
        var known: Set<String> = []
        var open: Set<String> = []
        for section in try Self.sections(of: page) {
            for row in section.rows {
                known.formUnion(Self.requirements(in: row[0]))
                if row.last == "not yet" { open.formUnion(Self.requirements(in: row[0])) }
            }
        }
        for section in try Self.sections(of: page) {
            for row in section.rows where row.count == 3 && row[2].contains(/^(same|better|different)/) {
                let claim = row.joined(separator: " ")
                let cited = Self.requirements(in: claim)
                #expect(cited.isSubset(of: known), "\(section.title): \(row[0]) cites what has no row")
                let isProved = !cited.isEmpty || Self.links(in: claim).contains { $0.hasPrefix("Tests/") }
                // What is not done yet cannot be claimed.
                let isOpen = cited.contains { open.contains($0) }
                #expect(!isOpen, "\(section.title): \(row[0]) cites what is not done yet")
                #expect(isProved, "\(section.title): \(row[0]) names neither a requirement nor a test")
            }
        }
    }

    @Test(arguments: Self.pages)
    func `each test that a requirement's row names exists and cites it`(page: String) throws {
        var count = 0
        for row in try Self.sections(of: page).flatMap(\.rows) where row[0].wholeMatch(of: /[HBRNX]-[0-9]{2}/) != nil {
            for path in Self.links(in: row.joined(separator: " ")) {
                let text = try? String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
                #expect(text != nil, "\(row[0]): there is no \(path)")
                guard let text, path.contains("Tests/") else { continue }
                #expect(Self.requirements(in: text).contains(row[0]), "\(path) does not cite \(row[0])")
                count += 1
            }
        }
        #expect(count > 60)
    }
}
