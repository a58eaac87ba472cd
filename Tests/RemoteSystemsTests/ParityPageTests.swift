// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The pages `Docs/*-parity.md` have a row for each requirement, and name the tests that assert their claims.
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

    /// A page, and the requirements that it must have.
    struct Page: Sendable, CustomTestStringConvertible {
        let name: String
        let requirements: Set<String>
        /// Requirements that only advise: a snippet shows what to do.
        var advice: Set<String> = []
        /// Requirements that no test of their own asserts: the page says what does.
        var elsewhere: Set<String> = []

        var testDescription: String { self.name }
    }

    private static let pages = [
        Page(
            name: "rome-parity",
            requirements: Self.requirements(in: "R-01 to R-45, X-20 to X-39"),
            elsewhere: ["R-01", "R-45"]
        ),
        Page(
            name: "handoff-parity",
            requirements: Self.requirements(in: "H-01 to H-99, B-01 to B-18, X-01 to X-14, X-39"),
            advice: ["H-50", "H-80", "H-91", "H-92", "H-93", "B-16", "B-17"]
        ),
        Page(
            name: "notifications-parity",
            requirements: Self.requirements(in: "N-01 to N-57, X-40, X-50 to X-63, X-70 to X-82")
        ),
    ]

    private static func text(of page: Page) throws -> String {
        try String(contentsOf: Self.root.appending(path: "Docs/\(page.name).md"), encoding: .utf8)
    }

    private static func sections(of page: Page) throws -> [Section] {
        var sections: [Section] = []
        for line in try Self.text(of: page).split(separator: "\n") {
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
    func `a row that claims equality or more names a requirement or a test`(page: Page) throws {
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
    func `each requirement has a row, and its tests exist and cite it`(page: Page) throws {
        let sections = try Self.sections(of: page)
        let section = try #require(sections.first { $0.title == "Requirements and their tests" })
        var found: Set<String> = []
        for row in section.rows {
            let requirements = Self.requirements(in: row[0])
            // The names of the columns.
            guard !requirements.isEmpty else { continue }
            found.formUnion(requirements)
            var cited: Set<String> = []
            for path in Self.links(in: row.joined(separator: " ")) {
                let text = try? String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
                #expect(text != nil, "\(row[0]): there is no \(path)")
                guard let text, path.contains("Tests/") else { continue }
                // Each test of a row asserts one of its requirements, and all of them together each one.
                let own = Self.requirements(in: text).intersection(requirements)
                #expect(!own.isEmpty, "\(path) does not cite \(row[0])")
                cited.formUnion(own)
            }
            let untested = requirements.subtracting(cited).sorted()
            if requirements.isSubset(of: page.advice) {
                #expect(row.contains { $0.contains("](../Snippets/") }, "\(row[0]) names no snippet")
            } else if !requirements.isSubset(of: page.elsewhere) {
                #expect(untested.isEmpty, "no test of the row cites \(untested)")
            }
        }
        let missing = page.requirements.subtracting(found).sorted()
        let unknown = found.subtracting(page.requirements).sorted()
        #expect(missing.isEmpty && unknown.isEmpty, "without a row: \(missing); not known: \(unknown)")
    }

    @Test(arguments: Self.pages)
    func `each snippet that a page names exists`(page: Page) throws {
        let text = try Self.text(of: page)
        let named = text.matches(of: /\]\(\.\.\/(Snippets\/[^)#]+)\), `([^`]+)`/)
        let links = text.matches(of: /\]\(\.\.\/Snippets\//)
        #expect(named.count == links.count, "a link to a file of snippets is followed by the name of one")
        for match in named {
            let file = try? String(contentsOf: Self.root.appending(path: String(match.1)), encoding: .utf8)
            let isThere = file?.contains("// snippet.\(match.2)\n") == true
            #expect(isThere, "there is no snippet '\(match.2)' in \(match.1)")
        }
    }

    @Test(arguments: ["UserActivities", "UserNotifications"])
    func `the API of hand-off and notifications is the same with each toolkit, and imports none (H-99, B-18)`(
        target: String
    ) throws {
        let directory = Self.root.appending(path: "Sources/\(target)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
            .filter { $0.hasSuffix(".swift") }
        let imports = try files.reduce(into: Set<String>()) { imports, file in
            let text = try String(contentsOf: directory.appending(path: file), encoding: .utf8)
            for match in text.matches(of: /(?m)^\s*(?:[a-z]+ )?import ([A-Za-z]+)/) { imports.insert(String(match.1)) }
        }
        #expect(imports.contains("RemoteSystems"))
        let toolkits = imports.filter { $0.contains("Desktop") || $0.hasPrefix("CRemoteSystems") || $0.contains("GTK") }
        #expect(toolkits.isEmpty)
    }
}
